"""Read logs of decisions from files or arrays: arms, rewards, and propensities if known."""

import operator
import os
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import datetime
from pathlib import Path
from typing import Any, NamedTuple, TypeAlias

import numpy as np
import numpy.typing as npt

from lastblock.core.layout import INDEX
from lastblock.kernels.exact_sums import LARGEST_REWARD
from lastblock.live.labels import Label, check_labels
from lastblock.support.checks import number
from lastblock.support.spelling import nearest

Source: TypeAlias = Any
"""A CSV or Parquet file, a data frame, a mapping of columns, a structured array, or a tuple of two
or three arrays: arms, rewards and propensities."""

Columns: TypeAlias = dict[str, npt.NDArray[Any]]

_WHOLE = re.compile(r"-?(0|[1-9]\d{0,17})"), re.compile(r"-?(0|[1-9]\d{0,17})\.0")
"""Whole numbers as text: plain, and as a data frame with gaps writes them."""

_NAMED = 12  # the number of columns that a message lists


class Log(NamedTuple):
    """The checked events of a log, in the order of time."""

    labels: tuple[Label, ...]
    arms: npt.NDArray[np.uint32]  # the arm of each event, as its place in `labels`
    rewards: npt.NDArray[np.float64]
    propensities: npt.NDArray[np.float64] | None
    rows: npt.NDArray[np.int64]  # the row of each event in what the user gave
    size: int  # the number of rows that the user gave

    def pick(self, events: npt.NDArray[Any]) -> "Log":
        """Return a log of some of the events: a mask, or their numbers in the order wanted."""
        chances = self.propensities
        return self._replace(
            arms=self.arms[events],
            rewards=self.rewards[events],
            propensities=None if chances is None else chances[events],
            rows=self.rows[events],
        )


