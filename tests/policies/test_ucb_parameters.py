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


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: lb.UCB1(scale=0.0), "UCB1: scale=0.0 must be positive"),
        (lambda: lb.SWUCB(window=1), "SWUCB: window=1 must lie between 2 and"),
        (lambda: lb.SWUCB(window=9, scale=-1.0), "SWUCB: scale=-1.0 must be positive"),
        (lambda: lb.SWUCB(window=3).check(4), "window=3 is too small for 4 arms"),
        (lambda: lb.SWUCB.tuned(horizon=1, changes=0), "horizon=1 must be at least 2"),
        (lambda: lb.SWUCB.tuned(horizon=9, changes=-1), "changes=-1 must be at least 0 and below"),
        (lambda: lb.SWUCB.tuned(horizon=9, changes=1, sigma=0), "sigma=0.0 must be positive"),
        (lambda: lb.DUCB(discount=0.0), "DUCB: discount=0.0 must be above 0"),
        (lambda: lb.DUCB(discount=1.1), "DUCB: discount=1.1 must be above 0"),
        (lambda: lb.DUCB(discount=0.9, scale=0), "DUCB: scale=0.0 must be positive"),
        (lambda: lb.DUCB.tuned(horizon=1, changes=0), "horizon=1 must be at least 2"),
        (lambda: lb.DUCB.tuned(horizon=9, changes=10), "changes=10 must be at least 0 and below"),
        (lambda: lb.DUCB.tuned(horizon=9, changes=1, sigma=-0.5), "sigma=-0.5 must be positive"),
        (lambda: lb.CUSUMUCB(0.0, 0.1), "CUSUMUCB: threshold=0.0 must be positive"),
        (lambda: lb.CUSUMUCB(1.0, 1.1), "CUSUMUCB: exploration=1.1 must lie in"),
        (lambda: lb.CUSUMUCB(1.0, 0.1, drift=-1), "CUSUMUCB: drift=-1.0 must not be negative"),
        (lambda: lb.CUSUMUCB(1.0, 0.1, warmup=0), "CUSUMUCB: warmup=0 must be at least 1"),
        (lambda: lb.CUSUMUCB(1.0, 0.1, scale=0), "CUSUMUCB: scale=0.0 must be positive"),
        (
            lambda: lb.CUSUMUCB.tuned(horizon=9, changes=-1),
            "changes=-1 must be at least 0 and below",
        ),
        (lambda: lb.CUSUMUCB.tuned(horizon=9, changes=9), "changes=9 must be at least 0 and below"),
        (lambda: lb.MUCB(5, 1.0, 0.1), "MUCB: window=5 must be even"),
        (lambda: lb.MUCB(0, 1.0, 0.1), "MUCB: window=0 must lie between 2 and 16777216 rewards"),
        (lambda: lb.MUCB(4, 0.0, 0.1), "MUCB: threshold=0.0 must be positive"),
        (lambda: lb.MUCB(4, 1.0, 0.0), "MUCB: exploration=0.0 must lie between"),
        (lambda: lb.MUCB(4, 1.0, 0.1, scale=0), "MUCB: scale=0.0 must be positive"),
        (lambda: lb.MUCB.tuned(arms=1, horizon=9, changes=1), "arms=1 must be at least 2"),
        (lambda: lb.MUCB.tuned(arms=2, horizon=1, changes=1), "horizon=1 must be at least 2"),
        (
            lambda: lb.MUCB.tuned(arms=2, horizon=9, changes=-1),
            "changes=-1 must be at least 0 and below",
        ),
        (lambda: lb.MUCB.tuned(arms=2, horizon=9, changes=1, window=0), "window=0 must lie"),
        (lambda: lb.RAWUCB(sigma=0.0), "RAWUCB: sigma=0.0 must be positive"),
        (lambda: lb.RAWUCB(alpha=0.0), "RAWUCB: alpha=0.0 must be positive"),
        (lambda: lb.MOSS(0), "MOSS: horizon=0 must be at least 1"),
        (lambda: lb.MOSS(10, scale=0.0), "MOSS: scale=0.0 must be positive"),
        (lambda: lb.AnytimeMOSS(alpha=0.0), "AnytimeMOSS: alpha=0.0 must be positive"),
        (lambda: lb.AnytimeMOSS(sigma=-1.0), "AnytimeMOSS: sigma=-1.0 must be positive"),
        (lambda: lb.UCBV(zeta=0.0), "UCBV: zeta=0.0 must be positive"),
        (lambda: lb.UCBV(c=-1.0), "UCBV: c=-1.0 must be positive"),
        (lambda: lb.UCBV(range=0.0), "UCBV: range=0.0 must be positive"),
        (lambda: lb.UCBTuned(range=0.0), "UCBTuned: range=0.0 must be positive"),
        (lambda: lb.KLUCBPlusPlus(0), "KLUCBPlusPlus: horizon=0 must be at least 1"),
        (lambda: lb.KLUCBPlusPlus(9, sigma=2.0), "KLUCBPlusPlus: sigma=2.0 is for"),
        (lambda: lb.BayesUCB("poisson"), "BayesUCB: family='poisson' has no quantiles here"),
        (lambda: lb.BayesUCB(sigma=2.0), "BayesUCB: sigma=2.0 is for family='gaussian' only"),
        (lambda: lb.POKER(0), "POKER: horizon=0 must be at least 1"),
        (lambda: lb.FEWA(sigma=-1.0), "FEWA: sigma=-1.0 must be positive"),
        (lambda: lb.FEWA(alpha=0.0), "FEWA: alpha=0.0 must be positive"),
        (lambda: lb.AdSwitch(horizon=1), "AdSwitch: horizon=1 must lie between 2 and"),
        (lambda: lb.AdSwitch(horizon=9, eviction=0), "AdSwitch: eviction=0.0 must be positive"),
    ],
)
def test_errors_say_what_is_wrong(make, message):
    with pytest.raises(ValueError, match=message):
        make()


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
