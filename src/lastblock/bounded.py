"""Rewards in [0, 1] for policies that need them: cut off what lies outside, or toss a coin."""

from lastblock.jit import kernel
from lastblock.random import Stream, uniform


@kernel
def clipped(reward: float) -> float:
    """The nearest number in [0, 1]."""
    return min(max(reward, 0.0), 1.0)


@kernel
def coin(stream: Stream, reward: float) -> float:
    """1 with probability `reward`, else 0 (Agrawal & Goyal, 2012); 0 and 1 cost no draw.

    The mean of bounded rewards does not change, and they become Bernoulli rewards.
    """
    if reward <= 0.0:
        return 0.0
    if reward >= 1.0:
        return 1.0
    return 1.0 if uniform(stream) < reward else 0.0
