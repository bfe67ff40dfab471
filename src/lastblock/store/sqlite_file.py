"""The database file of a store: its place, whether it is still there, and its locks."""

import logging
import os
from contextlib import suppress
from pathlib import Path

from lastblock.store.owners import SIDES, Owners
from lastblock.store.sqlite_connections import NOT_A_STORE, check_not_inherited, identity
from lastblock.support.errors import StoreError

_log = logging.getLogger(__name__)
_warned: set[str] = set()
_SMALLEST = 512  # bytes; an SQLite file that is not empty has at least these


class SQLiteFile:
    """A database file, and SQLite's log beside it."""

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self._path = Path(path).absolute()
        self.label = f"the store {str(self._path)!r}"
        self._files: tuple[int, ...] = ()  # which files they are; empty unless open
        self._owners: Owners | None = None
        self._log_owners: Owners | None = None
        self._check_place()
        self.path = self._path.resolve()  # SQLite keeps its log beside the resolved path
        self._places = str(self.path), f"{self.path}-wal", f"{self.path}-shm"

    def _check_place(self) -> None:
        try:
            if self._path.is_dir():
                raise StoreError(f"{self.label} is a folder; give the name of a file")
            if not self._path.parent.is_dir():
                raise StoreError(f"cannot create {self.label}: its folder does not exist; make it")
            # We do not test by opening: closing it again would release others' locks in here.
            if self._path.exists() and not os.access(self._path, os.R_OK | os.W_OK):
                raise StoreError(f"{self.label} is read-only; change its permissions, or copy it")
            check_not_inherited(self._path, self.label)
        except OSError as error:
            raise StoreError(f"cannot reach {self.label}: {error.strerror}") from error

    def open(self) -> None:
        """Lock the file until `is_ready` or `close`; create an empty one if there is none."""
        try:
            self._owners = Owners(self.path)
        except OSError as error:
            raise StoreError(
                f"{self.label} cannot be used: {error.strerror}; choose a folder in which you may "
                "write"
            ) from error
        if self._owners.names > 1:
            raise StoreError(
                f"{self.label} has {self._owners.names} names (hard links), and SQLite would keep "
                "a log for each; remove the other names, or copy the file"
            )
        self._owners.take(0, wait=True)
        self._warn_if_open_to_others()
        if not self._owners.share_name(str(self.path)):
            raise StoreError(
                f"{self.label} is open under another name, since it was moved or linked; close it "
                "there first"
            )
        self._share_log()
        if 0 < self.size < _SMALLEST:  # SQLite would take it for an empty file
            raise StoreError(f"{self.label} {NOT_A_STORE}")

    def _warn_if_open_to_others(self) -> None:
        """Log, once for a file, that other users of the machine can read or write it."""
        if os.name != "posix":
            return
        for place in self._places:
            with suppress(FileNotFoundError):
                mode = os.stat(place).st_mode & 0o777
                if mode & 0o077 and place not in _warned:
                    _warned.add(place)
                    _log.warning(
                        "%s: other users of this machine can open %r (mode %o), which holds the "
                        "secrets of its service; run chmod 600 on it",
                        self.label,
                        place,
                        mode,
                    )

    def _share_log(self) -> None:
        """Note that the log is this file's; raise a `StoreError` if another open file uses it."""
        if self._log_owners is not None:
            self._log_owners.close()
        try:
            self._log_owners = Owners(Path(self._places[1]), make=False)
        except FileNotFoundError:
            return
        if not self._log_owners.share_name(str(self._identity)):
            raise StoreError(
                f"{self.label} has replaced a file that is still open and still uses the log "
                f"{self.path.name}-wal; close that one first"
            )

    @property
    def size(self) -> int:
        """The size of the file in bytes, without the log."""
        return self.path.stat().st_size

    @property
    def _identity(self) -> object:
        return None if self._owners is None else self._owners.identity

    def is_ready(self) -> None:
        """Let others open the file too, and note which file it is, to find out if it is moved."""
        self._share_log()
        self._files = self._found()
        if identity(self.path) != self._identity:
            raise StoreError(f"{self.label} was replaced while it was opened; open it again")
        if self._owners is not None:
            if not self._owners.share_name(str(self._files[2:]), SIDES):
                raise StoreError(
                    f"{self.label} is open elsewhere, and the files {self.path.name}-wal and -shm "
                    "that SQLite keeps beside it were removed meanwhile; close it there first"
                )
            self._owners.give(0)

    def _found(self) -> tuple[int, ...]:
        """Return which files are now at the three places; fast, since each commit needs it."""
        try:
            file, log, index = map(os.stat, self._places)
        except OSError:
            return ()
        return file.st_ino, file.st_dev, log.st_ino, index.st_ino

    @property
    def is_open(self) -> bool:
        """Whether the file is ready and has not been closed since."""
        return bool(self._files)

    @property
    def is_lost(self) -> bool:
        """Whether the file or its log was moved, deleted or replaced."""
        return self._found() != self._files and bool(self._files)

    def check_found(self) -> None:
        """Raise a `StoreError` if the file is lost."""
        if not self.is_lost:
            return
        what = self.label
        if identity(self.path) == self._identity:
            what = f"{self.path.name}-wal or {self.path.name}-shm, which belongs to {self.label},"
        raise StoreError(
            f"{what} was deleted, moved or replaced while it was open; put it back, or close the "
            "store and open it again"
        )

    def take(self, bandit: int) -> bool:
        """Own a bandit; return False if somebody else does."""
        return self._owners is not None and self._owners.take(bandit)

    def give(self, bandit: int) -> None:
        """Let others own a bandit."""
        if self._owners is not None:
            self._owners.give(bandit)

    def close(self) -> None:
        """Release all locks, after the connections were closed; closing twice is not an error."""
        self._files = ()
        for owners in (self._log_owners, self._owners):
            if owners is not None:
                owners.close()

    def abandon(self) -> None:
        """Forget the locks, in the child of a fork, where their handles are closed already."""
        self._files = ()
        self._owners = self._log_owners = None
