"""Replay on many uniform logs: right on average, and as sure as it says."""

import math

import numpy as np
import pytest

import lastblock as lb
from trials import short_and_long, trial

MEANS = np.array([0.3, 0.5, 0.7])
WORLD = lb.Stationary([lb.Bernoulli(mean) for mean in MEANS])
EVENTS = 600
HORIZON = 150  # EVENTS / 3 ± 11.5 match
LOGS = 600
POLICIES = [lb.LBSDALM(), pytest.param(lb.Thompson(), marks=trial)]


def logs(n, seed):
    rng = np.random.default_rng(seed)
    for _ in range(n):
        arms = rng.integers(3, size=EVENTS)
        yield lb.Replay((arms, (rng.random(EVENTS) < MEANS[arms]).astype(float)))


@pytest.mark.parametrize("policy", POLICIES, ids=lambda policy: type(policy).__name__)
def test_unbiased(policy):
    """The mean over many logs is the policy's true mean reward, within four standard errors."""
    run = lb.simulate(policy, WORLD, horizon=HORIZON, replications=20_000, seed=1)
    values = MEANS.max() - run.regret[:, -1] / HORIZON
    found = np.array(
        [
            log.evaluate(policy, seed=i, horizon=HORIZON, threads=1).estimate
            for i, log in enumerate(logs(LOGS, seed=2))
        ]
    )
    error = math.hypot(found.std() / math.sqrt(LOGS), values.std() / math.sqrt(values.size))
    assert found.mean() == pytest.approx(values.mean(), abs=4 * error)
    assert error < 0.0025  # or nothing would be shown


def test_as_many_matches_as_chance_gives():
    """Whatever the policy does, an event matches with probability 1/K."""
    matched = np.array(
        [
            log.evaluate(lb.LBSDALM(), seed=i, threads=1).matched[0, -1]
            for i, log in enumerate(logs(LOGS, seed=3))
        ]
    )
    variance = EVENTS * (1 / 3) * (2 / 3)
    assert matched.mean() == pytest.approx(EVENTS / 3, abs=4 * math.sqrt(variance / LOGS))
    assert matched.var() == pytest.approx(variance, rel=4 * math.sqrt(2 / LOGS))


def test_repeats():
    """About 1 when arms are drawn one by one, more when a draw lasts."""
    found = np.array([log.repeats for log in logs(LOGS, seed=7)])
    assert found.mean() == pytest.approx(1.0, abs=4 * found.std() / math.sqrt(LOGS) + 2 / EVENTS)
    # Its variance is that of EVENTS − 1 coins with probability 1/3, relatively.
    assert found.std() == pytest.approx(math.sqrt(2 / EVENTS), rel=4 / math.sqrt(2 * LOGS))
    rng = np.random.default_rng(8)
    doubled = np.repeat(rng.integers(3, size=EVENTS), 2)  # then every second event is a repeat
    assert lb.Replay((doubled, np.ones(2 * EVENTS))).repeats == pytest.approx(2.0, abs=0.2)
    assert math.isnan(lb.Replay(([0], [1.0]), arms=3).repeats)


@trial
def test_bootstrap_error():
    """Bootstrap passes scatter as passes over fresh logs do; rewards alone scatter less."""
    n = 300
    done = [
        log.evaluate(lb.LBSDALM(), seed=i, bootstrap=100, threads=1)
        for i, log in enumerate(logs(n, seed=4))
    ]
    scatter = np.std([one.estimate for one in done], ddof=1)
    tolerance = 4 / math.sqrt(2 * n)  # of a standard deviation from n values, relatively
    bootstrap = math.sqrt(np.mean([one.standard_error**2 for one in done]))
    assert bootstrap == pytest.approx(scatter, rel=tolerance)
    rewards_alone = math.sqrt(np.mean([one.errors[0] ** 2 for one in done]))
    assert 0.7 * scatter < rewards_alone < scatter


def assert_right_and_sure(found, value):
    """Both estimates have the right mean, and intervals that cover it as often as they say."""
    number = len(found)
    for each in ([one.ips for one in found], [one.snips for one in found]):
        means = np.array([one.value for one in each])
        scatter = means.std(ddof=1)
        assert means.mean() == pytest.approx(value, abs=4 * scatter / math.sqrt(number))
        errors = [one.standard_error for one in each]
        assert np.mean(errors) == pytest.approx(scatter, rel=4 / math.sqrt(2 * number))
        inside = np.mean([low < value < high for low, high in (one.interval() for one in each)])
        assert inside == pytest.approx(0.95, abs=4 * math.sqrt(0.95 * 0.05 / number))


