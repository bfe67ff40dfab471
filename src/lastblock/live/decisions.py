"""The decisions that a live bandit hands out, and their ids."""

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any, Generic, NamedTuple

from lastblock.live.labels import L
from lastblock.live.tokens import BanditTokens, no_tokens
from lastblock.support.errors import UnknownDecisionError, short
from lastblock.support.json_safe import json_fields


@dataclass(slots=True)
class Decision(Generic[L]):
    """An arm to pull, and the id under which to report its reward; `Bandit.ask` returns it.

    A decision cannot be hashed; to keep decisions in a dictionary, use their `id` as the key.

    Parameters
    ----------
    arm
        The label of the arm to pull.
    id
        The id of the decision: a whole number, which `Bandit.tell` also takes.
    probability
        The probability with which the arm was chosen; None if the bandit has no traffic floors.
    """

    # Neither a named tuple nor frozen: making and reading those takes 10 % of ask and tell. And
    # since it can change, it must not be hashed: a dictionary would no longer find it.

    arm: L
    id: int
    probability: float | None = None

    def __iter__(self) -> Iterator[Any]:
        return iter((self.arm, self.id, self.probability))

    @property
    def time(self) -> datetime | None:
        """When it was asked for, in UTC; None outside a store."""
        return None

    @property
    def token(self) -> str:
        """A short text, fit for URLs, that any process can `tell`; only in a store."""
        raise no_tokens()

    def to_dict(self) -> dict[str, object]:
        """Return the decision as values for JSON; in a store, with its time and its token."""
        return json_fields(self)


class StoredDecision(Decision[L]):
    """A decision of a bandit in a store, which has a time and a token.

    Parameters
    ----------
    arm, id, probability
        As in `Decision`.
    microseconds
        When it was asked for, in microseconds since 1970.
    origin
        Its token, or what makes it: most decisions are told without one, and it takes microseconds.
    """

    __slots__ = ("microseconds", "origin")

    def __init__(
        self,
        arm: L,
        id: int,
        probability: float | None,
        microseconds: int,
        origin: BanditTokens | str,
    ) -> None:
        self.arm, self.id, self.probability = arm, id, probability
        self.microseconds, self.origin = microseconds, origin

    @property
    def time(self) -> datetime:
        """When it was asked for, in UTC."""
        return utc(self.microseconds)

    @property
    def token(self) -> str:
        """A short text, fit for URLs, that any process can `tell`."""
        if not isinstance(self.origin, str):
            self.origin = self.origin.make(self.id)
        return self.origin

    def to_dict(self) -> dict[str, object]:
        """Return the decision as values for JSON."""
        return {**json_fields(self), "time": self.time.isoformat(), "token": self.token}

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Decision) and tuple(self) == tuple(other)

    __hash__ = None  # type: ignore[assignment]  # as for every decision

    def __repr__(self) -> str:
        return f"Decision(arm={self.arm!r}, id={self.id!r}, probability={self.probability!r})"

    def __reduce__(self) -> tuple[Any, ...]:  # without the secret that makes tokens
        values = (self.arm, self.id, self.probability, self.microseconds, self.token)
        return StoredDecision, values


_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


def utc(microseconds: int) -> datetime:
    """Return a time, given in microseconds since 1970."""
    return _EPOCH + timedelta(microseconds=microseconds)


class Pending(NamedTuple, Generic[L]):
    """A decision that waits for its reward; `Bandit.pending` lists them."""

    arm: L
    """The label of the arm to pull."""
    id: int
    """The id of the decision, which `Bandit.tell` and `Bandit.forget` take."""
    probability: float | None
    """The probability with which the arm was chosen; None if the bandit has no traffic floors."""
    age: int
    """How many decisions have been asked for since."""
    time: datetime | None = None
    """When it was asked for, or activated, in UTC; None outside a store."""

    def to_dict(self) -> dict[str, object]:
        """Return the decision as values for JSON."""
        return json_fields(self)


def never_asked(id: object) -> UnknownDecisionError:
    """Return the error for an id that no decision has."""
    return UnknownDecisionError(
        f"decision {short(id)} was never asked for; tell what ask() returned"
    )


def was_lost(id: int) -> UnknownDecisionError:
    """Return the error for an id that was perhaps given, and is in no log."""
    return UnknownDecisionError(
        f"decision {id} was lost: a crash came before it was written, or the database went back to "
        "a state without it; drop its reward"
    )


def no_context() -> TypeError:
    """Return the error for a call that gives a context."""
    return TypeError(
        "ask() takes no context: lastblock's bandits learn from rewards alone. For a few segments, "
        "keep a bandit for each (a name in a Store, an id in a Fleet); for many features use a "
        "contextual library, such as Vowpal Wabbit"
    )
