"""Read logs of decisions from files or arrays: arms, rewards, and propensities if known."""

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from lastblock.core.layout import INDEX
from lastblock.kernels.exact_sums import LARGEST_REWARD
from lastblock.live.labels import Label, check_labels
from lastblock.replay.choices import UNKNOWN, Choices, FoundSets, read_sets, to_choices
from lastblock.replay.evaluation import ratio
from lastblock.support.checks import number
from lastblock.support.columns import Source, plain_label, read_columns
from lastblock.support.spelling import nearest


class Log(NamedTuple):
    """The checked events of a log, in the order of time."""

    labels: tuple[Label, ...]
    arms: npt.NDArray[np.uint32]  # the arm of each event, as its place in `labels`
    rewards: npt.NDArray[np.float64]
    propensities: npt.NDArray[np.float64] | None
    choices: Choices | None  # the arms that could be chosen; None if the log does not say
    rows: npt.NDArray[np.int64]  # the row of each event in what the user gave
    size: int  # the number of rows that the user gave

    def counts(self) -> npt.NDArray[np.int64]:
        """Return the number of events of each arm."""
        return np.bincount(self.arms, minlength=len(self.labels))

    def means(self) -> npt.NDArray[np.float64]:
        """Return the mean reward of each arm; NaN for an arm without events."""
        return ratio(np.bincount(self.arms, self.rewards, len(self.labels)), self.counts())

    def pick(self, events: npt.NDArray[Any]) -> "Log":
        """Return a log of some of the events: a mask, or their numbers in the order wanted."""
        chances, choices = self.propensities, self.choices
        return self._replace(
            arms=self.arms[events],
            rewards=self.rewards[events],
            propensities=None if chances is None else chances[events],
            choices=None if choices is None else choices.pick(events),
            rows=self.rows[events],
        )


def read_log(
    source: Source,
    arm: str,
    reward: str,
    propensity: str | float | None,
    time: str | None,
    arms: Sequence[Label] | int | None,
    choices: str | None = None,
) -> Log:
    """Return the events of a log; `Replay` explains the parameters.

    Raises
    ------
    ValueError
        If the log cannot be used. The message names the column, and the row counted from 0.
    """
    column = propensity if isinstance(propensity, str) else None
    if isinstance(source, tuple | list):
        source, column = _named(source, arm, reward, propensity)
    wanted = [name for name in (arm, reward, column, time) if name is not None]
    columns = read_columns(source, wanted, choices)
    size = columns[arm].shape[0]
    for name in columns:
        if columns[name].shape[0] != size:
            raise ValueError(
                f"the log has {size} rows of {arm!r} and {columns[name].shape[0]} of {name!r}; "
                "give columns of one length"
            )
    if size == 0:
        raise ValueError("the log has no events; give one with rows")
    rewards = _numbers(columns[reward], reward)
    _refuse(
        ~(np.abs(rewards) < LARGEST_REWARD),  # True for NaN as well
        columns[reward],
        reward,
        f"must be finite and below {LARGEST_REWARD:g} in size; leave the row out, or give a reward",
    )
    sets = None
    if choices is not None and choices in columns:
        sets = read_sets(columns[choices], choices)
    labels, numbers = _arms(columns[arm], arm, arms, sets)
    could_be = sets and to_choices(sets, labels, numbers, str(choices))
    propensities = None
    if column is not None:
        propensities = _numbers(columns[column], column)
        _refuse(
            ~((propensities > 0.0) & (propensities <= 1.0)),
            columns[column],
            column,
            "must lie in (0, 1]: it is the probability with which the arm was chosen",
        )
    elif propensity is not None:
        chance = number(propensity, "propensity")
        if not 0.0 < chance <= 1.0:
            raise ValueError(
                f"propensity={chance} must lie in (0, 1]; for uniform logging it is 1/K"
            )
        propensities = np.full(size, chance)
    log = Log(labels, numbers, rewards, propensities, could_be, np.arange(size), size)
    return log if time is None else log.pick(_order(columns[time], time))


def split_by_choices(log: Log) -> list[Log]:
    """Return one log for each set of arms that could be chosen, with only the arms of the set.

    Arms that were logged with a set, and are in no set at all, stay.
    """
    if log.choices is None:
        return [log]
    parts = []
    sets, numbers = log.choices
    known = numbers[numbers != UNKNOWN]
    for which in dict.fromkeys(known.tolist()):
        part = log.pick(np.flatnonzero(numbers == which))
        stays = sets[which].copy()
        stays[part.arms] = True
        places = np.cumsum(stays, dtype=INDEX) - INDEX(1)
        parts.append(
            part._replace(
                labels=tuple(label for label, kept in zip(log.labels, stays, strict=True) if kept),
                arms=places[part.arms],
                choices=Choices(sets[which : which + 1, stays], np.zeros(part.arms.size, np.int32)),
            )
        )
    return parts


