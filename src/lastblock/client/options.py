"""The keyword arguments that both clients pass on, and checks of what a user gives them."""

import math
from collections.abc import Collection, Iterable, Mapping
from typing import Any, Literal, TypeAlias, TypedDict

from lastblock.support.errors import short
from lastblock.support.lists import refuse_unordered
from lastblock.support.spelling import advice

Label: TypeAlias = str | int


class DecideOptions(TypedDict, total=False):
    """What a request for decisions may have, by the names of the HTTP API."""

    among: Collection[Label] | None
    """The arms that may be chosen."""
    without: Collection[Label] | None
    """Arms that may not be chosen."""
    segment: str | None
    """Who is asking, as one word."""
    unit: str | None
    """Whom the decision is for: for the holdout."""
    distinct: bool
    """Whether several decisions must be for different arms."""


class CreateOptions(TypedDict, total=False):
    """What a new bandit may have, by the names of the HTTP API."""

    policy: str | Mapping[str, Any]
    """The name of a policy, or a dictionary with its parameters."""
    floor: float | Mapping[str, float] | None
    """The least share of decisions, of every arm or by label."""
    seed: int | None
    """Where its random numbers begin."""
    room: int | None
    """For how many arms there is room at the beginning."""
    description: str
    """What it is for, in words."""
    reward_window: float | None
    """Seconds after which a decision waits no longer for its reward."""
    default_reward: float | None
    """The reward of a decision without another one at the end of the window; the policy learns all
    rewards then. With None it learns rewards at once, and decisions without one are forgotten."""
    aggregation: Literal["first", "sum", "max", "last"] | None
    """Which of several rewards of a decision counts; None if it has one."""
    segments: int | None
    """How many segments may have a bandit of their own."""
    alert_after: float | None
    """Seconds without a reward after which there is an alert."""
    holdout: Mapping[str, Any] | None
    """``share`` and ``control``."""
    guardrail: Mapping[str, Any] | None
    """``control``, ``worse``, and perhaps ``metric`` and ``confidence``."""


DECIDE = ("n", "fallback", "key", "why", *DecideOptions.__annotations__)
CREATE = tuple(CreateOptions.__annotations__)
"""The names of what `decide` and `create` take besides their first arguments."""


_NO_CONTEXT = "there is no context but a segment: give segment='de-mobile', say"


def check_names(method: str, given: Iterable[str], known: Collection[str]) -> None:
    """Raise a TypeError for a keyword argument that a method does not have."""
    for name in given:
        if name not in known:
            hint = _NO_CONTEXT if name == "context" else advice(name, known)
            raise TypeError(f"{method} has no parameter {name!r}; {hint}")


def decide_fields(options: Mapping[str, Any], fallback: Label | None) -> dict[str, Any]:
    """Return the fields of a request for decisions, or raise an error for a mistake in them."""
    check_names("decide", options, DECIDE)
    fields = {name: value for name, value in options.items() if value is not None}
    for name in ("among", "without"):
        if name in fields:
            fields[name] = _labels(fields[name], name)
    _check_fallback(fallback, fields)
    return fields


def create_fields(arms: Any, options: Mapping[str, Any]) -> dict[str, Any]:
    """Return the fields of a new bandit, or raise an error for a mistake in them."""
    check_names("create", options, CREATE)
    refuse_unordered(arms, "arms")
    for name, value in options.items():
        if isinstance(value, float):
            finite(value, name, "leave it out")
    return {"arms": _labels(arms, "arms"), **options}


def _labels(value: Any, name: str) -> list[Any]:
    if isinstance(value, str | bytes) or not isinstance(value, Iterable):
        raise ValueError(f"{name}={short(value)}: give a list of labels")
    return list(value)


def _check_fallback(fallback: Label | None, fields: Mapping[str, Any]) -> None:
    """Raise a ValueError for a fallback that the caller does not allow."""
    if fallback is None:
        return
    if fallback in fields.get("without", ()):
        raise ValueError(f"fallback={fallback!r} is one of `without`; give an arm that is not")
    if "among" in fields and fallback not in fields["among"]:
        raise ValueError(f"fallback={fallback!r} is not one of `among`; give an arm that is")


def finite(value: Any, name: str, instead: str) -> float:
    """Return a finite number as a float, or raise a ValueError.

    Parameters
    ----------
    value
        What the user gave.
    name
        What it is called.
    instead
        What to do if it is NaN or infinite.
    """
    if isinstance(value, str | bytes):
        raise ValueError(f"{name}={short(value)} is text; give a number")
    try:
        number = float(value)
    except (TypeError, ValueError, OverflowError):
        raise ValueError(
            f"{name}={short(value)} is not a number that fits a float; give a finite number"
        ) from None
    if not math.isfinite(number):
        raise ValueError(f"{name}={short(value)} must be finite; {instead}")
    return number
