"""R-BOCPD: restarted Bayesian online change-point detection (Alami, Maillard & Féraud, 2020).

A forecaster that begins with some reward predicts each later coin by Laplace's rule: (heads + 1) /
(coins + 2). The probability that it gives to n coins with k heads is then k! (n − k)! / (n + 1)!,
so that no forecaster needs to be kept: the sums of the test GLR, at the same splits, are enough.
"""

import math
from typing import NamedTuple

from lastblock.core.parameters import Discount
from lastblock.core.protocol import Layout, Record
from lastblock.core.registry import detector
from lastblock.detectors.glr import (
    GRAIN,
    RUNGS,
    append,
    forget_arm,
    is_split,
    note_split,
    split_fields,
)
from lastblock.kernels.divergences import BERNOULLI
from lastblock.kernels.jit import kernel, routine
from lastblock.kernels.samplers import log_factorial


@kernel
def log_evidence(n: int, heads: float) -> float:
    """Return the logarithm of the probability that Laplace's rule gives to n coins."""
    return log_factorial(heads) + log_factorial(n - heads) - log_factorial(n + 1.0)


@kernel
def is_later(n: int, total: float, at: int, head: float, whole: float, least: float) -> bool:
    """Return whether the forecaster that begins after the split weighs more than the first one.

    `whole` is the first one's log evidence, and `least` the logarithm of 1/η. The likelihood ratio
    is never less than the ratio of evidences over n + 1, and rules out nearly every split.
    """
    if not is_split(BERNOULLI, 1.0, n, total, at, head, least - math.log(n + 1.0)):
        return False
    parts = log_evidence(at, head) + log_evidence(n - at, total - head)
    return bool(parts - whole > least)


@routine
def begins_again(d: Record, arm: int, delta: float) -> bool:
    """Return whether a later forecaster of `arm` weighs more than the first one, and note which."""
    n = d.pulls[arm]
    total = d.sums[arm] + d.error[arm]
    whole = log_evidence(n, total)
    least = math.log(n / delta)
    # The splits nearer to the start, forwards from the start …
    at = 1
    j = 0
    while 2 * at <= n and j <= d.rung[arm]:
        head = d.first[arm, GRAIN * j + (at >> j)]
        if is_later(n, total, at, head, whole, least):
            return note_split(d, at, head, n, total)
        at += 1 << j
        if at >> j == 2 * GRAIN:
            j += 1
    # … and the splits nearer to the end, backwards from the end.
    for j in range(RUNGS):
        nearest = 1 if j == 0 else GRAIN << j
        if 2 * nearest >= n:
            break
        multiple = (n - nearest) >> j
        at = multiple << j
        while n - at < (2 * GRAIN) << j and 2 * (n - at) < n:
            head = d.recent[arm, j, multiple & (2 * GRAIN - 1)]
            if is_later(n, total, at, head, whole, least):
                return note_split(d, at, head, n, total)
            multiple -= 1
            at -= 1 << j
    return False


@detector(support="unit")
class RBOCPD(NamedTuple):
    """A Bayesian test of coins: does a forecast that begins later explain the rewards better?

    It knows nothing but that rewards lie in [0, 1]. `Restarting(UCB1(), RBOCPD())` is an
    R-BOCPD-UCB.

    Parameters
    ----------
    delta
        δ in the weight η = δ / n of a forecaster that begins later, for n rewards of the arm: the
        smaller, the fewer false alarms.

    Examples
    --------
    >>> import lastblock as lb
    >>> lb.Restarting(lb.UCB1(), lb.RBOCPD()).detector
    RBOCPD(delta=0.01)

    References
    ----------
    Alami, Maillard & Féraud. Restarted Bayesian Online Change-point Detector achieves Optimal
    Detection Delay. ICML 2020. In bandits: Alami. Bayesian Change-Point Detection for Bandit
    Feedback in Non-stationary Environments. ACML 2022.
    """

    delta: Discount = 0.01

    def layout(self, arms: int) -> Layout:
        return split_fields(arms)

    def reset(self, d: Record) -> None:
        d.size = 0
        d.old = 0.0
        d.new = 0.0
        for k in range(d.pulls.shape[0]):
            forget_arm(d, k)

    def notice(self, d: Record, arm: int, reward: float, age: int) -> bool:
        append(d, arm, reward)
        return begins_again(d, arm, self.delta)
