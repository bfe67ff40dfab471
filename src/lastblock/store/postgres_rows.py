"""Rows of events as PostgreSQL's COPY reads them, and columns of numbers as it sends them."""

from collections.abc import Iterable, Sequence

import numpy as np
import numpy.typing as npt

from lastblock.engine.events import ASK, TELL
from lastblock.store.postgres_connections import Connection, run
from lastblock.store.storage import Beginning, Copy, Row, encoded

COPY_EVENTS = (
    b'COPY events (bandit, event, "time", kind, decision, arm, reward, probability, extra) '
    b"FROM STDIN"
)
COPY_PENDING = b'COPY pending (bandit, decision, arm, probability, answered, "time") FROM STDIN'

_ESCAPES = str.maketrans({"\\": "\\\\", "\t": "\\t", "\n": "\\n", "\r": "\\r"})
_ELEMENT = np.dtype([("size", ">i4"), ("value", ">f8")])
_HEAD = 20  # bytes before the elements of an array: dimensions, flags, type, length, lower bound


def begin(
    connection: Connection, beginnings: Sequence[Beginning], *, keep_all: bool
) -> list[list[tuple[int, int]]]:
    """Begin generations; return for each bandit all that may be out, or that the log needs."""
    bandits = [each.bandit for each in beginnings]
    begun = dict(
        run(
            connection,
            "UPDATE bandits SET generation = generation + 1 WHERE bandit = ANY(%s)"
            " RETURNING bandit, generation",
            [bandits],
        )
    )
    run(
        connection,
        "INSERT INTO generations (bandit, first, generation)"
        " SELECT * FROM unnest(%s::bigint[], %s::bigint[], %s::bigint[])"
        " ON CONFLICT (bandit, first) DO UPDATE SET generation = excluded.generation",
        [bandits, [each.asked for each in beginnings], [begun[bandit] for bandit in bandits]],
    )
    if not keep_all:
        run(
            connection,
            "DELETE FROM generations USING unnest(%s::bigint[], %s::bigint[]) AS new (bandit, old)"
            " WHERE generations.bandit = new.bandit AND first < (SELECT max(first) FROM generations"
            " AS other WHERE other.bandit = new.bandit AND other.first <= new.old)",
            [bandits, [each.oldest for each in beginnings]],
        )
    found: dict[int, list[tuple[int, int]]] = {bandit: [] for bandit in bandits}
    for bandit, first, generation in run(
        connection,
        "SELECT bandit, first, generation FROM generations WHERE bandit = ANY(%s)"
        " ORDER BY bandit, first",
        [bandits],
    ):
        found[bandit].append((first, generation))
    return [found[bandit] for bandit in bandits]


def event_lines(rows: Iterable[Row]) -> bytes:
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


def lines(rows: Iterable[Sequence[object]]) -> bytes:
    """Return rows of numbers in the text format of COPY."""
    return "".join(
        "\t".join("\\N" if value is None else repr(value) for value in row) + "\n" for row in rows
    ).encode()


def copy_in(connection: Connection, statement: bytes, data: bytes) -> None:
    """Have PostgreSQL read rows, and wait until it has."""
    with connection.cursor() as cursor, cursor.copy(statement) as copy:
        copy.write(data)


def read_array(data: bytes | None) -> npt.NDArray[np.float64]:
    """Return the numbers of an array, as `array_send` makes it from double precision."""
    if data is None or len(data) <= _HEAD:
        return np.empty(0)
    return np.frombuffer(data, _ELEMENT, offset=_HEAD)["value"].astype(np.float64)


def receive(connection: Connection, name: str, copy: Copy, parts: Iterable[Sequence[Row]]) -> None:
    """Write a bandit that another storage has; rows of events get its number here."""
    columns = ", ".join(copy.kept._fields)
    ((number,),) = run(
        connection,
        f"INSERT INTO bandits (name, {columns}) VALUES (%s{', %s' * len(copy.kept)}) "
        "RETURNING bandit",
        [name, *copy.kept],
    )
    run(connection, "INSERT INTO owners (bandit, epoch, expires) VALUES (%s, 0, now())", [number])
    for arm, label in enumerate(copy.arms):
        values = [number, arm, encoded(label)]
        run(connection, "INSERT INTO arms VALUES (%s, %s, %s)", values)
    for pair in copy.generations:
        run(connection, "INSERT INTO generations VALUES (%s, %s, %s)", [number, *pair])
    copy_in(connection, COPY_PENDING, lines((number, *row) for row in copy.pending))
    for rows in parts:
        copy_in(connection, COPY_EVENTS, event_lines((number, *row[1:]) for row in rows))
