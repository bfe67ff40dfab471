"""The Page–Hinkley test: sums of how far rewards are from their mean so far, in both directions."""

from typing import Annotated, NamedTuple

import numpy as np

from lastblock.core.layout import COUNT
from lastblock.core.parameters import NotNegative, Positive, Range
from lastblock.core.protocol import Layout, Record
from lastblock.core.registry import detector
from lastblock.kernels.jit import kernel

UP, DOWN = 0, 1


@kernel
def reaches(d: Record, arm: int, side: int, away: float, drift: float) -> float:
    """Add to one of the arm's two sums, which begins again where it would fall below 0.

    Returns the sum. Where it begins again, the arm's rewards so far are what came before a change.
    """
    total = d.walk[arm, side] + away - drift
    if total <= 0.0:
        total = 0.0
        d.before[arm, side] = d.count[arm]
        d.sum_before[arm, side] = d.sum[arm]
    d.walk[arm, side] = total
    return float(total)


@detector()
class PageHinkley(NamedTuple):
    """The two-sided Page–Hinkley test, for changes of a size that you can tell.

    The drift and the threshold have the unit of the rewards; the defaults are made for rewards in
    [0, 1]. `Restarting(UCB1(), PageHinkley())` is the PHT-UCB of Liu, Lee & Shroff.

    Parameters
    ----------
    drift
        δ, the change of the mean that does not matter, not negative. It is taken from every
        difference between a reward and the mean so far.
    threshold
        λ, positive: the sum of differences, upwards or downwards, that raises an alarm.
    least
        An arm with fewer rewards than this raises no alarm.

    Examples
    --------
    >>> import lastblock as lb
    >>> lb.Restarting(lb.UCB1(), lb.PageHinkley()).detector
    PageHinkley(drift=0.05, threshold=10.0, least=30)

    References
    ----------
    Page. Continuous Inspection Schemes. Biometrika 41, 1954. Hinkley. Inference about the
    Change-Point from Cumulative Sum Tests. Biometrika 58, 1971. In bandits: Liu, Lee & Shroff. A
    Change-Detection Based Framework for Piecewise-Stationary Multi-Armed Bandit Problem. AAAI 2018.
    """

    drift: NotNegative = 0.05
    threshold: Positive = 10.0
    least: Annotated[int, Range(2, unit="rewards")] = 30

    def layout(self, arms: int) -> Layout:
        return [
            ("count", COUNT, (arms,)),
            ("sum", np.float64, (arms,)),
            ("walk", np.float64, (arms, 2)),  # upwards and downwards
            ("before", COUNT, (arms, 2)),  # rewards before the walk began …
            ("sum_before", np.float64, (arms, 2)),  # … and their sum
            ("size", COUNT),  # number of rewards after the last change found
            ("old", np.float64),  # mean before it
            ("new", np.float64),  # mean after it
        ]

    def reset(self, d: Record) -> None:
        d.size = 0
        d.old = 0.0
        d.new = 0.0
        for k in range(d.count.shape[0]):
            d.count[k] = 0
            d.sum[k] = 0.0
            for side in range(2):
                d.walk[k, side] = 0.0
                d.before[k, side] = 0
                d.sum_before[k, side] = 0.0

    def notice(self, d: Record, arm: int, reward: float, age: int) -> bool:
        d.count[arm] += 1
        d.sum[arm] += reward
        n = d.count[arm]
        away = reward - d.sum[arm] / n
        up = reaches(d, arm, UP, away, self.drift)
        down = reaches(d, arm, DOWN, -away, self.drift)
        if n < self.least or max(up, down) <= self.threshold:
            return False
        side = UP if up > down else DOWN
        before = d.before[arm, side]  # at least 1: the first reward is its own mean
        d.size = n - before
        d.old = d.sum_before[arm, side] / before
        d.new = (d.sum[arm] - d.sum_before[arm, side]) / d.size
        return True
