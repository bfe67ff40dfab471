"""The limits between which a detector sees rewards, against what their deciles say."""

import numpy as np

from lastblock.core.clipping import is_within, limits_of
from lastblock.kernels.jit import plain


def limits(rewards):
    samples = np.array([[0.0] * len(rewards), rewards])
    low, high = plain(limits_of)(samples, 1)
    inside = plain(is_within)(samples, 1, low, high)
    assert inside == all(low <= x <= high for x in rewards)
    return low, high


def test_limits_follow_from_the_deciles():
    """The fourth of 32 is the first decile; each side reaches three times as far again."""
    rewards = np.random.default_rng(14).permutation(32).astype(np.float64)
    assert limits(rewards) == (3.0 - 3.0 * 12.5, 28.0 + 3.0 * 12.5)
    assert limits(8.0 * rewards - 64.0) == (8.0 * -34.5 - 64.0, 8.0 * 65.5 - 64.0)
    rewards[rewards > 28.0] = 1e6  # three outliers of 32 move no limit
    assert limits(rewards) == (-34.5, 65.5)


def test_rare_events_are_not_clipped():
    assert limits([0.0] * 30 + [1.0, 5.0]) == (-np.inf, np.inf)
    assert limits([0.0] * 20 + [1.0] * 12) == (-np.inf, 4.0)
    assert limits([7.0] * 32) == (-np.inf, np.inf)
