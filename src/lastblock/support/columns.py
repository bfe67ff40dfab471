"""Read columns of a log from a file, a data frame, a mapping or arrays."""

import json
import operator
import os
import re
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from lastblock.support import files
from lastblock.support.spelling import nearest

Source: TypeAlias = Any
"""A CSV, JSON lines or Parquet file, a data frame, a mapping of columns, a structured array, or a
tuple of two or three arrays: arms, rewards and propensities."""

CHOICES = "choices"
"""The column of the arms that could be chosen, which a log need not have; stores write it."""

Label: TypeAlias = str | int

Columns: TypeAlias = dict[str, npt.NDArray[Any]]

_WHOLE = re.compile(r"-?(0|[1-9]\d{0,17})"), re.compile(r"-?(0|[1-9]\d{0,17})\.0")
"""Whole numbers as text: plain, and as a data frame with gaps writes them."""

_NAMED = 12  # the number of columns that a message lists


def read_columns(source: Source, wanted: list[str], choices: str | None = None) -> Columns:
    """Return the columns with these names.

    Parameters
    ----------
    source
        The log.
    wanted
        The names; that of the arms comes first. In a CSV file arms are text, as they are written.
    choices
        The column of the arms that could be chosen. If this is `CHOICES`, it may be missing.

    Raises
    ------
    ValueError
        If a column is missing, or is there twice, or the source cannot be read.
    """
    for name in (*wanted, choices or ""):
        if not isinstance(name, str):
            raise ValueError(f"{name!r} is not the name of a column; give a string")
    if isinstance(source, str | os.PathLike):
        return _file(Path(source), wanted, choices)
    if isinstance(source, np.ndarray) and source.dtype.names is not None:
        names: Iterable[Any] = source.dtype.names
    elif isinstance(source, Mapping):
        names = source.keys()
    elif hasattr(source, "columns") and hasattr(source, "__getitem__"):  # any library's data frame
        names = source.columns
    else:
        raise ValueError(
            f"log is a {type(source).__name__}; give a CSV, JSON lines or Parquet file, a data "
            "frame, a mapping of columns, or (arms, rewards)"
        )
    wanted = _check_names(wanted, choices, names)
    columns = {name: _array(source[name]) for name in wanted if name != choices}
    if choices in wanted:
        columns[choices] = _lists(source[choices])
    for name, values in columns.items():
        if values.ndim != 1:
            raise ValueError(f"{name!r} has {values.ndim} dimensions; give one value per event")
    return columns


def _array(values: Any) -> npt.NDArray[Any]:
    """Return an array that keeps mixed lists; numpy would turn their numbers into text."""
    return np.array(values, object) if isinstance(values, list | tuple) else np.asarray(values)


def _lists(values: Any) -> npt.NDArray[Any]:
    """Return a column of lists, each as one object."""
    rows = np.asarray(values).tolist() if hasattr(values, "dtype") else list(values)
    column = np.empty(len(rows), object)
    for row, value in enumerate(rows):
        column[row] = value
    return column


def _check_names(wanted: list[str], choices: str | None, names: Iterable[Any]) -> list[str]:
    """Return the names of the columns to read."""
    there = list(names)
    if choices is not None and (choices != CHOICES or choices in there):
        wanted = [*wanted, choices]
    for name in wanted:
        if name not in there:
            near = nearest(name, [str(other) for other in there])
            hint = f"did you mean {near!r}? It has" if near else "it has"
            listed = ", ".join(map(str, there[:_NAMED])) + (", …" if len(there) > _NAMED else "")
            raise ValueError(f"the log has no column {name!r}; {hint}: {listed}")
        if there.count(name) > 1:
            raise ValueError(f"the log has {there.count(name)} columns {name!r}; rename one")
    return wanted


def _file(path: Path, wanted: list[str], choices: str | None) -> Columns:
    if path.suffix.lower() in (".parquet", ".pq"):
        return _read(path, wanted, choices, "Parquet", _open_parquet)
    if ".csv" in (suffix.lower() for suffix in path.suffixes):  # .csv.gz and the like as well
        return _read(path, wanted, choices, "CSV", _open_csv)
    if path.suffix.lower() in (".jsonl", ".ndjson"):
        return _read_lines(path, wanted, choices)
    raise ValueError(
        f"log={str(path)!r} is neither .csv nor .jsonl nor .parquet; give one of them, or arrays"
    )


def _read_lines(path: Path, wanted: list[str], choices: str | None) -> Columns:
    """Read a file with one JSON object a line."""
    data = files.read(path, "give the path of a log")
    rows: list[dict[str, Any]] = []
    for number, line in enumerate(data.splitlines()):
        if not line.strip():
            continue
        try:
            row = json.loads(line)
        except (ValueError, RecursionError) as error:
            raise ValueError(
                f"log={str(path)!r} cannot be read as JSON: line {number + 1}: {_line(error)}"
            ) from None
        if not isinstance(row, dict):
            raise ValueError(
                f"log={str(path)!r} cannot be read as JSON: line {number + 1} is not an object; "
                'write lines such as {"arm": "red", "reward": 1}'
            )
        rows.append(row)
    names = dict.fromkeys(name for row in rows for name in row)
    wanted = _check_names(wanted, choices, names) if rows else wanted
    return {name: _lists([row.get(name) for row in rows]) for name in wanted}