def test_weighted_estimates_are_unbiased():
    """From a log that favours the worst arm, with honest propensities."""
    rng = np.random.default_rng(5)
    events = 3000  # with 600, worth 93, a 95 % interval covers 94.2 %: the law is not yet normal
    chances = np.array([0.6, 0.3, 0.1])
    target = np.array([0.1, 0.1, 0.8])
    value = float(target @ MEANS)
    found = []
    for _ in range(LOGS):
        arms = rng.choice(3, size=events, p=chances)
        rewards = (rng.random(events) < MEANS[arms]).astype(float)
        found.append(lb.Replay((arms, rewards, chances[arms]), arms=3).estimate(target))
    assert_right_and_sure(found, value)


@trial
def test_rejection_is_unbiased():
    """A policy on a log made uniform earns what it earns in the world."""
    rng = np.random.default_rng(6)
    policy, horizon, events = lb.LBSDALM(), 100, 1500
    chances = np.array([[0.1, 0.3, 0.6], [0.5, 0.4, 0.1]])[np.arange(events) % 2]
    run = lb.simulate(policy, WORLD, horizon=horizon, replications=20_000, seed=1)
    value = MEANS.max() - run.mean()[-1] / horizon
    found = []
    for i in range(LOGS):
        arms = (rng.random(events)[:, None] > chances.cumsum(axis=1)).sum(axis=1)
        rewards = (rng.random(events) < MEANS[arms]).astype(float)
        log = lb.Replay((arms, rewards, chances[np.arange(events), arms]), arms=3)
        kept = log.uniform(floor=0.1, seed=i)
        found.append(kept.evaluate(policy, seed=i, horizon=horizon, threads=1).estimate)
    error = math.hypot(np.std(found), np.std(run.regret[:, -1] / horizon) / math.sqrt(20))
    assert np.mean(found) == pytest.approx(value, abs=4 * error / math.sqrt(LOGS))


def test_the_log_of_a_live_bandit_with_a_floor():
    """Its probabilities are propensities: they weight every arm's mean right."""
    rng = np.random.default_rng(9)
    bandit = lb.Bandit(lb.LBSDALM(), 3, seed=9, floor=0.1)
    log = []
    for _ in range(6000):
        decision = bandit.ask()
        reward = float(rng.random() < MEANS[decision.arm])
        bandit.tell(decision, reward)
        log.append((decision.arm, reward, decision.probability))
    replay = lb.Replay(tuple(zip(*log, strict=True)))
    for arm, mean in enumerate(MEANS):
        found = replay.estimate(arm)
        for one in (found.ips, found.snips):
            assert one.value == pytest.approx(mean, abs=4 * one.standard_error)
            assert one.standard_error < 0.05
    kept = replay.uniform(floor=0.1, seed=1)
    for count in kept.counts.values():
        assert count == pytest.approx(600, abs=4 * math.sqrt(600))


@short_and_long("number", 100, LOGS)
def test_arms_that_come_and_go(number):
    """Estimates are right on average and as sure as they say, though arms are absent at times."""
    rng = np.random.default_rng(10)
    n, half = 1500, 750
    sets = [["a", "b"]] * half + [["b", "d"]] * half
    truth = {"a": 0.2, "b": 0.5, "d": 0.7}
    # The logging policy changes its mind, as one that learns does.
    first = np.where(np.arange(n) % 300 < 150, 0.25, 0.75)  # of the first arm in the set
    found = {target: [] for target in ("a", "d", "mixed", "made do")}
    for _ in range(number):
        takes = rng.random(n) < first
        arms = [pair[0] if one else pair[1] for pair, one in zip(sets, takes, strict=True)]
        rewards = (rng.random(n) < np.array([truth[arm] for arm in arms])).astype(float)
        chances = np.where(takes, first, 1.0 - first)
        log = {"arm": arms, "reward": rewards, "p": chances, "choices": sets}
        replay = lb.Replay(log, propensity="p")
        mixed = {"b": 0.5, "d": 0.5}
        found["a"].append(replay.estimate("a"))
        found["d"].append(replay.estimate("d"))
        found["mixed"].append(replay.estimate(mixed))
        found["made do"].append(replay.estimate(mixed, absent="renormalise"))
    values = {"a": 0.2, "d": 0.7, "mixed": 0.6, "made do": (0.5 + 0.6) / 2}
    for target, value in values.items():
        assert_right_and_sure(found[target], value)
