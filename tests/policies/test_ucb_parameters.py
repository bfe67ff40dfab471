"""Parameters of the UCB policies: the published tunings, and errors that say what is wrong."""

import math

import pytest

import lastblock as lb


def test_scale_from_sigma():
    assert lb.UCB1.gaussian(0.5).scale == pytest.approx(lb.UCB1().scale)
    assert lb.UCB1.gaussian(1.0).scale == pytest.approx(math.sqrt(2.0))


def test_tunings():
    # T = 10 000: Γ = 3 and σ = 0.5 or 1 for the first two, Γ = 2 and K = 3 for the others.
    sw = lb.SWUCB.tuned(horizon=10_000, changes=3, sigma=1.0)
    assert sw == lb.SWUCB(window=1051, scale=math.sqrt(2.0))
    assert lb.SWUCB.tuned(horizon=10_000, changes=3, sigma=0.5).window == 700
    # Rewards in [0, 1] have the range 1.
    assert lb.SWUCB.tuned(horizon=10_000, changes=3) == lb.SWUCB(window=350)
    assert lb.DUCB.tuned(horizon=10_000, changes=4) == lb.DUCB(0.995)
    d = lb.DUCB.tuned(horizon=10_000, changes=3, sigma=0.5)
    assert d.discount == pytest.approx(1.0 - 0.125 * math.sqrt(3e-4))
    assert d.scale == pytest.approx(2.0 * 0.25 * math.sqrt(2.0))  # 2B√ξ
    cusum = lb.CUSUMUCB.tuned(horizon=10_000, changes=2)
    assert cusum.threshold == pytest.approx(math.log(5000.0))
    assert cusum.exploration == pytest.approx(math.sqrt(2e-4 * math.log(5000.0)))
    assert (cusum.warmup, cusum.drift) == (50, 0.05)
    m = lb.MUCB.tuned(arms=3, horizon=10_000, changes=2)
    assert m.window == 800
    assert m.threshold == pytest.approx(math.sqrt(400.0 * math.log(6e8)))
    assert m.exploration == pytest.approx(math.sqrt(6.0 * math.log(10_000.0) / 10_000.0))


def test_tunings_leave_the_rest_to_the_caller():
    times = {"horizon": 10_000, "changes": 2}
    given = {"drift": 0.1, "warmup": 20, "scale": 1.5}
    assert lb.CUSUMUCB.tuned(**times, **given) == lb.CUSUMUCB.tuned(**times)._replace(**given)
    m = lb.MUCB.tuned(**times, arms=3)
    assert lb.MUCB.tuned(**times, arms=3, scale=0.5) == m._replace(scale=0.5)
    glr = lb.GLRKLUCB.tuned_to_changes(**times, arms=3)
    assert lb.GLRKLUCB.tuned_to_changes(**times, arms=3, c=2.0) == glr._replace(c=2.0)
    assert lb.GLRKLUCB.tuned_to_changes(horizon=10, changes=9, arms=3).exploration == 0.99


def test_tunings_without_changes():
    assert lb.SWUCB.tuned(horizon=1000, changes=0).window == 1000
    assert lb.DUCB.tuned(horizon=1000, changes=0).discount == 1.0
    one = lb.CUSUMUCB.tuned(horizon=1000, changes=1)
    assert lb.CUSUMUCB.tuned(horizon=1000, changes=0) == one
    one = lb.MUCB.tuned(arms=2, horizon=1000, changes=1)
    assert lb.MUCB.tuned(arms=2, horizon=1000, changes=0) == one


def test_a_check_of_adswitch_ends_when_nobody_answers():
    bandit = lb.Bandit(lb.AdSwitch(horizon=100, eviction=0.5), 2, seed=1, room=4)
    state = bandit._desk.live.s
    while state["good"][0]:
        decision = bandit.ask()
        bandit.tell(decision, float(decision.arm))
    silent = 0
    for _ in range(2000):
        decision = bandit.ask()
        if decision.arm == 0:
            silent += 1
            bandit.forget(decision)
            assert silent <= max(1, state["owed"][0] - state["pulls"][0])
        else:
            bandit.tell(decision, 1.0)
    assert 0 < silent < 1000