def read_log(
    source: Source,
    arm: str,
    reward: str,
    propensity: str | float | None,
    time: str | None,
    arms: Sequence[Label] | int | None,
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
    columns = _columns(source, wanted)
    size = columns[arm].shape[0]
    for name in wanted:
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
    labels, numbers = _arms(columns[arm], arm, arms)
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
    log = Log(labels, numbers, rewards, propensities, np.arange(size), size)
    return log if time is None else log.pick(_order(columns[time], time))


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


def _columns(source: Source, wanted: list[str]) -> Columns:
    """Return the columns with these names."""
    for name in wanted:
        if not isinstance(name, str):
            raise ValueError(f"{name!r} is not the name of a column; give a string")
    if isinstance(source, str | os.PathLike):
        return _file(Path(source), wanted)
    if isinstance(source, np.ndarray) and source.dtype.names is not None:
        names: Iterable[Any] = source.dtype.names
    elif isinstance(source, Mapping):
        names = source.keys()
    elif hasattr(source, "columns") and hasattr(source, "__getitem__"):  # any library's data frame
        names = source.columns
    else:
        raise ValueError(
            f"log is a {type(source).__name__}; give a CSV or Parquet file, a data frame, "
            "a mapping of columns, or (arms, rewards)"
        )
    _check_names(wanted, names)
    columns = {name: _array(source[name]) for name in wanted}
    for name, values in columns.items():
        if values.ndim != 1:
            raise ValueError(f"{name!r} has {values.ndim} dimensions; give one value per event")
    return columns


def _array(values: Any) -> npt.NDArray[Any]:
    """Return an array that keeps mixed lists; numpy would turn their numbers into text."""
    return np.array(values, object) if isinstance(values, list | tuple) else np.asarray(values)


def _check_names(wanted: list[str], names: Iterable[Any]) -> None:
    there = list(names)
    for name in wanted:
        if name not in there:
            near = nearest(name, [str(other) for other in there])
            hint = f"did you mean {near!r}? It has" if near else "it has"
            listed = ", ".join(map(str, there[:_NAMED])) + (", …" if len(there) > _NAMED else "")
            raise ValueError(f"the log has no column {name!r}; {hint}: {listed}")
        if there.count(name) > 1:
            raise ValueError(f"the log has {there.count(name)} columns {name!r}; rename one")


def _file(path: Path, wanted: list[str]) -> Columns:
    if path.suffix.lower() in (".parquet", ".pq"):
        return _read(path, wanted, "Parquet", _open_parquet)
    if ".csv" in (suffix.lower() for suffix in path.suffixes):  # .csv.gz and the like as well
        return _read(path, wanted, "CSV", _open_csv)
    raise ValueError(f"log={str(path)!r} is neither .csv nor .parquet; give one of them, or arrays")


def _read(path: Path, wanted: list[str], format: str, open_file: Callable[[Path], Any]) -> Columns:
    try:
        import pyarrow as pa  # noqa: PLC0415  # slow to import, and not always installed
    except ImportError:
        raise ImportError(
            f"reading {format} files needs pyarrow: pip install 'lastblock[lab]', "
            "or give the columns as arrays"
        ) from None
    try:
        names, read_columns = open_file(path)
        _check_names(wanted, names)
        table = read_columns(list(dict.fromkeys(wanted)))  # the arm comes first
    except pa.ArrowException as error:
        raise ValueError(f"log={str(path)!r} cannot be read as {format}: {_line(error)}") from None
    columns: Columns = {}
    for name in wanted:
        values = table[name]
        if open_file is _open_csv and name == wanted[0]:
            columns[name] = _labels_of_text(values)
            continue
        if pa.types.is_dictionary(values.type):
            values = values.cast(values.type.value_type)
        columns[name] = values.to_numpy()
    return columns


def _labels_of_text(values: Any) -> npt.NDArray[Any]:
    """Return the arms of a CSV file: numbers if all are whole and written alike, else text."""
    labels: npt.NDArray[Any]
    column = values.unify_dictionaries().combine_chunks()
    texts = column.dictionary.to_pylist()
    for whole in _WHOLE:
        if column.null_count == 0 and all(whole.fullmatch(text) for text in texts):
            numbers = np.array([int(text.partition(".")[0]) for text in texts])
            labels = numbers[column.indices.to_numpy(zero_copy_only=False)]
            break
    else:
        labels = column.to_numpy(zero_copy_only=False)
    return labels


def _open_parquet(path: Path) -> tuple[list[str], Callable[[list[str]], Any]]:
    """Return the names of the columns, and a function that reads some of them."""
    import pyarrow.parquet as pq  # noqa: PLC0415  # optional, and slow to import

    return pq.read_schema(path).names, lambda wanted: pq.read_table(path, columns=wanted)


def _open_csv(path: Path) -> tuple[list[str], Callable[[list[str]], Any]]:
    import pyarrow as pa  # noqa: PLC0415  # optional, and slow to import
    import pyarrow.csv as pc  # noqa: PLC0415  # optional, and slow to import

    parsing = pc.ParseOptions(newlines_in_values=True)
    with pc.open_csv(path, parse_options=parsing) as file:
        names = file.schema.names

    def read_columns(wanted: list[str]) -> Any:
        # Text such as NA may be a label, so only empty cells count as missing.
        # Arms are read as text, since 007 and 7 may be different labels.
        converting = pc.ConvertOptions(
            include_columns=wanted,
            null_values=[""],
            strings_can_be_null=True,
            column_types={wanted[0]: pa.dictionary(pa.int32(), pa.string())},
        )
        return pc.read_csv(path, parse_options=parsing, convert_options=converting)

    return names, read_columns


def _line(error: Exception) -> str:
    return " ".join(str(error).split())


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
    values: npt.NDArray[Any], name: str, arms: Sequence[Label] | int | None
) -> tuple[tuple[Label, ...], npt.NDArray[np.uint32]]:
    """Return the labels of the arms, and the number of the arm of each row."""
    distinct, places, rows = _distinct(values, name)
    # Whole numbers come first, then text, each sorted.
    labels = sorted(distinct, key=lambda label: (isinstance(label, str), label))
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
        label = _label(value)
        if label is None:
            raise ValueError(
                f"{name!r}, row {row}: {value!r} is not an arm; give a string or a whole number"
            )
        if label not in known:
            known[label] = len(known)
            first.append(row)
        numbers[row] = known[label]
    return list(known), numbers, first


def _label(value: object) -> Label | None:
    """Return a label as a plain string or int; None if `value` cannot be a label."""
    if isinstance(value, str):
        return str(value)
    if isinstance(value, float) and value.is_integer():
        return int(value)
    try:
        return int(operator.index(value))  # type: ignore[arg-type]  # raises TypeError if not whole
    except TypeError:
        return None


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
