"""What a client gets: decisions and errors."""

from dataclasses import dataclass
from typing import Any, NamedTuple


class ServiceError(Exception):
    """Raised if the service refuses a request, or cannot be reached in time.

    Parameters
    ----------
    message
        What is wrong, and what to do.
    status
        The HTTP status; None if there was no answer.
    kind
        The kind of the problem, such as "not-found"; None if there was no answer.
    """

    def __init__(self, message: str, status: int | None = None, kind: str | None = None) -> None:
        super().__init__(message)
        self.status, self.kind = status, kind


class RewardResult(NamedTuple):
    """What became of one of several rewards."""

    token: str | None
    """The token of its decision; None of a fallback, whose reward is not sent."""
    is_taken: bool
    """Whether the service has taken it, now or when it came before."""
    error: ServiceError | None = None
    """Why the service refuses it, with `status` and `kind`."""


@dataclass(frozen=True)
class ServedDecision:
    """An arm to use, and the token under which to report its reward."""

    arm: str | int
    """The label of the arm."""
    token: str | None
    """The token; None if this is a fallback, whose reward nobody can learn from."""
    payload: Any = None
    """What the arm hands back."""
    probability: float | None = None
    """The probability with which the arm was chosen; None if the bandit has no floors."""
    why: str | None = None
    """Why it was chosen, if you asked for that."""
    segment: str | None = None
    """The segment whose bandit decided; None if the one that all others share did."""
    held_out: bool | None = None
    """Whether the unit is one of the holdout; None if the bandit has no holdout."""

    @property
    def is_fallback(self) -> bool:
        """Whether the service did not answer, and this is the arm to use in that case."""
        return self.token is None
