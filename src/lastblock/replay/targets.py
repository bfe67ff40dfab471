"""Target policies of weighted estimates: their probabilities, where they can be followed."""

from collections.abc import Mapping
from typing import Any, Final, Literal, NamedTuple, TypeAlias

import numpy as np
import numpy.typing as npt

from lastblock.core.registry import POLICIES
from lastblock.live.labels import Label
from lastblock.replay.choices import Choices
from lastblock.replay.logs import Log
from lastblock.replay.propensities import check_probabilities
from lastblock.support.checks import number

Absent: TypeAlias = Literal["skip", "renormalise"]
SKIP: Final = "skip"
RENORMALISE: Final = "renormalise"

_NAMED = 8  # the number of arms that a message lists


class Followed(NamedTuple):
    """A target on a log: the events that count, and its probability of their arms."""

    chances: npt.NDArray[np.float64]
    """The probability of the logged arm, for each event that counts."""
    counted: npt.NDArray[np.bool_] | None
    """The events that count; None if all do."""
    left_out: str
    """Why the others do not, in words."""


def follow(log: Log, target: Any, absent: Absent | None) -> Followed:
    """Return what a target does in each event; `Replay.estimate` explains the parameters.

    Raises
    ------
    ValueError
        If the target is not made of probabilities of the log's arms, or takes arms of which the log
        says nothing.
    """
    if absent not in (None, SKIP, RENORMALISE):
        raise ValueError(f"absent={absent!r} must be {SKIP!r} or {RENORMALISE!r}")
    table = _probabilities(log, target)
    known = log.choices
    if known is None:
        followed = Followed(_of_logged(table, log), None, "")
    else:
        _check_known(table, log, known)
        if absent == RENORMALISE:
            followed = _renormalised(table, log, known)
        else:
            followed = _where_possible(table, log, known, absent)
    _check_seen(table, log, followed.counted)
    return followed


def some_arms(labels: tuple[Label, ...]) -> str:
    """Return labels as a list, for a message."""
    listed = list(labels[:_NAMED])
    return f"{listed}" if len(labels) <= _NAMED else f"{listed[:-1]} …"


def _probabilities(log: Log, target: Any) -> npt.NDArray[np.float64]:
    """Return the probability of each arm, (K,), or of each arm in each event, (events, K)."""
    k = len(log.labels)
    if POLICIES.get(type(target).__name__) is type(target):
        raise ValueError(
            f"target={target} is a policy that learns; use evaluate(), or give the probability of "
            "each arm"
        )
    if isinstance(target, str | int | np.integer):
        table = np.zeros(k)
        table[_number(log, target)] = 1.0
    elif isinstance(target, Mapping):
        table = np.zeros(k)
        for label, chance in target.items():
            table[_number(log, label)] = number(chance, f"target: {label!r}")
        table = check_probabilities(table, "target", table.shape)
    else:
        table = check_probabilities(target, "target", (k,), (log.size, k))
    sums = np.atleast_1d(table.sum(axis=-1))
    row = int(np.argmax(np.abs(sums - 1.0)))
    if abs(sums[row] - 1.0) > 1e-6:
        where = f" in row {row}" if table.ndim == 2 else ""
        raise ValueError(
            f"target: the probabilities{where} add up to {sums[row]:.7g}; make them add up to 1"
        )
    return table if table.ndim == 1 else table[log.rows]


def _of_logged(table: npt.NDArray[np.float64], log: Log) -> npt.NDArray[np.float64]:
    chances = table[log.arms] if table.ndim == 1 else table[np.arange(log.arms.size), log.arms]
    return np.asarray(chances)


