"""Read a store without changing it, also while others write to it."""

import json
import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from threading import RLock
from typing import Any, NamedTuple

from lastblock.core.registry import as_written, build
from lastblock.engine.events import ASK, ASK_AMONG, KINDS
from lastblock.live import persistence
from lastblock.live.bandit import Bandit
from lastblock.store import export
from lastblock.store.export_formats import iso
from lastblock.store.messages import number_of, place_of
from lastblock.store.opening import check_kind, is_postgres, load_psycopg
from lastblock.store.owners import Owners
from lastblock.store.recovery import damage_explained, events_to_verify, recover, verify
from lastblock.store.schema import check_format
from lastblock.store.sqlite import APPLICATION
from lastblock.store.sqlite_connections import NOT_A_STORE, PATIENCE, connect, explained
from lastblock.store.sqlite_view import SQLiteView
from lastblock.store.storage import View
from lastblock.support.errors import UNREADABLE, StateFileError, StoreError
from lastblock.support.spelling import nearest

ADD_ARM, RETIRE_ARM = KINDS.index("add_arm"), KINDS.index("retire_arm")


class About(NamedTuple):
    """What a store knows of a bandit without replaying any event."""

    name: str
    policy: str
    """The policy as a user writes it."""
    arms: int
    """The number of active arms."""
    retired: int
    """The number of retired arms."""
    decisions: int
    """The number of decisions that have been asked for."""
    last: int | None
    """The time of the last event that is kept, in microseconds since 1970; None if none is."""
    owner: str | None
    """Words for the process that has it open; None if nobody has."""
    damage: str | None
    """What is wrong with its snapshot; None if nothing is."""

    def to_dict(self) -> dict[str, object]:
        """Return the entries as values for JSON; the time is written in ISO 8601."""
        return {**self._asdict(), "last": None if self.last is None else iso(self.last)}


class Reading:
    """A store as it was at one moment, to be read only; `reading` opens it.

    Parameters
    ----------
    view
        The storage at that moment.
    owner
        Returns words for who has the bandit of a number open, or None.
    """

    def __init__(self, view: View, owner: Callable[[int], str | None]) -> None:
        self.view, self.owner = view, owner
        self.label = view.label

    def names(self) -> dict[str, int]:
        """Return the number of each bandit, by name."""
        return self.view.names()

    def number(self, name: str) -> int:
        """Return the number of a bandit, or raise a `StoreError` that suggests the nearest name."""
        return number_of(self.label, name, self.names())

    def about(self, name: str) -> About:
        """Return what is known of a bandit without replaying its events."""
        number = self.number(name)
        saved = self.view.snapshot(number)
        since = self.view.since_snapshot(number)
        active, asked, ever, damage = 0, 0, 0, None
        try:
            ever = len(self.view.arms(number))
            described = persistence.unpack(bytes(saved.body))[0]
            active = len(described["active"])
            asked = saved.next_id - sum(end - first for first, end in described["lost"])
        except (StateFileError, *UNREADABLE) as error:
            damage = str(error)
        gone = since.get(RETIRE_ARM, 0)
        arms = active + since.get(ADD_ARM, 0) - gone
        return About(
            name,
            written_policy(saved.policy),
            arms,
            max(0, ever - arms),
            asked + since.get(ASK, 0) + since.get(ASK_AMONG, 0),
            self.view.last_time(number),
            self.owner(number),
            damage,
        )

    def bandit(self, name: str) -> Bandit[Any]:
        """Return a bandit as it was at this moment; what happens to it is not stored."""
        return recover(self.view, name, self.number(name)).bandit

    def events_to_verify(self, name: str) -> int:
        """Return how many events `verify` replays."""
        number = self.number(name)
        with damage_explained(self.view, name):
            return events_to_verify(self.view, number)

    def verify(self, name: str, tick: Callable[[int], object]) -> int:
        """Verify a bandit, as `Store.verify` does; `tick` counts the events."""
        return verify(self.view, name, self.number(name), tick)

    def log(self, name: str, what: export.What = export.DECISIONS) -> export.ExportedLog:
        """Return the log of a bandit, to be read before the store is closed."""
        return export.read_log(self.view, name, self.number(name), what)


def written_policy(description: str) -> str:
    """Return a policy as a user writes it, from the JSON that a store keeps.

    A class that is not imported here, a user's own, has all its parameters.
    """
    try:
        found = json.loads(description)
        with suppress(ValueError, TypeError):
            return as_written(build(found))
        given = ", ".join(f"{name}={value!r}" for name, value in found["parameters"].items())
        return f"{found['name']}({given})"
    except UNREADABLE:
        return "?"


@contextmanager
def reading(place: str | os.PathLike[str]) -> Iterator[Reading]:
    """Open a store of either kind for reading. It must exist, in the format of this version.

    Parameters
    ----------
    place
        The path or URL of the store.

    Raises
    ------
    StoreError
        If it cannot be read; the message says why, and what to do.
    ModuleNotFoundError
        If it is a PostgreSQL database, and psycopg is not installed.
    """
    if is_postgres(place):
        load_psycopg()
        from lastblock.store.postgres_view import open_view  # noqa: PLC0415  # needs psycopg

        with open_view(str(place)) as (view, owner):
            yield Reading(view, owner)
        return
    check_kind(place)
    path = Path(place).absolute()
    with _file_view(path, f"the store {str(path)!r}") as reader:
        yield reader


@contextmanager
def _file_view(path: Path, label: str) -> Iterator[Reading]:
    if not path.is_file():
        raise _missing(path)
    with explained(label):
        connection = connect(path.resolve(), RLock(), timeout=PATIENCE)
        try:
            ((application,),) = connection.execute("PRAGMA application_id")
            ((version,),) = connection.execute("PRAGMA user_version")
            connection.execute("PRAGMA query_only = ON")
        except BaseException:
            connection.close()
            raise
    view = SQLiteView(connection, label)
    with view:
        if application != APPLICATION:
            raise StoreError(f"{label} {NOT_A_STORE}")
        check_format(label, version, "sqlite")
        yield Reading(view, lambda bandit: _owner(path, view, bandit))


def _missing(path: Path) -> StoreError:
    """Return the error for a file that is not there, with the nearest name in its folder."""
    if path.is_dir():
        return StoreError(f"{str(path)!r} is a folder; give the path of a store's file")
    near = None
    with suppress(OSError):
        near = nearest(path.name, [other.name for other in path.parent.iterdir()])
    hint = f"did you mean {str(path.with_name(near))!r}?" if near else "give the path of a store"
    return StoreError(f"there is no file {str(path)!r}; {hint}")


def _owner(path: Path, view: SQLiteView, bandit: int) -> str | None:
    """Return words for the process that has a bandit of a file open; None if nobody has."""
    try:
        owners = Owners(path.resolve(), make=False)
    except OSError:  # we may not write to the file, and so cannot ask for its locks
        return None
    try:
        return None if owners.is_free(bandit) else place_of(view.owner(bandit))
    finally:
        owners.close()