def _named(
    source: Sequence[Any], arm: str, reward: str, propensity: str | float | None
) -> tuple[Mapping[str, Any], str | None]:
    """Return two or three arrays as columns, and the name of the column of propensities."""
    if len(source) == 2:
        return {arm: source[0], reward: source[1]}, None
    if len(source) == 3 and (propensity is None or isinstance(propensity, str)):
        name = propensity or "propensity"
        return {arm: source[0], reward: source[1], name: source[2]}, name
    raise ValueError(
        f"log is a {type(source).__name__} of {len(source)}; give (arms, rewards) or "
        "(arms, rewards, propensities), a mapping of columns, a data frame, or a file"
    )


def _numbers(values: npt.NDArray[Any], name: str) -> npt.NDArray[np.float64]:
    """Return a column as floats."""
    if values.dtype.kind in "biuf":
        return values.astype(np.float64)
    numbers = np.empty(values.shape[0])
    for row, value in enumerate(values.tolist() if values.dtype.kind in "OU" else values):
        try:
            numbers[row] = float(value)
        except (TypeError, ValueError, OverflowError):
            raise ValueError(f"{name!r}, row {row}: {value!r} is not a number") from None
    return numbers


def _refuse(bad: npt.NDArray[np.bool_], values: npt.NDArray[Any], name: str, message: str) -> None:
    """Raise a ValueError about the first bad row."""
    if bad.any():
        row = int(np.argmax(bad))
        raise ValueError(f"{name!r}, row {row}: {values[row]} {message}")


def _arms(
    values: npt.NDArray[Any],
    name: str,
    arms: Sequence[Label] | int | None,
    sets: FoundSets | None,
) -> tuple[tuple[Label, ...], npt.NDArray[np.uint32]]:
    """Return the labels of the arms, and the number of the arm of each row."""
    distinct, places, rows = _distinct(values, name)
    # Whole numbers come first, then text, each sorted.
    found = {*distinct, *(sets.labels() if sets else ())}
    labels = sorted(found, key=lambda label: (isinstance(label, str), label))
    if arms is not None:
        labels = check_labels(arms)
    if len(labels) < 2:
        raise ValueError(f"{name!r} holds only arm {labels[0]!r}; a bandit needs at least 2 arms")
    numbers = {label: number for number, label in enumerate(labels)}
    for label, row in zip(distinct, rows, strict=True):
        if label not in numbers:
            near = nearest(str(label), [str(other) for other in labels])
            hint = f"; did you mean {near!r}?" if near else ""
            raise ValueError(f"{name!r}, row {row}: arm {label!r} is not one of `arms`{hint}")
    table = np.array([numbers[label] for label in distinct], INDEX)
    return tuple(labels), table[places]


def _distinct(
    values: npt.NDArray[Any], name: str
) -> tuple[list[Label], npt.NDArray[np.intp], list[int]]:
    """Return the distinct labels, which of them each row has, and the first row of each."""
    kind = values.dtype.kind
    if kind == "f":  # a data frame with gaps turns whole numbers into floats
        whole = (np.abs(values) < 2.0**53) & (np.trunc(values) == values)
        _refuse(~whole, values, name, "is not an arm; give a string or a whole number")
        values = values.astype(np.int64)
    if kind in "biufU":
        found, rows, places = np.unique(values, return_index=True, return_inverse=True)
        text = kind == "U"
        return [str(x) if text else int(x) for x in found], places.reshape(-1), rows.tolist()
    if kind != "O":
        raise ValueError(f"{name!r} holds {values.dtype}; give arms as strings or whole numbers")
    known: dict[Label, int] = {}
    first: list[int] = []
    numbers = np.empty(values.shape[0], np.intp)
    for row, value in enumerate(values.tolist()):
        label = plain_label(value)
        if label is None:
            raise ValueError(
                f"{name!r}, row {row}: {value!r} is not an arm; give a string or a whole number"
            )
        if label not in known:
            known[label] = len(known)
            first.append(row)
        numbers[row] = known[label]
    return list(known), numbers, first


def _order(values: npt.NDArray[Any], name: str) -> npt.NDArray[np.int64]:
    """Return the rows sorted by time; rows of equal time keep their order."""
    if values.dtype.kind in "OU":
        return _order_of_text(values.tolist(), name)
    if values.dtype.kind not in "biufM":
        raise ValueError(f"{name!r} holds {values.dtype}, not times; give numbers or dates")
    _refuse(np.isnan(values), values, name, "is not a time; give numbers or dates")
    return np.argsort(values, kind="stable")


def _order_of_text(values: list[Any], name: str) -> npt.NDArray[np.int64]:
    times: list[Any] = []
    for row, value in enumerate(values):
        try:
            time = datetime.fromisoformat(value) if isinstance(value, str) else value
            # NaN and NaT are not equal to themselves.
            if time is None or not time == time:  # noqa: PLR0124  # it finds NaN and NaT
                raise ValueError
        except (TypeError, ValueError):
            raise ValueError(
                f"{name!r}, row {row}: {value!r} is not a time; give numbers or ISO 8601 dates"
            ) from None
        times.append(time)
    try:
        return np.array(sorted(range(len(times)), key=times.__getitem__), np.int64)
    except TypeError:
        raise ValueError(
            f"{name!r} mixes times that cannot be compared, such as times with and without a time "
            "zone; write all of them alike"
        ) from None