def _where_possible(
    table: npt.NDArray[np.float64], log: Log, known: Choices, absent: Absent | None
) -> Followed:
    """Count the events in which every arm that the target takes could be chosen."""
    takes = table > 0.0
    if table.ndim == 1:
        possible = known.where(np.asarray((known.sets | ~takes).all(axis=1)))
        taken = tuple(log.labels[arm] for arm in np.flatnonzero(takes))
        reason = f"{_all_of(taken)} could not be chosen"
    else:
        lacking = takes & ~known.sets_of_events()
        possible = np.asarray(~lacking.any(axis=1))
        reason = "an arm that the target takes could not be chosen"
        if absent is None and not possible.all():
            event = int(np.argmin(possible))
            arm = log.labels[int(np.argmax(lacking[event]))]
            raise ValueError(
                f"target: row {log.rows[event]} takes arm {arm!r}, which could not be chosen "
                "there; give absent='skip' to leave such rows out, or absent='renormalise' to "
                "share its probability out among the arms that could be"
            )
    if not possible.any():
        raise ValueError(_never(table, log))
    if possible.all():
        return Followed(_of_logged(table, log), None, "")
    return Followed(_of_logged(table, log)[possible], possible, reason)


def _renormalised(table: npt.NDArray[np.float64], log: Log, known: Choices) -> Followed:
    """Share the target's probabilities out among the arms that could be chosen."""
    events = np.arange(log.arms.size)
    if table.ndim == 1:
        share = np.append(known.sets @ table, 0.0)[known.numbers]
        could_be = np.vstack([known.sets, np.zeros(table.size, np.bool_)])[known.numbers, log.arms]
    else:
        there = known.sets_of_events()
        share = (there * table).sum(axis=1)
        could_be = there[events, log.arms]
    possible = share > 0.0
    if not possible.any():
        raise ValueError(_never(table, log))
    chances = np.where(could_be, _of_logged(table, log), 0.0)
    return Followed(
        chances[possible] / share[possible],
        None if possible.all() else possible,
        "no arm that the target takes could be chosen",
    )


def _takes(table: npt.NDArray[np.float64]) -> npt.NDArray[np.bool_]:
    """Return which arms have a positive probability, in any row of a table."""
    return np.asarray((table.reshape(-1, table.shape[-1]) > 0.0).any(axis=0))


def _check_known(table: npt.NDArray[np.float64], log: Log, known: Choices) -> None:
    """Raise a ValueError if the target takes an arm that is among the choices of no event."""
    never = _takes(table) & (known.events_of_each_arm() == 0)
    if never.any():
        raise ValueError(
            f"target takes arm {log.labels[int(np.argmax(never))]!r}, which is among the choices "
            "of no event, so nothing says how likely it was when it was not chosen; give it a "
            "traffic floor in the next log, or give a target without it"
        )


def _never(table: npt.NDArray[np.float64], log: Log) -> str:
    """Say that no event counts."""
    taken = tuple(log.labels[arm] for arm in np.flatnonzero(_takes(table)))
    return (
        f"there is no event in which {_all_of(taken)} could be chosen; give a target of arms that "
        "were there together, or absent='renormalise'"
    )


def _all_of(labels: tuple[Label, ...]) -> str:
    return f"{labels[0]!r}" if len(labels) == 1 else f"all of {some_arms(labels)}"


def _check_seen(
    table: npt.NDArray[np.float64], log: Log, counted: npt.NDArray[np.bool_] | None
) -> None:
    """Raise a ValueError if the target takes an arm that no event shows."""
    shown = log.arms if counted is None else log.arms[counted]
    counts = np.bincount(shown, minlength=len(log.labels))
    followed = table[counted] if counted is not None and table.ndim == 2 else table
    unseen = _takes(followed) & (counts == 0)
    if unseen.any():
        where = "" if counted is None else " where the target could be followed"
        arm = log.labels[int(np.argmax(unseen))]
        raise ValueError(
            f"target takes arm {arm!r}, which is never logged{where}, so "
            "nothing is known of its rewards; give a target without it"
        )


def _number(log: Log, label: Any) -> int:
    if label not in log.labels:
        raise ValueError(f"target: {label!r} is not one of the arms {some_arms(log.labels)}")
    return log.labels.index(label)
