"""Rexp3 (Besbes, Gur & Zeevi, 2014)."""

from typing import Annotated, NamedTuple

import numpy as np
import numpy.typing as npt

from lastblock.kit import COUNT, Discount, Layout, Range, Record, enqueue, plain, policy
from lastblock.policies._exponential_weights import (
    draw_arm,
    expect_any,
    forget_weights,
    mix_chances,
    reinforce,
    resize_weights,
)
from lastblock.theory.tunings import exp3_exploration, rexp3_batch


@policy(support="unit", examples=[{"gamma": 0.2, "batch": 30}, {"gamma": 0.1, "batch": 1}])
class REXP3(NamedTuple):
    """EXP3 that starts again every `batch` pulls.

    Parameters
    ----------
    gamma
        γ, the share of uniform exploration, in (0, 1].
    batch
        Δ, the number of pulls between two starts.

    Examples
    --------
    >>> import lastblock as lb
    >>> lb.REXP3.tuned(horizon=10_000, changes=2, arms=3).batch
    436

    References
    ----------
    Besbes, Gur & Zeevi. Stochastic multi-armed-bandit problem with non-stationary rewards. NIPS
    2014.
    """

    gamma: Discount
    batch: Annotated[int, Range(1, unit="pull")]

    @classmethod
    def tuned(
        cls, *, horizon: int, changes: int, arms: int, variation: float | None = None
    ) -> "REXP3":
        """Return the policy with Δ = ⌈(K log K)^⅓ (T / V)^⅔⌉ ≥ 2 and the γ of EXP3 for Δ steps.

        This is theorem 2 of the paper. V, the total variation of the means, is taken as Γ, which
        bounds it for rewards in [0, 1]; give `variation` if you know it.
        """
        batch = rexp3_batch(horizon=horizon, changes=changes, arms=arms, variation=variation)
        return cls(exp3_exploration(horizon=max(2, batch), arms=arms), batch)

    def layout(self, arms: int, horizon: int | None) -> Layout:
        return [
            ("left", COUNT),  # pulls of this batch that are still to come
            ("weight", np.float64, (arms,)),
            ("log_weight", np.float64, (arms,)),
            ("chance", np.float64, (arms,)),
            ("chosen_with", np.float64, (arms,)),
        ]

    def start(self, s: Record) -> None:
        expect_any(s)
        self.plan(s)

    def plan(self, s: Record) -> None:
        if s.left == 0:
            s.left = self.batch
            forget_weights(s)
        s.left -= 1
        mix_chances(s, self.gamma)
        enqueue(s, draw_arm(s))

    def observe(self, s: Record, arm: int, reward: float) -> None:
        reinforce(s, arm, reward, self.gamma)

    def resized(self, s: Record, before: Record, arm: int) -> None:
        resize_weights(s, before, arm)

    def replanned(self, s: Record, planned: Record, kept: npt.NDArray[np.int64]) -> None:
        if s.left == self.batch - 1:  # a batch has begun, for the other arms as well
            plain(forget_weights)(s)
