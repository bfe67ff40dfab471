"""Check the rewards that users give."""

from typing import Any

from lastblock.core.protocol import Policy
from lastblock.core.support import refusal
from lastblock.kernels.exact_sums import LARGEST_REWARD
from lastblock.support.errors import short

FORGET = "to drop the decision, forget it"
LEAVE_OUT = "leave it out"
"""What to do about a reward that nobody knows: of a decision, and of an observation."""


def refused(reward: Any, value: float, policy: Policy, advice: str = FORGET) -> ValueError:
    """Return the error for a reward that a bandit does not take.

    Parameters
    ----------
    reward, value
        What the user gave, and the same as a float.
    policy
        The policy, which may take some rewards only.
    advice
        What to do instead if the reward is not finite.
    """
    if -LARGEST_REWARD < value < LARGEST_REWARD:
        return refusal(policy, f"reward={short(reward)}")
    return ValueError(  # it may also be NaN
        f"reward={short(reward)} must be finite and below {LARGEST_REWARD:g} in size; {advice}"
    )


def as_float(reward: Any) -> float:
    """Return a number as a float, or raise a ValueError."""
    if isinstance(reward, str | bytes):
        raise ValueError(f"reward={short(reward)} is text; give a number")
    try:
        return float(reward) + 0.0  # turns −0.0 into 0.0, so that equal rewards have equal bytes
    except (TypeError, ValueError, OverflowError):
        raise ValueError(
            f"reward={short(reward)} is not a number that fits a float; give a finite number"
        ) from None
