"""EXP3 and EXP3.S (Auer, Cesa-Bianchi, Freund & Schapire, 2002), Rexp3 (Besbes & al., 2014).

Rewards lie in [0, 1]; one outside counts as the nearer end. The reward of an arm is divided by the
probability with which the arm was last chosen.
"""

import math
from typing import Any, NamedTuple

import numpy as np

from lastblock.bounded import clipped
from lastblock.jit import kernel
from lastblock.protocol import Layout, Record, policy
from lastblock.random import uniform
from lastblock.state import INDEX, enqueue
from lastblock.tunings import (
    exp3_exploration,
    exp3s_exploration,
    exp3s_sharing,
    rexp3_batch,
)

HIGH = 500.0
"""The largest logarithm of a weight before all of them are shifted."""

LARGE = 2.0**300
"""The weights of EXP3.S are scaled when the largest of them is above this, or below its inverse."""

STEEPEST = 200.0
"""The largest change of the logarithm of a weight of EXP3.S; with rewards in [0, 1] it is 1."""

SMALLEST_ALPHA = 1e-100
"""No weight of EXP3.S falls below eα/K of the total, so with this none vanishes."""


@kernel
def mix_chances(s: Record, gamma: float) -> None:
    """p_k = (1 − γ) w_k / Σ w + γ / K."""
    total = 0.0
    for k in range(s.arms):
        total += s.weight[k]
    share = (1.0 - gamma) / total
    least = gamma / s.arms
    for k in range(s.arms):
        s.chance[k] = share * s.weight[k] + least


@kernel
def draw_arm(s: Record) -> Any:
    """An arm from the probabilities; its own is remembered until its reward comes."""
    u = uniform(s.stream)
    arm: Any = INDEX(0)
    below = s.chance[0]
    while u >= below and arm + 1 < s.arms:
        arm = INDEX(arm + 1)
        below += s.chance[arm]
    s.chosen_with[arm] = s.chance[arm]
    return arm


@kernel
def expect_any(s: Record) -> None:
    """Until an arm is drawn for the first time, its rewards count as drawn with probability 1/K.

    Such rewards come of decisions that were not the policy's: of a traffic floor.
    """
    for k in range(s.arms):
        s.chosen_with[k] = 1.0 / s.arms


def enter(s: Record, arm: int) -> None:
    """Give a new arm the mean weight of the others, hence a share of 1/K; it is pulled for sure."""
    s.weight[arm] = s.weight[:arm].mean()
    s.chosen_with[arm] = 1.0


@kernel
def forget_weights(s: Record) -> None:
    """All weights 1."""
    for k in range(s.weight.shape[0]):
        s.log_weight[k] = 0.0
        s.weight[k] = 1.0


@kernel
def reinforce(s: Record, arm: int, reward: float, gamma: float) -> None:
    """w_k ← w_k exp(γ x̂ / K), x̂ = x / p_k.

    The logarithm is what counts; it never overflows. Of the weights themselves, those far below the
    largest one may vanish for a while, where γ/K hides them.
    """
    s.log_weight[arm] += gamma * clipped(reward) / (s.chosen_with[arm] * s.arms)
    if s.log_weight[arm] <= HIGH:
        s.weight[arm] = math.exp(s.log_weight[arm])
    else:
        top = s.log_weight[arm]  # the only one that can be so high
        for k in range(s.arms):
            s.log_weight[k] -= top
            s.weight[k] = math.exp(s.log_weight[k])


def resize_weights(s: Record, before: Record, arm: int) -> None:
    """After arms came or went: make the largest weight 1, since the largest may have gone."""
    s.log_weight[: s.arms] -= s.log_weight[: min(s.arms, before.arms)].max()
    s.weight[: s.arms] = np.exp(s.log_weight[: s.arms])
    if s.arms > before.arms:
        enter(s, arm)
        s.log_weight[arm] = math.log(s.weight[arm])


def check_gamma(name: str, gamma: float) -> None:
    """Raise a ValueError unless γ lies in (0, 1]."""
    if not 0.0 < gamma <= 1.0:
        raise ValueError(f"{name}: gamma={gamma} must lie in (0, 1]")


@policy()
class EXP3(NamedTuple):
    """Exponential weights on importance-weighted rewards, mixed with uniform exploration.

    For rewards in [0, 1] that an adversary may choose.

    Parameters
    ----------
    gamma
        γ, the share of uniform exploration, in (0, 1].

    Examples
    --------
    >>> import lastblock as lb
    >>> round(lb.EXP3.tuned(horizon=10_000, arms=3).gamma, 4)
    0.0138

    References
    ----------
    Auer, Cesa-Bianchi, Freund & Schapire. The nonstochastic multiarmed bandit problem. SIAM Journal
    on Computing, 2002.
    """

    gamma: float

    @classmethod
    def tuned(cls, *, horizon: int, arms: int) -> "EXP3":
        """The γ of corollary 3.2, with the horizon as the bound of the best arm's sum."""
        return cls(exp3_exploration(horizon=horizon, arms=arms))

    @classmethod
    def examples(cls) -> "tuple[EXP3, ...]":
        return cls(gamma=0.1), cls(gamma=1.0)

    def validate(self) -> None:
        check_gamma("EXP3", self.gamma)

    def layout(self, arms: int, horizon: int | None) -> Layout:
        return [
            ("weight", np.float64, (arms,)),
            ("log_weight", np.float64, (arms,)),
            ("chance", np.float64, (arms,)),
            ("chosen_with", np.float64, (arms,)),
        ]

    def start(self, s: Record) -> None:
        forget_weights(s)
        expect_any(s)
        self.plan(s)

    def plan(self, s: Record) -> None:
        mix_chances(s, self.gamma)
        enqueue(s, draw_arm(s))

    def observe(self, s: Record, arm: int, reward: float) -> None:
        reinforce(s, arm, reward, self.gamma)

    def resized(self, s: Record, before: Record, arm: int) -> None:
        resize_weights(s, before, arm)


