"""The probability that an arm is best, given its rewards and those of the others.

It is Bayes' rule with a prior that says little: Jeffreys' for rewards of 0 and 1, and for others a
flat one for the mean, with one reward's worth of the arms' common variance for the variance, so
that few rewards which happen to be alike do not look certain.
"""

from typing import NamedTuple

import numpy as np

from lastblock.theory.confidence_sequences import Floats, Rewards

_STEPS = np.linspace(-7.0, 7.0, 241)
"""The points for each arm. Their hyperbolic sines are standard deviations, so that the points are
dense in the middle and reach far out."""


class _Beliefs(NamedTuple):
    """What is believed of the mean of each arm, or of its log odds: a law on the points above."""

    middle: Floats
    scale: Floats
    below: Floats
    """For each arm and point, the probability to lie below it."""

    @property
    def points(self) -> Floats:
        found: Floats = self.middle[:, None] + self.scale[:, None] * np.sinh(_STEPS)
        return found


def probability_best(rewards: Rewards, *, are_coins: bool) -> Floats:
    """Return the probability of each arm to have the largest mean.

    Parameters
    ----------
    rewards
        The rewards of each arm, at least one.
    are_coins
        Whether all rewards are 0 or 1.

    Returns
    -------
    numpy.ndarray
        The probabilities, which add up to 1. NaN if the rewards do not vary, or are too large.
    """
    with np.errstate(all="ignore"):  # a state may hold any number
        beliefs = _of_coins(rewards) if are_coins else _of_others(rewards)
        points = beliefs.points
        lower = [
            np.interp(np.arcsinh((points - middle) / scale), _STEPS, below)
            for middle, scale, below in zip(*beliefs, strict=True)
        ]
        # The chance that all arms but one lie lower: by logarithms, since one factor may be 0.
        logs = np.log(np.maximum(lower, 1e-300))
        others = np.exp(logs.sum(axis=0) - logs[np.arange(len(lower)), np.arange(len(lower))])
        middle = 0.5 * (others[:, 1:] + others[:, :-1])
        chances = (middle * np.diff(beliefs.below, axis=1)).sum(axis=1)
        found: Floats = chances / chances.sum()
        return found


def _of_coins(rewards: Rewards) -> _Beliefs:
    """Return what is believed of the log odds of the arms."""
    ones = np.clip(rewards.mean, 0.0, 1.0) * rewards.number + 0.5
    zeros = rewards.number + 1.0 - ones
    middle, scale = np.log(ones / zeros), np.sqrt(1.0 / ones + 1.0 / zeros)
    points = middle[:, None] + scale[:, None] * np.sinh(_STEPS)
    logs = -ones[:, None] * np.logaddexp(0.0, -points) - zeros[:, None] * np.logaddexp(0.0, points)
    return _Beliefs(middle, scale, _below(logs))


def _of_others(rewards: Rewards) -> _Beliefs:
    """Return what is believed of the means of the arms: laws of Student."""
    free = np.maximum(rewards.number - 1.0, 0.0)
    common = rewards.spread.sum() / max(1.0, float(free.sum()))
    degrees = free + 1.0
    scale = np.sqrt((rewards.spread + common) / degrees / rewards.number)
    logs = -0.5 * (degrees[:, None] + 1.0) * np.log1p(np.sinh(_STEPS) ** 2 / degrees[:, None])
    return _Beliefs(rewards.mean, scale, _below(logs))


def _below(logs: Floats) -> Floats:
    """Return the probability to lie below each point, from the logarithms of the densities."""
    density = np.exp(logs - logs.max(axis=1, keepdims=True)) * np.cosh(_STEPS)
    below = np.zeros_like(density)
    below[:, 1:] = np.cumsum(density[:, 1:] + density[:, :-1], axis=1)
    found: Floats = below / below[:, -1:]
    return found
