"""The formats of an exported log: Parquet, CSV, and JSON with an object a line."""

import csv
import io
import json
from collections.abc import Callable, Sequence
from datetime import UTC, datetime, timedelta
from pathlib import PurePath
from typing import Any, BinaryIO, Literal, Protocol, TypeAlias, get_args

Format: TypeAlias = Literal["parquet", "csv", "jsonl"]
FORMATS: tuple[Format, ...] = get_args(Format)
_SUFFIXES: dict[str, Format] = {
    ".parquet": "parquet",
    ".pq": "parquet",
    ".csv": "csv",
    ".jsonl": "jsonl",
    ".ndjson": "jsonl",
}

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)

Columns: TypeAlias = dict[str, Literal["int", "float", "text", "time"]]
"""The names of the columns and what they hold; times are microseconds since 1970."""


class Writer(Protocol):
    """What writes the rows of a log in one format."""

    def write(self, rows: Sequence[Sequence[Any]]) -> None:
        """Write some rows: plain values in the order of the columns, None where one is missing."""

    def close(self) -> None:
        """Write what comes after the last row."""


def format_of(path: PurePath, given: str | None) -> Format:
    """Return the format to write: the one that is given, or that of the file's suffix.

    Raises
    ------
    ValueError
        If there is no such format.
    """
    if given is not None:
        if given not in FORMATS:
            raise ValueError(f"format={given!r} must be one of {', '.join(FORMATS)}")
        return given
    suffix = path.suffix.lower()
    if suffix not in _SUFFIXES:
        raise ValueError(
            f"{str(path)!r} does not say in which format to write; end it in "
            f"{', '.join(_SUFFIXES)}, or give format="
        )
    return _SUFFIXES[suffix]


def writer_of(format: Format) -> Callable[[BinaryIO, Columns], Writer]:
    """Return what makes the writer of a format, before any file is made.

    Raises
    ------
    ImportError
        If the format is Parquet, and pyarrow is not installed.
    """
    if format == "parquet":
        try:
            import pyarrow.parquet  # noqa: F401, PLC0415  # slow to import, not always installed
        except ImportError:
            raise ModuleNotFoundError(
                "Parquet needs pyarrow: pip install 'lastblock[lab]', or take CSV or JSON lines",
                name="pyarrow",
            ) from None
        return ParquetWriter
    return CSVWriter if format == "csv" else JSONWriter


class ParquetWriter:
    """Writes Parquet.

    Parameters
    ----------
    file
        An open file.
    columns
        The columns of the log.
    """

    def __init__(self, file: BinaryIO, columns: Columns) -> None:
        import pyarrow as pa  # noqa: PLC0415  # slow to import, and not always installed
        import pyarrow.parquet as pq  # noqa: PLC0415  # for the same reasons

        types = {
            "int": pa.int64(),
            "float": pa.float64(),
            "text": pa.string(),  # where there are few distinct texts, Parquet keeps each once
            "time": pa.timestamp("us", tz="UTC"),
        }
        self._schema = pa.schema([(name, types[kind]) for name, kind in columns.items()])
        self._file: Any = pq.ParquetWriter(file, self._schema)

    def write(self, rows: Sequence[Sequence[Any]]) -> None:
        """Write some rows."""
        import pyarrow as pa  # noqa: PLC0415  # slow to import, and not always installed

        values = [list(column) for column in zip(*rows, strict=True)]
        arrays = [pa.array(v, t) for v, t in zip(values, self._schema.types, strict=True)]
        self._file.write_table(pa.table(arrays, schema=self._schema))

    def close(self) -> None:
        """Write the footer."""
        self._file.close()


class _TextWriter:
    """Writes UTF-8 text; times are written in ISO 8601."""

    def __init__(self, file: BinaryIO, columns: Columns) -> None:
        self._text = io.TextIOWrapper(file, encoding="utf-8", newline="", write_through=True)
        self._names = list(columns)
        self._times = [i for i, kind in enumerate(columns.values()) if kind == "time"]

    def _plain(self, row: Sequence[Any]) -> list[Any]:
        values = list(row)
        for place in self._times:
            values[place] = None if values[place] is None else iso(values[place])
        return values

    def close(self) -> None:
        """Write the last characters, and leave the file open."""
        self._text.flush()
        self._text.detach()


class CSVWriter(_TextWriter):
    """Writes CSV with a head; a missing value is an empty cell."""

    def __init__(self, file: BinaryIO, columns: Columns) -> None:
        super().__init__(file, columns)
        self._rows = csv.writer(self._text, lineterminator="\n")
        self._rows.writerow(self._names)

    def write(self, rows: Sequence[Sequence[Any]]) -> None:
        """Write some rows."""
        self._rows.writerows(map(self._plain, rows))


class JSONWriter(_TextWriter):
    """Writes one JSON object a line; a missing value is null."""

    def write(self, rows: Sequence[Sequence[Any]]) -> None:
        """Write some rows."""
        for row in rows:
            values = dict(zip(self._names, self._plain(row), strict=True))
            self._text.write(json.dumps(values, ensure_ascii=False) + "\n")


def iso(microseconds: int) -> str:
    """Return a time in ISO 8601, in UTC, with microseconds."""
    return (_EPOCH + timedelta(microseconds=microseconds)).isoformat(timespec="microseconds")