@policy()
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

    gamma: float
    batch: int

    @classmethod
    def tuned(
        cls, *, horizon: int, changes: int, arms: int, variation: float | None = None
    ) -> "REXP3":
        """Δ = ⌈(K log K)^⅓ (T / V)^⅔⌉ and the γ of EXP3 for Δ ≥ 2 steps, theorem 2 of the paper.

        V, the total variation of the means, is at most Γ for rewards in [0, 1]; give `variation`
        if you know better.
        """
        batch = rexp3_batch(horizon=horizon, changes=changes, arms=arms, variation=variation)
        return cls(exp3_exploration(horizon=max(2, batch), arms=arms), batch)

    @classmethod
    def examples(cls) -> "tuple[REXP3, ...]":
        return cls(gamma=0.2, batch=30), cls(gamma=0.1, batch=1)

    def validate(self) -> None:
        check_gamma("REXP3", self.gamma)
        if self.batch < 1:
            raise ValueError(f"REXP3: batch={self.batch} must be at least 1 pull")

    def layout(self, arms: int, horizon: int | None) -> Layout:
        return [
            ("left", np.int64),  # pulls of this batch that are still to come
            ("weight", np.float64, (arms,)),
            ("log_weight", np.float64, (arms,)),
            ("chance", np.float64, (arms,)),
            ("chosen_with", np.float64, (arms,)),
        ]

    def start(self, s: Record) -> None:
        s.left = 0
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


@policy()
class EXP3S(NamedTuple):
    """EXP3 whose weights share: each gets a little of the total, so that none is lost for good.

    Parameters
    ----------
    gamma
        γ, the share of uniform exploration, in (0, 1].
    alpha
        α, how much is shared, in (0, 1]; without sharing it is `EXP3`.
    reference
        As in the authors' code of the LB-SDA experiments: choose one step late, by the weights
        before the last reward, divide a reward by the probability for the next step, and take
        rewards outside [0, 1] as they are.

    Examples
    --------
    >>> import lastblock as lb
    >>> round(lb.EXP3S.tuned(horizon=10_000, changes=2, arms=3).gamma, 4)
    0.0766

    References
    ----------
    Auer, Cesa-Bianchi, Freund & Schapire. The nonstochastic multiarmed bandit problem. SIAM Journal
    on Computing, 2002.
    """

    gamma: float
    alpha: float
    reference: bool = False

    @classmethod
    def tuned(cls, *, horizon: int, changes: int, arms: int, reference: bool = False) -> "EXP3S":
        """α = 1/T and the γ of corollary 8.3; Γ changes are Γ + 1 phases."""
        gamma = exp3s_exploration(horizon=horizon, changes=changes, arms=arms)
        return cls(gamma, exp3s_sharing(horizon=horizon), reference)

    @classmethod
    def examples(cls) -> "tuple[EXP3S, ...]":
        return cls(gamma=0.1, alpha=0.01), cls(gamma=0.2, alpha=0.001, reference=True)

    def validate(self) -> None:
        check_gamma("EXP3S", self.gamma)
        if not SMALLEST_ALPHA <= self.alpha <= 1.0:
            raise ValueError(
                f"EXP3S: alpha={self.alpha} must lie between {SMALLEST_ALPHA:g} and 1; "
                "without sharing it is EXP3"
            )

    def layout(self, arms: int, horizon: int | None) -> Layout:
        return [
            ("weight", np.float64, (arms,)),
            ("chance", np.float64, (arms,)),
            ("chosen_with", np.float64, (arms,)),
        ]

    def start(self, s: Record) -> None:
        for k in range(s.weight.shape[0]):
            s.weight[k] = 1.0
        mix_chances(s, self.gamma)
        expect_any(s)
        enqueue(s, draw_arm(s))

    def plan(self, s: Record) -> None:
        if not self.reference:
            mix_chances(s, self.gamma)
        enqueue(s, draw_arm(s))

    def observe(self, s: Record, arm: int, reward: float) -> None:
        if self.reference:
            mix_chances(s, self.gamma)
            estimate = reward / s.chance[arm]
        else:
            estimate = clipped(reward) / s.chosen_with[arm]
        total = 0.0
        for k in range(s.arms):
            total += s.weight[k]
        # w_k ← w_k exp(γ x̂ / K) + (e α / K) Σ w
        growth = self.gamma * estimate / s.arms
        s.weight[arm] *= math.exp(max(-STEEPEST, min(growth, STEEPEST)))
        gift = math.e * self.alpha / s.arms * total
        largest = 0.0
        for k in range(s.arms):
            s.weight[k] += gift
            largest = max(largest, s.weight[k])
        if largest > LARGE or largest < 1.0 / LARGE:
            # By a power of two, which rounds nothing.
            _, exponent = math.frexp(largest)
            for k in range(s.arms):
                s.weight[k] = math.ldexp(s.weight[k], -exponent)

    def resized(self, s: Record, before: Record, arm: int) -> None:
        if s.arms > before.arms:
            enter(s, arm)
