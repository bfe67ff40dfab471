"""What EXP3, EXP3.S and Rexp3 share: chances from weights, and weights from rewards."""

import math
from typing import Any

import numpy as np

from lastblock.kit import INDEX, Record, clipped, kernel, uniform

HIGH = 500.0
"""The largest logarithm of a weight before all of them are shifted."""


@kernel
def mix_chances(s: Record, gamma: float) -> None:
    """Compute the probability of each arm, p_k = (1 − γ) w_k / Σ w + γ / K."""
    total = 0.0
    for k in range(s.arms):
        total += s.weight[k]
    share = (1.0 - gamma) / total
    least = gamma / s.arms
    for k in range(s.arms):
        s.chance[k] = share * s.weight[k] + least


@kernel
def draw_arm(s: Record) -> Any:
    """Draw an arm by the probabilities, and note its own for when its reward comes."""
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
    """Note for every arm the probability 1/K, which counts until the arm is drawn.

    Rewards may come before that, from the decisions of a traffic floor.
    """
    for k in range(s.arms):
        s.chosen_with[k] = 1.0 / s.arms


def enter(s: Record, arm: int) -> None:
    """Give a new arm the mean weight of the others, hence a share of 1/K.

    It is pulled with certainty, so its noted probability is 1.
    """
    s.weight[arm] = s.weight[:arm].mean()
    s.chosen_with[arm] = 1.0


@kernel
def forget_weights(s: Record) -> None:
    """Set all weights to 1."""
    for k in range(s.weight.shape[0]):
        s.log_weight[k] = 0.0
        s.weight[k] = 1.0


@kernel
def reinforce(s: Record, arm: int, reward: float, gamma: float) -> None:
    """Update the weight of an arm by its reward: w_k ← w_k exp(γ x̂ / K), where x̂ = x / p_k.

    Logarithms of weights are kept, because they never overflow. A weight far below the largest one
    may become 0 for a while, where γ/K exceeds its share anyway. The reward is clipped to [0, 1],
    because stores may hold events from before other rewards were refused.
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
    """After an arm came or went, make the largest weight 1 again."""
    s.log_weight[: s.arms] -= s.log_weight[: min(s.arms, before.arms)].max()
    s.weight[: s.arms] = np.exp(s.log_weight[: s.arms])
    if s.arms > before.arms:
        enter(s, arm)
        s.log_weight[arm] = math.log(s.weight[arm])
