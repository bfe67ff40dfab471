"""The change detectors alone."""

import math

import numpy as np
import pytest

import lastblock as lb
from detectors.watching import noticed_by
from lastblock.core.layout import record
from lastblock.detectors.meanshift import forget_arm, largest_shift, last_block, shift_fields
from lastblock.kernels.jit import DISABLED, entry, specialise
from lastblock.testing.detectors import Noticed

RUNS = 20 if DISABLED else 200


def first_alarm(detector, rewards):
    """The number of rewards at which an arm raises an alarm, 0 for never; and what it noticed."""
    at, *noticed = next(iter(noticed_by(detector, [0] * len(rewards), rewards)), [0] * 4)
    return at, Noticed(1, *noticed)


SAMPLERS = {
    "gaussian": lambda rng, n: rng.normal(size=n),
    "bernoulli": lambda rng, n: (rng.random(n) < 0.5) * 1.0,
    "rare": lambda rng, n: (rng.random(n) < 0.03) * 1.0,
    "exponential": lambda rng, n: rng.exponential(size=n),
    "lognormal": lambda rng, n: rng.lognormal(sigma=2.0, size=n),
    "poisson": lambda rng, n: rng.poisson(0.3, n) * 1.0,
    "cauchy": lambda rng, n: rng.standard_cauchy(n),
}


@pytest.mark.parametrize("law", SAMPLERS)
def test_few_false_alarms(law):
    """e^−4 for every e-fold of time at most, if the tail of z is that of an exponential."""
    rng = np.random.default_rng([7, list(SAMPLERS).index(law)])
    alarms = sum(first_alarm(lb.MeanShift(), SAMPLERS[law](rng, 4000))[0] > 0 for _ in range(RUNS))
    assert alarms <= 0.06 * RUNS


@pytest.mark.parametrize("law", ["gaussian", "bernoulli", "exponential", "poisson"])
def test_large_shifts_are_found_at_once(law):
    rng = np.random.default_rng([8, list(SAMPLERS).index(law)])
    spread = SAMPLERS[law](rng, 10_000).std()
    delays = []
    for _ in range(RUNS):
        rewards = SAMPLERS[law](rng, 1100)
        rewards[1000:] += 2.5 * spread
        at, d = first_alarm(lb.MeanShift(), rewards)
        assert at > 0
        if at > 1000:
            delays.append(at - 1000)
            assert d.new > d.old
    assert len(delays) > 0.95 * RUNS
    assert np.quantile(delays, 0.95) <= 24


def test_small_shifts_are_found_later():
    """z ≈ δ² s m / 2 (s + m): with δ = 0.3 and m = 3000 some 300 rewards."""
    rng = np.random.default_rng(9)
    delays = []
    for _ in range(RUNS // 4):
        rewards = rng.normal(size=5000)
        rewards[3000:] -= 0.3
        at, d = first_alarm(lb.MeanShift(), rewards)
        if at > 3000:
            delays.append(at - 3000)
            assert d.new < d.old
    assert len(delays) > 0.9 * (RUNS // 4)
    assert 150 < np.median(delays) < 500


def test_changes_of_spread_alone_are_rarely_taken_for_others():
    """A block of 16 whose spread nobody has seen before has the tails of Student's t."""
    rng = np.random.default_rng(10)
    alarms = 0
    for _ in range(RUNS):
        rewards = rng.normal(size=3000)
        rewards[1000:2000] *= 4.0
        rewards[2000:] *= 0.25
        alarms += first_alarm(lb.MeanShift(), rewards)[0] > 0
    assert alarms <= 0.15 * RUNS


def test_constants():
    """No rounding error is a shift; the smallest real one is, after 16 rewards."""
    assert first_alarm(lb.MeanShift(), [0.1] * 5000)[0] == 0
    assert first_alarm(lb.MeanShift(), [0.3] + [0.1] * 5000)[0] == 0
    at, d = first_alarm(lb.MeanShift(), [0.1] * 1000 + [0.1 + 1e-9] * 100)
    assert 1000 < at <= 1016
    assert d.size == 16
    assert pytest.approx(d.old, rel=1e-15) == 0.1
    assert d.old < d.new <= 0.1 + 1e-9


@pytest.mark.parametrize(
    ("shift", "scale"), [(-3.0, 1.0), (1024.0, 1.0), (0.0, 0.125), (64.0, 2.0**20)]
)
def test_shift_and_scale_change_nothing(shift, scale):
    rng = np.random.default_rng(11)
    rewards = rng.integers(0, 9, 2000) / 4.0
    rewards[1200:] += 1.0
    at, _ = first_alarm(lb.MeanShift(), rewards)
    assert 1200 < at < 1300
    assert first_alarm(lb.MeanShift(), (rewards + shift) * scale)[0] == at


def test_caution_delays():
    rng = np.random.default_rng(12)
    rewards = rng.normal(size=3000)
    rewards[2000:] += 0.5
    alarms = [first_alarm(lb.MeanShift(caution), rewards)[0] for caution in (1.0, 4.0, 12.0)]
    assert 2000 < alarms[0] <= alarms[1] <= alarms[2]
    assert alarms[0] < alarms[2]


@entry
def blocks(states, rewards, sizes, found):
    """Of every size after every reward: the length and the sum of the last block."""
    d = states[0]
    forget_arm(d, 1)
    for i in range(rewards.shape[0]):
        largest_shift(d, 1, rewards[i], math.inf)
        for j in range(sizes.shape[0]):
            if sizes[j] <= i + 1:
                found[i, j, 0], found[i, j, 1] = last_block(d, 1, sizes[j])


def blocks_of(rewards, sizes):
    states = np.zeros(1, record(shift_fields(2, blocks=True)))
    found = np.zeros((len(rewards), len(sizes), 2))
    arguments = states, rewards, np.array(sizes), found
    specialise(blocks, *arguments)(*arguments)
    return found


def test_checkpoints_give_the_sums_of_last_blocks():
    rewards = np.random.default_rng(9).integers(-50, 100, 300 if DISABLED else 20_000) * 1.0
    sizes = [1, 2, 6, 7, 8, 14, 15, 20, 28, 29, 100, 112, 250, 511, 3000, 7168, 7169, 14_337]
    found = blocks_of(rewards, sizes)
    sums = np.concatenate([[0.0], rewards.cumsum()])
    for j, n in enumerate(sizes):
        rows = np.arange(n - 1, rewards.size)
        length = found[rows, j, 0].astype(int)
        assert np.array_equal(found[rows, j, 1], sums[rows + 1] - sums[rows + 1 - length])
        assert np.all(np.abs(length - n) <= n / 7)
        assert n > 7 or np.all(length == n)


def test_blocks_survive_rewards_of_any_size():
    """A first difference of 10⁻³⁰⁰ makes the detector deaf, but spoils no sum."""
    found = blocks_of(np.array([0.0, 1e-300, 1e280, 1.0, 1.0]), [1, 2, 3])
    assert found[4, :, 1].tolist() == [0.0, 0.0, 1e280]  # 1 is lost beside 10²⁸⁰
    found = blocks_of(np.array([0.0, 1e-300, 3.0, 1.0, 1.0]), [1, 2, 3])
    assert found[4, :, 1].tolist() == [1.0, 2.0, 5.0]