def _read(
    path: Path,
    wanted: list[str],
    choices: str | None,
    format: str,
    open_file: Callable[[Path], Any],
) -> Columns:
    try:
        import pyarrow as pa  # noqa: PLC0415  # slow to import, and not always installed
    except ImportError:
        raise ImportError(
            f"reading {format} files needs pyarrow: pip install 'lastblock[lab]', "
            "or give the columns as arrays"
        ) from None
    if not path.exists():
        raise FileNotFoundError(f"there is no file {str(path)!r}; give the path of a log")
    try:
        names, read_some = open_file(path)
        wanted = _check_names(wanted, choices, names)
        as_text = {wanted[0], choices}
        table = read_some(list(dict.fromkeys(wanted)), as_text)
    except pa.ArrowException as error:
        raise ValueError(f"log={str(path)!r} cannot be read as {format}: {_line(error)}") from None
    columns: Columns = {}
    for name in wanted:
        values = table[name]
        if open_file is _open_csv and name == wanted[0]:
            columns[name] = _labels_of_text(values, choices in wanted and _quotes(table[choices]))
            continue
        if name == choices and _is_text(values.type):
            columns[name] = _shared_text(values)
            continue
        if pa.types.is_dictionary(values.type):
            values = values.cast(values.type.value_type)
        columns[name] = values.to_numpy()
    return columns


def _quotes(lists: Any) -> bool:
    """Return whether lists of labels, as JSON text, have labels that are text."""
    return any('"' in (text or "") for text in lists.unify_dictionaries().unique().to_pylist())


def _labels_of_text(values: Any, are_text: bool) -> npt.NDArray[Any]:
    """Return the arms of a CSV file: numbers if all are whole and written alike, else text.

    They are text as well if another column says so with `are_text`.
    """
    labels: npt.NDArray[Any]
    column = values.unify_dictionaries().combine_chunks()
    texts = column.dictionary.to_pylist()
    for whole in () if are_text else _WHOLE:
        if column.null_count == 0 and all(whole.fullmatch(text) for text in texts):
            numbers = np.array([int(text.partition(".")[0]) for text in texts])
            labels = numbers[column.indices.to_numpy(zero_copy_only=False)]
            break
    else:
        labels = column.to_numpy(zero_copy_only=False)
    return labels


def _is_text(type: Any) -> bool:
    import pyarrow as pa  # noqa: PLC0415  # optional, and slow to import

    if pa.types.is_dictionary(type):
        type = type.value_type
    return bool(pa.types.is_string(type) or pa.types.is_large_string(type))


def _shared_text(values: Any) -> npt.NDArray[Any]:
    """Return a column of text as objects, equal texts as one object; None where it is empty."""
    import pyarrow as pa  # noqa: PLC0415  # optional, and slow to import

    if not pa.types.is_dictionary(values.type):
        values = values.dictionary_encode()
    column = values.unify_dictionaries().combine_chunks()
    texts = np.array([*column.dictionary.to_pylist(), None], object)
    shared: npt.NDArray[Any] = texts[
        column.indices.fill_null(len(texts) - 1).to_numpy(zero_copy_only=False)
    ]
    return shared


def _open_parquet(path: Path) -> tuple[list[str], Callable[[list[str], set[str | None]], Any]]:
    """Return the names of the columns, and a function that reads some of them.

    The function takes the names, and which of them must be read as text.
    """
    import pyarrow.parquet as pq  # noqa: PLC0415  # optional, and slow to import

    return pq.read_schema(path).names, lambda wanted, _: pq.read_table(path, columns=wanted)


def _open_csv(path: Path) -> tuple[list[str], Callable[[list[str], set[str | None]], Any]]:
    import pyarrow as pa  # noqa: PLC0415  # optional, and slow to import
    import pyarrow.csv as pc  # noqa: PLC0415  # optional, and slow to import

    parsing = pc.ParseOptions(newlines_in_values=True)
    with pc.open_csv(path, parse_options=parsing) as file:
        names = file.schema.names

    def read_some(wanted: list[str], as_text: set[str | None]) -> Any:
        # Text such as NA may be a label, so only empty cells count as missing.
        # Arms are read as text, since 007 and 7 may be different labels.
        text = pa.dictionary(pa.int32(), pa.string())
        converting = pc.ConvertOptions(
            include_columns=wanted,
            null_values=[""],
            strings_can_be_null=True,
            column_types={name: text for name in wanted if name in as_text},
        )
        return pc.read_csv(path, parse_options=parsing, convert_options=converting)

    return names, read_some


def _line(error: Exception) -> str:
    return " ".join(str(error).split())


def plain_label(value: object) -> Label | None:
    """Return a label as a plain string or int; None if `value` cannot be a label."""
    if isinstance(value, str):
        return str(value)
    if isinstance(value, float) and value.is_integer():
        return int(value)
    try:
        return int(operator.index(value))  # type: ignore[arg-type]  # raises TypeError if not whole
    except TypeError:
        return None
