"""Rewards that weigh less with every pull: discounted counts and sums of the arms."""

from lastblock.kit import Record, kernel

FORGOTTEN = 1e-200
"""An arm whose discounted count is below this counts as one without a reward."""


@kernel
def fade_and_add(s: Record, arm: int, reward: float, discount: float) -> None:
    """Let all that is remembered weigh `discount` times as much, and add a reward of weight 1."""
    for k in range(s.arms):
        s.pulls[k] *= discount
        s.sums[k] *= discount
        if s.pulls[k] < FORGOTTEN:
            s.pulls[k] = 0.0
            s.sums[k] = 0.0
    s.pulls[arm] += 1.0
    s.sums[arm] += reward
