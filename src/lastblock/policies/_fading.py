"""Rewards that weigh less with every pull: discounted counts and sums of the arms."""

from lastblock.core.protocol import Record
from lastblock.kernels.jit import kernel

FORGOTTEN = 1e-200
"""An arm whose discounted count is below this counts as one without a reward."""


@kernel
def forget_all(s: Record) -> None:
    """Start without rewards."""
    for k in range(s.counts.shape[0]):
        s.counts[k] = 0.0
        s.sums[k] = 0.0


@kernel
def fade_and_add(s: Record, arm: int, reward: float, discount: float) -> None:
    """Let all that is remembered weigh `discount` times as much, and add a reward of weight 1."""
    for k in range(s.arms):
        s.counts[k] *= discount
        s.sums[k] *= discount
        if s.counts[k] < FORGOTTEN:
            s.counts[k] = 0.0
            s.sums[k] = 0.0
    s.counts[arm] += 1.0
    s.sums[arm] += reward


def check_discount(name: str, discount: float) -> None:
    """Raise a ValueError unless γ is above 0 and at most 1."""
    if not 0.0 < discount <= 1.0:
        raise ValueError(f"{name}: discount={discount} must be above 0 and at most 1")
