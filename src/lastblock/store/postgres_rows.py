"""Rows as PostgreSQL's COPY reads them."""

from collections.abc import Iterable, Sequence
from typing import Any, Literal

from lastblock.engine.events import ASK, TELL
from lastblock.store.postgres_connections import Connection
from lastblock.store.queries import Put

_COPY = {
    "events": b'COPY events (bandit, event, "time", kind, decision, arm, reward, probability, '
    b"extra) FROM STDIN",
    "pending": b'COPY pending (bandit, decision, arm, probability, answered, "time") FROM STDIN',
}
_ESCAPES = str.maketrans({"\\": "\\\\", "\t": "\\t", "\n": "\\n", "\r": "\\r"})


def event_lines(rows: Iterable[Sequence[Any]]) -> bytes:
    """Return events in the text format of COPY."""
    return "".join([_line(*row) for row in rows]).encode()


def _line(
    bandit: int,
    event: int,
    time: int,
    kind: int,
    decision: int | None,
    arm: int | None,
    value: object,
) -> str:
    of = "\\N" if decision is None else decision
    if kind == TELL:  # `repr` of a float is exact
        return f"{bandit}\t{event}\t{time}\t{kind}\t{of}\t{arm}\t{value!r}\t\\N\t\\N\n"
    if kind == ASK:
        chance = "\\N" if value is None else repr(value)
        return f"{bandit}\t{event}\t{time}\t{kind}\t{decision}\t{arm}\t\\N\t{chance}\t\\N\n"
    place = "\\N" if arm is None else arm
    extra = "\\N" if value is None else str(value).translate(_ESCAPES)
    return f"{bandit}\t{event}\t{time}\t{kind}\t{of}\t{place}\t\\N\t\\N\t{extra}\n"


def _lines(rows: Iterable[Sequence[Any]]) -> bytes:
    """Return rows of numbers in the text format of COPY."""
    return "".join(
        "\t".join("\\N" if value is None else repr(value) for value in row) + "\n" for row in rows
    ).encode()


def putting(connection: Connection) -> Put:
    """Return a function that has PostgreSQL read many rows, and waits until it has."""

    def put(table: Literal["events", "pending"], rows: Iterable[Sequence[Any]]) -> None:
        data = event_lines(rows) if table == "events" else _lines(rows)
        if data:
            with connection.cursor() as cursor, cursor.copy(_COPY[table]) as copy:
                copy.write(data)

    return put
