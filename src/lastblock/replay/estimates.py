"""Estimates by inverse propensities: plain (IPS) and self-normalised (SNIPS), of any target."""

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final, Literal, NamedTuple, TypeAlias

import numpy as np
import numpy.typing as npt

from lastblock.core.registry import POLICIES
from lastblock.live.labels import Label
from lastblock.replay.choices import Choices
from lastblock.replay.logs import Log
from lastblock.support.checks import number
from lastblock.support.intervals import student_reach
from lastblock.support.json_safe import json_fields, json_safe

ROUNDED = 1e-3
"""The relative distance within which numbers count as equal, since files round propensities."""

SURE = 20.0
"""A deviation is not chance if chance has it with probability at most exp(−SURE)."""

ENOUGH = 100.0
"""The effective number of events below which the spread of the weights is not known well enough to
say that their average is not chance."""


@dataclass(frozen=True)
class Weighted:
    """A mean reward, estimated from weighted events."""

    value: float
    """The estimate."""
    standard_error: float
    """Its standard error over the events; NaN with one event."""
    effective: float = field(repr=False)
    """The effective number of events, for `interval`."""

    def interval(self, confidence: float = 0.95) -> tuple[float, float]:
        """Return an interval for the mean reward, by Student's t.

        It has as many degrees of freedom as there are effective events, less one. With few of them
        it contains the truth too seldom, since weighted rewards are skewed. No interval knows of
        rewards that the log does not show: if all rewards are 0, it is (0, 0).

        Parameters
        ----------
        confidence
            The share of such intervals that contain the true mean reward.

        Returns
        -------
        tuple of float
            The lower and the upper end.

        Raises
        ------
        ValueError
            If `confidence` does not lie between 0 and 1.
        """
        reach = student_reach(confidence, self.effective - 1.0) * self.standard_error
        return self.value - reach, self.value + reach

    def to_dict(self) -> dict[str, object]:
        """Return the value, its error and its 95 % interval as plain JSON values."""
        found = json_fields(self, leave_out=("effective",))
        return {**found, "interval": json_safe(list(self.interval()))}

    def __str__(self) -> str:
        return f"{self.value:.4g} ± {self.standard_error:.2g}"


@dataclass(frozen=True)
class Estimate:
    """Estimates of the mean reward of a policy from the log of another one.

    `Replay.estimate` returns it. The weight w of an event is the probability of its arm under the
    policy, divided by the propensity.
    """

    ips: Weighted
    """(1/n) Σ w r. It is unbiased; its error grows with the weights."""
    snips: Weighted
    """Σ w r / Σ w. It is slightly biased, mostly with a smaller error, and exact if all rewards are
    equal."""
    effective: float
    """(Σ w)² / Σ w²: the number of events of the policy's own that would say as much."""
    largest_weight: float
    """The largest weight of an event."""
    events: int
    """The number n of events that count: those in which the policy could be followed."""
    left_out: int = 0
    """The number of the other events of the log."""
    reason: str = ""
    """Why they are left out, in words; empty if none is."""

    def to_dict(self) -> dict[str, object]:
        """Return the estimates, their errors and 95 % intervals as plain JSON values.

        Numbers that are infinite or NaN become None.
        """
        return json_fields(self)

    def __repr__(self) -> str:
        others = f"; {self.left_out} others left out: {self.reason}" if self.left_out else ""
        return (
            f"<Estimate: IPS {self.ips}, SNIPS {self.snips}, "
            f"{self.events} events worth {self.effective:.1f}{others}>"
        )


def estimate(
    weights: npt.NDArray[np.float64],
    rewards: npt.NDArray[np.float64],
    left_out: int = 0,
    reason: str = "",
) -> Estimate:
    """Return both estimates from the weights w = π(arm) / propensity, not all of which are 0."""
    n = rewards.size
    largest = float(weights.max())
    # Below only ratios of weights matter; with these, squares cannot overflow.
    ratios = weights / largest
    total = float(ratios.sum())
    mean = float((ratios * rewards).sum() / total)
    worth = weights * rewards
    effective = total**2 / float(np.square(ratios).sum())
    return Estimate(
        ips=Weighted(
            float(worth.mean()),
            float(worth.std(ddof=1) / np.sqrt(n)) if n > 1 else float("nan"),
            effective,
        ),
        # This is the first-order error of a ratio of means.
        snips=Weighted(
            mean,
            float(np.sqrt(np.square(ratios * (rewards - mean)).sum()) / total)
            if n > 1
            else float("nan"),
            effective,
        ),
        effective=effective,
        largest_weight=largest,
        events=n,
        left_out=left_out,
        reason=reason if left_out else "",
    )


def check_weights(weights: npt.NDArray[np.float64]) -> None:
    """Raise a ValueError if the weights cannot be those of a policy that could be followed.

    Given the past, each weight has the mean 1, whatever the policies: Σ π(arm) over the arms that
    could be chosen. So their average differs from 1 by chance alone, unless the policy takes arms
    that could not be chosen, or the propensities are wrong.
    """
    n, largest = weights.size, float(weights.max())
    ratios = weights / largest  # their squares cannot overflow
    total, squares = float(ratios.sum()), float(np.square(ratios).sum())
    if total**2 < ENOUGH * squares:
        return
    mean = largest * total / n
    error = largest * math.sqrt(max(0.0, squares - total**2 / n)) / n
    if abs(mean - 1.0) > math.sqrt(2.0 * SURE) * error + ROUNDED:
        raise ValueError(
            f"the weights of {n} events average {mean:.4g} ± {error:.2g}, and would average 1 if "
            "the target could be followed in all of them; name the column of the arms that could "
            "be chosen, choices='…', give only the events in which all of the target's arms could "
            "be, or check the propensities"
        )


def check_probabilities(
    values: Any, name: str, *shapes: tuple[int, ...]
) -> npt.NDArray[np.float64]:
    """Return an array of one of these shapes with values in [0, 1], or raise a ValueError."""
    try:
        table = np.asarray(values, dtype=np.float64)
    except (TypeError, ValueError):
        raise ValueError(f"{name} must be probabilities, not {type(values).__name__}") from None
    if table.shape not in shapes:
        wanted = " or ".join(str(shape) for shape in shapes)
        raise ValueError(f"{name} has the shape {table.shape}; give {wanted}")
    if not ((table >= 0.0) & (table <= 1.0)).all():
        raise ValueError(f"{name}: probabilities must lie in [0, 1]")
    return table


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
