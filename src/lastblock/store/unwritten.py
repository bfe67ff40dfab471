"""Events that the database rejects when a store is closed: retry, and keep them in a file."""

import hashlib
import json
import logging
import os
import secrets
import tempfile
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Final

from lastblock.engine.events import KINDS
from lastblock.store.group_commit import Groups
from lastblock.store.messages import number_of, open_elsewhere
from lastblock.store.recovery import recover
from lastblock.store.storage import Row, Storage, TakenOverError
from lastblock.support.errors import StoreError

_log = logging.getLogger(__name__)

CLOSING: Final = 30.0
"""Seconds for which a closing store waits for its database."""

PAUSE: Final = 1.0
"""Seconds between two attempts to write then."""

_FORMAT: Final = 1


def finish(groups: Groups, storage: Storage, names: Mapping[int, str], folder: Path) -> None:
    """Write all events and end the queue.

    If the database rejects the events, they go into a file at once, since this process may be
    killed soon; the file is removed if the database takes them within `CLOSING` seconds.

    Parameters
    ----------
    groups
        The queue.
    storage
        Its database.
    names
        The names of the bandits, by number.
    folder
        Where to put the file; if that is impossible, it is a folder for temporary files.

    Raises
    ------
    StoreError
        If the database did not take them; the queue has ended, and the message names the file.
    """
    rows = groups.waiting()  # first: those that others have taken over leave the queue
    try:
        groups.close()
        return
    except StoreError as error:
        reason = error
    kept = _keep(rows, storage, names, folder)
    if kept is not None:
        _log.warning("%s; the events that wait are in %s until it takes them", reason, kept)
    until, left = time.monotonic() + CLOSING, list[Row]()
    are_lost = isinstance(reason.__cause__, TakenOverError)
    while True:
        try:
            groups.close()
            break
        except StoreError as error:
            reason = error
            are_lost = are_lost or isinstance(reason.__cause__, TakenOverError)
        if storage.is_lost or time.monotonic() >= until:
            left = groups.give_up()
            kept_ones = set(rows)
            if more := [row for row in left if row not in kept_ones]:  # of another thread
                rows += more
                _remove(kept)
                kept = _keep(rows, storage, names, folder)
            break
        time.sleep(PAUSE)
    if not left and not are_lost:
        _remove(kept)
        return
    if not rows:  # they were dropped before, and the reason names them
        raise reason
    said = "are lost, since no file could be written either"
    if kept is not None:
        said = (
            f"are in the file {str(kept)!r}: add them with `lastblock store import` before the "
            "bandits are opened again"
        )
    reason = StoreError(f"{reason}; the last {len(rows)} events {said}")
    _log.error("%s", reason)
    raise reason


def _keep(
    rows: Sequence[Row], storage: Storage, names: Mapping[int, str], folder: Path
) -> Path | None:
    """Write events into a new file, and return it; None if there are none, or it is impossible."""
    if not rows:
        return None
    head = {"lastblock": "events", "format": _FORMAT, "of": storage.label, "store": _mark(storage)}
    lines = [head, *({"bandit": names[row[0]], **_as_entries(row)} for row in rows)]
    data = "".join(f"{json.dumps(line, ensure_ascii=False)}\n" for line in lines).encode()
    name = f"lastblock-events-{datetime.now(UTC):%Y%m%dT%H%M%S}-{secrets.token_hex(4)}.jsonl"
    for place in (folder, Path(tempfile.gettempdir())):
        path = place.absolute() / name
        try:
            with open(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb") as file:
                file.write(data)
                file.flush()
                os.fsync(file.fileno())
            return path
        except OSError as error:
            _log.warning("no events can be kept in %s: %s", path, error)
            _remove(path)
    return None


def _remove(path: Path | None) -> None:
    """Remove a file, if there is one and that is possible."""
    if path is not None:
        with suppress(OSError):
            path.unlink()


def _mark(storage: Storage) -> str:
    """Return a text by which to know a store again."""
    return hashlib.blake2b(storage.secret, digest_size=8).hexdigest()


def _as_entries(row: Row) -> dict[str, Any]:
    _, event, time, kind, decision, arm, value = row
    entries = {"event": event, "time": time, "kind": KINDS[kind]}
    return {**entries, "decision": decision, "arm": arm, "value": value}


def take_in(storage: Storage, path: str | os.PathLike[str]) -> dict[str, int]:
    """Add the events of a file that `finish` has made: all of them, or none on an error.

    Events that the store has already are passed over, so this can be done again.

    Parameters
    ----------
    storage
        The database; nobody may have the bandits open.
    path
        The file.

    Returns
    -------
    dict
        How many events were added to each bandit, by name.

    Raises
    ------
    StoreError
        If the file is not of this store, a bandit is open, or has gone on without these events.
    """
    added: dict[str, list[Row]] = {}
    owned: list[int] = []
    try:
        with storage.view() as view:
            known = view.names()
        for name, rows in _read(storage, Path(path), known).items():
            number = rows[0][0]
            where = storage.own([number])
            if where:
                raise open_elsewhere(storage.label, name, where[number])
            owned.append(number)
            with storage.view() as view:
                last = max(view.last(number), view.snapshot(number).event)
                added[name] = [row for row in rows if row[1] > last]
                old = rows[: len(rows) - len(added[name])]
                stored = view.rows(number, rows[0][1] - 1, len(old)) if old else []
                if [row[1:6] for row in stored] != [row[1:6] for row in old]:
                    raise StoreError(
                        f"bandit {name!r} in {storage.label} has gone on without the events in "
                        f"{str(path)!r}: it has event {last} already; they cannot be added any more"
                    )
                if added[name]:
                    recover(view, name, number, added[name])  # or an error that says what is wrong
        new = [row for rows in added.values() for row in rows]
        storage.write(new, ())
        if new:
            storage.reserve({row[0]: 0 for row in new})  # all decisions that were given are there
    finally:
        for number in owned:
            storage.disown(number)
    return {name: len(rows) for name, rows in added.items()}


def _read(storage: Storage, path: Path, known: Mapping[str, int]) -> dict[str, list[Row]]:
    """Return the events of each bandit in a file."""
    rows: dict[str, list[Row]] = {}
    count = 1
    try:
        with path.open(encoding="utf-8") as lines:
            for count, text in enumerate(lines, 1):
                line = json.loads(text)
                if count == 1:
                    if line["lastblock"] != "events" or line["format"] != _FORMAT:
                        raise ValueError("it does not say that these are events")
                    if line["store"] != _mark(storage):
                        raise StoreError(
                            f"{str(path)!r} has events of another store, {line['of']}; give that"
                        )
                    continue
                name = line["bandit"]
                number = number_of(storage.label, name, known)
                kind = KINDS.index(line["kind"])
                before = line["event"], line["time"], kind, line["decision"], line["arm"]
                rows.setdefault(name, []).append((number, *before, line["value"]))
        if not rows:
            raise ValueError("there are none")
    except OSError as error:
        raise StoreError(f"{str(path)!r} cannot be read: {error.strerror or error}") from error
    except StoreError:
        raise
    except (KeyError, TypeError, ValueError) as error:
        raise StoreError(
            f"line {count} of {str(path)!r} is not an event that a closing store has kept: {error}"
        ) from error
    return rows
