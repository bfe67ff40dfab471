"""Guardrails pause arms that are not worse as rarely as they say, and uplifts hold at any time.

The statements are about all moments at once, so each replication is looked at again and again, and
counts if the statement was wrong at any of the looks.
"""

import math

import numpy as np
import pytest

from lastblock.core.reward_stats import Told
from lastblock.core.support import Support
from lastblock.live.mean_rewards import model_of
from lastblock.serve.guardrails import how_sure
from lastblock.serve.uplift import difference_intervals

REPLICATIONS = 300
LOOKS = np.unique(np.geomspace(5, 600, 30).astype(int))
LAWS = {
    "errors": lambda rng, shape: (rng.random(shape) < 0.05).astype(float),
    "seconds": lambda rng, shape: rng.gamma(2.0, 0.15, shape),
    "prices": lambda rng, shape: rng.lognormal(3.0, 0.5, shape),
    "scores": lambda rng, shape: rng.normal(-3.0, 1.0, shape),
}


def told_at(values, n):
    """The statistics of the first `n` values of each row."""
    part = values[:, :n]
    means = part.mean(axis=1)
    spreads = ((part - means[:, None]) ** 2).sum(axis=1)
    columns = (means, spreads, part.min(axis=1), part.max(axis=1))
    return [Told(n, *row) for row in zip(*(column.tolist() for column in columns), strict=True)]


def most(share):
    """The most replications that may be wrong: four standard errors above the stated rate."""
    return REPLICATIONS * share + 4.0 * math.sqrt(REPLICATIONS * share * (1.0 - share))


def interleaved(rivals, controls):
    return [each for pair in zip(rivals, controls, strict=True) for each in pair]


PAIRS = [(2 * k, 2 * k + 1) for k in range(REPLICATIONS)]


@pytest.mark.parametrize("law", LAWS)
@pytest.mark.parametrize("is_high_worse", [True, False])
def test_an_arm_that_is_not_worse_is_rarely_paused(law, is_high_worse):
    rng = np.random.default_rng(7)
    draws = [LAWS[law](rng, (REPLICATIONS, LOOKS[-1])) for _ in range(2)]
    largest = np.zeros(REPLICATIONS)
    for n in LOOKS:
        told = interleaved(*(told_at(each, n) for each in draws))
        found = how_sure(told, PAIRS, 1, is_high_worse=is_high_worse)
        largest = np.maximum(largest, found)
    for confidence in (0.9, 0.99):
        assert (largest >= confidence).sum() <= most(1.0 - confidence)


@pytest.mark.parametrize("law", LAWS)
def test_an_arm_that_is_worse_is_found(law):
    """Four times as many errors, or three standard deviations more: within 600 values."""
    rng = np.random.default_rng(8)
    rivals, controls = (LAWS[law](rng, (REPLICATIONS, LOOKS[-1])) for _ in range(2))
    if law == "errors":
        rivals = (rng.random(rivals.shape) < 0.2).astype(float)
    else:
        rivals = rivals + 3.0 * controls.std()
    told = interleaved(told_at(rivals, LOOKS[-1]), told_at(controls, LOOKS[-1]))
    found = np.array(how_sure(told, PAIRS, 1, is_high_worse=True))
    assert (found >= 0.99).mean() > 0.9
    assert max(how_sure(told, PAIRS, 1, is_high_worse=False)) < 0.5


@pytest.mark.parametrize("law", LAWS)
def test_the_interval_of_an_uplift_holds_at_all_times(law):
    """The side of the policy is four times as large, and better by a tenth of the deviation."""
    rng = np.random.default_rng(9)
    policy = LAWS[law](rng, (REPLICATIONS, 4 * LOOKS[-1]))
    holdout = LAWS[law](rng, (REPLICATIONS, LOOKS[-1]))
    deviation = float(holdout.std())
    truth = 0.0 if law == "errors" else 0.1 * deviation
    policy += truth
    wrong, widths = np.zeros(REPLICATIONS, bool), np.zeros(0)
    for n in LOOKS:
        told = interleaved(told_at(policy, 4 * n), told_at(holdout, n))
        model = model_of(told, Support(), None)
        low, high = np.array(difference_intervals(model, told, 0.95)).T
        wrong |= (low > truth) | (high < truth)
        widths = high - low
    assert wrong.sum() <= most(0.05)
    assert np.median(widths) < 1.5 * deviation  # they say something in the end
