"""Adaptive LB-SDA and restarted policies take their twins' decisions, restarts included."""

import math
import random

import pytest

import lastblock as lb
from lastblock.core.restarts import REMEMBERED, last_changes
from oracle.adaptivelbsda import AdaptiveLBSDA
from oracle.randomised import Thompson, twin
from oracle.restarting import Restarting, likelihood_ratio, mean_shift
from oracle.sampling import Sampler
from oracle.worlds import KINDS, World, follow, room
from trials import mostly_trials, short_and_long


def jumps(rng, levels, t, arm):
    return float(rng.random() < (0.05, 0.9)[(arm + t // 150) % 2])


def steps(rng, levels, t, arm):
    """Gaussian arms whose levels and spread change."""
    return rng.gauss(3.0 * ((arm + t // 170) % 3), 0.25 * 4.0 ** (t // 170 % 3))


def risers(rng, levels, t, arm):
    """The leader stays; another arm passes it."""
    return rng.gauss((0.0, 1.0, 2.0 if t > 250 else 0.0)[arm % 3], 0.5)


def tails(rng, levels, t, arm):
    return rng.lognormvariate(2.0 * ((arm + t // 200) % 2), 1.0)


def outliers(rng, levels, t, arm):
    """Once in 50 rewards, one is a thousand spreads away; the levels jump."""
    far = 1000.0 if rng.random() < 0.02 else 0.0
    return rng.gauss(3.0 * ((arm + t // 200) % 2), 1.0) + far


def assert_same(bandit, naive, world, horizon):
    follow(bandit, naive, world.reward, horizon)
    found = last_changes(bandit._desk.live.s)
    assert int(bandit._desk.live.s["restarts"]) == len(naive.restarts)
    for change, expected in zip(found, naive.restarts[-REMEMBERED:], strict=True):
        assert tuple(change) == pytest.approx(expected, rel=1e-9, abs=1e-9)


@short_and_long("worlds", [(2, 1), (3, 2)], [(2, 1), (3, 2), (3, 3), (3, 4)])
@pytest.mark.parametrize(
    "kind", [*KINDS, jumps, steps, risers, tails, outliers], ids=lambda k: k.__name__
)
@pytest.mark.parametrize("alertness", mostly_trials([0.0, 0.075, 1.0], {0.075, 1.0}))
def test_adaptive(kind, alertness, worlds):
    restarts = probes = doubts = clips = 0
    for arms, seed in worlds:
        policy = lb.AdaptiveLBSDA(alertness)
        bandit = lb.Bandit(policy, arms, seed=seed, room=room(arms))
        naive = AdaptiveLBSDA(arms, seed, alertness)
        assert_same(bandit, naive, World(kind, arms, seed), 500)
        restarts += len(naive.restarts)
        probes += naive.probes
        doubts += naive.doubts
        clips += naive.clips
    assert restarts > 0 or kind not in (jumps, steps)
    assert clips > 0 or kind not in (tails, outliers)
    assert probes > 0 or alertness < 1.0
    assert doubts > 0 or kind not in (jumps, tails)


@pytest.mark.parametrize(
    ("age", "horizon", "memory"),
    mostly_trials([(0, 1900, 511), (2000, 2200, 800)], {(0, 1900, 511)}),
)
def test_adaptive_with_full_memories(age, horizon, memory):
    """Both arms hold more rewards than the memory; the better last block leads."""
    pulls = [0, 0]

    def level(rng, levels, t, arm):
        """Whichever arm has been pulled less pays a little more, so that both go on."""
        pulls[arm] += 1
        return float(rng.randint(0, 3)) + 0.5 * (pulls[arm] <= pulls[1 - arm])

    bandit = lb.Bandit(lb.AdaptiveLBSDA(), 2, seed=5, room=room(2))
    naive = AdaptiveLBSDA(2, 5)
    bandit._desk.live.s["before"] = naive.now = age
    assert_same(bandit, naive, World(level, 2, 5), horizon)
    assert naive.full > 0
    assert naive.memory >= memory


@pytest.mark.parametrize("kind", [jumps, steps, risers], ids=lambda k: k.__name__)
def test_restarting_by_mean_shifts(kind):
    for alertness, seed in [(0.25, 1), (0.0, 2), (2.0, 3)]:
        bandit = lb.Bandit(
            lb.Restarting(lb.Thompson("gaussian"), lb.MeanShift(), alertness), 3, seed=seed
        )
        made = twin(Thompson, family="gaussian")
        naive = Restarting(made, 3, Sampler(seed), mean_shift, alertness)
        assert_same(bandit, naive, World(kind, 3, seed), 500)
        assert naive.restarts or kind is risers


def test_restarting_by_likelihood_ratios():
    policy = lb.Restarting(lb.Thompson(), lb.GLR(delta=0.01))
    bandit = lb.Bandit(policy, 3, seed=4)
    naive = Restarting(twin(Thompson), 3, Sampler(4), likelihood_ratio)
    assert_same(bandit, naive, World(jumps, 3, 4), 500)
    assert naive.restarts


@pytest.mark.parametrize("exploration", [0.05, 0.7])
def test_turns_of_all_arms(exploration):
    """As in detection-augmented learning; with the larger share every decision is a turn."""
    policy = lb.Restarting(lb.Thompson(), lb.GLR(delta=0.01), 0.0, exploration)
    bandit = lb.Bandit(policy, 3, seed=5)
    naive = Restarting(twin(Thompson), 3, Sampler(5), likelihood_ratio, 0.0, exploration)
    assert_same(bandit, naive, World(jumps, 3, 5), 500)
    assert naive.restarts


def test_detection_augmented_learning_is_tuned_to_the_horizon():
    policy = lb.Restarting.dal(lb.UCB1(), horizon=10_000)
    assert policy.detector == lb.GLR(delta=0.01)
    assert policy.exploration == pytest.approx((math.log(10_000) / 10_000) ** 0.5)
    assert policy.alertness == 0.0
    assert lb.Restarting.dal(lb.UCB1(), horizon=99, detector=lb.ADWIN()).detector == lb.ADWIN()


@pytest.mark.usefixtures("plain")
def test_a_restart_cuts_a_round_short():
    """LB-SDA plays rounds of several arms; it begins again in the middle of one."""
    from oracle.test_randomised import lbsda  # noqa: PLC0415  # its maker

    bandit = lb.Bandit(lb.Restarting(lb.LBSDA(), lb.MeanShift(1.0), 1.0), 3, seed=6)
    naive = Restarting(
        lbsda, 3, Sampler(6), lambda rewards, age: mean_shift(rewards, age, 1.0), 1.0
    )
    assert_same(bandit, naive, World(jumps, 3, 6), 600)
    assert len(naive.restarts) > 1


def test_a_false_alarm_is_forgotten_by_all_arms():
    """After a restart no arm holds a reward from before the split, and at most 32."""
    bandit = lb.Bandit(lb.AdaptiveLBSDA(), 3, seed=1)
    world = World(jumps, 3, 1)
    rng = random.Random(1)
    restarts = 0
    for _ in range(600):
        decision = bandit.ask()
        bandit.tell(decision, world.reward(decision.arm) + 0.01 * rng.random())
        s = bandit._desk.live.s
        if s["restarts"] > restarts:
            restarts = int(s["restarts"])
            change = last_changes(s)[-1]
            assert change.since <= change.noticed
            assert all(kept <= 32 for kept in s["detector"]["count"])
            assert s["detector"]["count"].sum() <= change.noticed - change.since + 1
    assert restarts > 0
