"""Replay of policies on logs, uniform or not."""

import math

import numpy as np
import pytest
from colour_logs import COLUMNS, FIRST_ARM, LABELS, POLICY, new_replay, skewed_log

import lastblock as lb


def test_same_seed_same_bits():
    replay = new_replay()
    runs = [
        replay.evaluate(POLICY, seed=5, replications=7, bootstrap=9, threads=threads)
        for threads in (1, 2, 3)
    ]
    for run in runs[1:]:
        for name in ("matched", "reward", "pulls", "errors", "resampled"):
            np.testing.assert_array_equal(getattr(run, name), getattr(runs[0], name))
    first = replay.evaluate(POLICY, seed=5)
    np.testing.assert_array_equal(first.reward, runs[0].reward[:1])
    assert first.resampled.size == 0
    assert len({tuple(row) for row in runs[0].pulls.tolist()}) > 1


def test_evaluation():
    replay = new_replay()
    done = replay.evaluate(POLICY, seed=5, replications=4, times=[100, 200])
    assert done.policy == POLICY
    assert done.arms == LABELS
    assert done.events == 600
    assert done.replications == 4
    assert done.times.tolist() == [100, 200, 600]
    assert done.matched[:, -1].tolist() == done.pulls.sum(axis=1).tolist()
    assert done.estimate == done.estimates.mean()
    assert done.standard_error == pytest.approx(math.sqrt((done.errors**2).mean()))
    assert done.seed_error == pytest.approx(done.estimates.std(ddof=1) / 2)
    low, high = done.interval()
    assert low == pytest.approx(done.estimate - 1.959964 * done.standard_error)
    assert high == pytest.approx(done.estimate + 1.959964 * done.standard_error)
    assert done.interval(0.5)[1] < high
    assert done.curve()[-1] == pytest.approx(done.reward[:, -1].sum() / done.matched[:, -1].sum())
    assert done.best_mean == max(replay.means.values())
    expected = (done.best_mean * done.matched - done.reward).mean(axis=0)
    np.testing.assert_allclose(done.regret(), expected)
    assert "given the arms that were pulled" in done.covers
    assert repr(done).startswith(f"<Evaluation of {POLICY}: 0.")
    assert "of 600 events matched, 4 × replayed>" in repr(done)
    assert math.isnan(replay.evaluate(POLICY, seed=5).seed_error)

    sure = replay.evaluate(POLICY, seed=5, replications=4, bootstrap=50)
    assert sure.estimate == done.estimate
    assert sure.standard_error == pytest.approx(sure.resampled.std(ddof=1))
    assert sure.interval(0.9) == tuple(np.quantile(sure.resampled, [0.05, 0.95]))
    assert "another log like this one" in sure.covers


def test_policies_meet_the_same_resampled_logs():
    """Rewards that tell which events were drawn, arms that do not."""
    rewards = np.arange(600.0)
    replay = lb.Replay((COLUMNS["colour"], np.round(rewards / 600)))  # 0 in the first half, then 1
    one, other = (
        replay.evaluate(policy, seed=5, bootstrap=200) for policy in (POLICY, lb.Thompson())
    )
    assert not np.array_equal(one.resampled, other.resampled)
    assert np.corrcoef(one.resampled, other.resampled)[0, 1] > 4 / math.sqrt(200)
    apart = replay.evaluate(lb.Thompson(), seed=6, bootstrap=200)
    assert abs(np.corrcoef(one.resampled, apart.resampled)[0, 1]) < 4 / math.sqrt(200)


def test_horizon_ends_a_pass():
    replay = new_replay()
    done = replay.evaluate(POLICY, seed=5, horizon=50, replications=3)
    assert done.matched[:, -1].tolist() == [50] * 3
    rows = replay.matches(POLICY, seed=5)
    assert replay.matches(POLICY, seed=5, horizon=50).tolist() == rows[:50].tolist()
    assert done.reward[0, -1] == COLUMNS["click"][rows[:50]].sum()
    before = done.times <= rows[49]
    assert (done.matched[0, before] < 50).all()
    assert (done.matched[0, ~before] == 50).all()


def test_a_curve_before_the_first_match():
    log = {"arm": [1, 2] * 5 + [0, 1, 2] * 5, "reward": [2.0] * 25}
    done = lb.Replay(log).evaluate(FIRST_ARM, seed=1, times=[10, 11])
    assert np.isnan(done.curve()[0])
    assert done.curve()[1:].tolist() == [2.0, 2.0]
    assert done.matched.tolist() == [[0, 1, 5]]


def test_a_policy_that_keeps_every_reward_grows():
    """A resampled log may have more events of an arm than the log, and the record room for."""
    arms = [0] * 63 + [1] * 63 + [2] * 63  # a history of 64 slots holds 63 rewards
    rewards = [1.0] * 63 + [0.0] * 126
    done = lb.Replay((arms, rewards)).evaluate(lb.LBSDA(), seed=1, bootstrap=40)
    assert done.resampled.size == 40
    assert done.pulls.max() <= 63
    alone = [lb.Replay((arms, rewards)).evaluate(lb.LBSDA(), seed=1, bootstrap=n) for n in (2, 12)]
    for short in alone:
        assert short.resampled.tolist() == done.resampled[: short.resampled.size].tolist()


def test_no_match():
    short = lb.Replay((["c", "b", "a"], [1.0, 0.0, 1.0]))
    assert short.matches(FIRST_ARM, seed=1).tolist() == [2]
    single = short.evaluate(FIRST_ARM, seed=1)
    assert single.estimate == 1.0
    assert math.isnan(single.standard_error)


# Logs that are not uniform.


def test_propensities_may_be_rounded_and_counts_those_that_chance_gives():
    rounded = new_replay({**COLUMNS, "chance": np.full(600, 0.3333)})
    estimates = [each.evaluate(POLICY, seed=1).estimate for each in (rounded, new_replay())]
    assert estimates[0] == estimates[1]
    slightly = [0] * 345 + [1] * 328 + [2] * 327
    assert lb.Replay((slightly, [1.0] * 1000)).evaluate(POLICY, seed=1).estimate == 1.0


def test_an_arm_that_is_never_logged():
    replay = lb.Replay(([0, 1, 0, 1], [1.0] * 4), arms=3, propensity=1 / 3)
    assert replay.counts == {0: 2, 1: 2, 2: 0}
    assert math.isnan(replay.means[2])


def test_rejection_makes_a_log_uniform():
    replay = skewed_log(30_000)
    kept = replay.uniform(seed=1)
    assert len(kept) == pytest.approx(9000, abs=4 * math.sqrt(30_000 * 0.3 * 0.7))
    for count in kept.counts.values():
        assert count == pytest.approx(3000, abs=4 * math.sqrt(30_000 * 0.1 * 0.9))
    assert kept.evaluate(POLICY, seed=1).estimate > 0.75
    assert replay.uniform(seed=1).counts == kept.counts
    assert replay.uniform(seed=2).counts != kept.counts
    assert len(replay.uniform(floor=0.05, seed=1)) < 0.6 * len(kept)
    rows = kept.matches(POLICY, seed=1)
    assert rows.max() > len(kept)  # rows of the log that was given
    uniform = new_replay()
    assert uniform.uniform(seed=1).counts == uniform.counts
