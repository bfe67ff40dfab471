"""Several rewards of one decision become one number, which the policy is told."""

from typing import Any, Literal, NamedTuple, TypeAlias, get_args

from lastblock.support.errors import short

Rewards: TypeAlias = Literal["first", "sum", "max", "last"]
RULES = get_args(Rewards)


class Collected(NamedTuple):
    """The rewards of a decision so far."""

    number: int
    value: float
    """The number that the policy would be told now."""


def check_rule(rewards: Any) -> Rewards | None:
    """Return how a bandit collects rewards, or raise a ValueError."""
    if rewards is None:
        return None
    for rule in RULES:
        if isinstance(rewards, str) and rewards == rule:
            found: Rewards = rule
            return found
    words = ", ".join(map(repr, RULES))
    raise ValueError(f"rewards={short(rewards)} must be one of {words}, or None for one reward")


def combined(rule: Rewards, before: Collected | None, reward: float) -> Collected:
    """Return the rewards of a decision after one more.

    Parameters
    ----------
    rule
        "first": the first one counts; "sum", "max" or "last" of all.
    before
        What has been collected; None before the first reward.
    reward
        One more.
    """
    if before is None:
        return Collected(1, reward)
    value = before.value
    if rule == "sum":
        value += reward
    elif rule == "max":
        value = max(value, reward)
    elif rule == "last":
        value = reward
    return Collected(before.number + 1, value)
