"""Group commit: what many calls have to write goes to the disk together, in a thread."""

import threading
import time
from collections.abc import Callable, Sequence

from lastblock.errors import StoreError
from lastblock.store.storage import Row, Snapshot

MOST = 20_000
"""Events that may wait. Whoever brings more waits for the disk, so that memory and what a crash can
lose stay bounded where the disk is slower than the callers."""

AGAIN = 1.0
"""Seconds until a group that could not be written is tried again, if nobody asks before."""

Write = Callable[[Sequence[Row], Sequence[Snapshot]], None]


class Groups:
    """A queue that is written every `interval` seconds, if there is anything in it.

    What could not be written stays in the queue, and until it is written nothing more is taken.
    All writing is done in the thread: an interrupt never hits it.
    """

    def __init__(self, write: Write, interval: float) -> None:
        self._write, self._interval = write, interval
        self._lock = threading.Lock()
        self._wake, self._done = threading.Condition(self._lock), threading.Condition(self._lock)
        self._rows: list[Row] = []
        self._snapshots: list[Snapshot] = []
        self._added = self._written = self._failures = 0
        self._error: BaseException | None = None
        self._is_urgent = self._is_closing = False
        self._thread = threading.Thread(target=self._work, name="lastblock-store", daemon=True)
        self._thread.start()

    def put(self, rows: Sequence[Row], snapshots: Sequence[Snapshot]) -> None:
        """Into the next group. If the last one could not be written, a StoreError, and nothing."""
        with self._lock:
            if self._error is not None or len(self._rows) >= MOST:
                self._wait()
            was_empty = self._written == self._added
            self._rows += rows
            self._added += len(rows)
            if snapshots:
                self._snapshots += snapshots
                self._added += len(snapshots)
            if was_empty:
                self._wake.notify()

    def flush(self) -> None:
        """Write now, and wait for it."""
        with self._lock:
            self._wait()

    def waiting(self) -> list[Row]:
        """What may not have been written yet, in order."""
        with self._lock:
            return list(self._rows)

    def close(self) -> None:
        """Write, and end the thread; if it cannot be written, it stays as it was."""
        with self._lock:
            if self._is_closing:
                return
            self._wait()
            self._is_closing = True
            self._wake.notify()
        self._thread.join()

    def _wait(self) -> None:
        goal, failures = self._added, self._failures
        while self._written < goal:
            if self._failures > failures:
                raise StoreError(str(self._error)) from self._error
            if self._is_closing:
                raise StoreError("the store is closed")
            self._is_urgent = True
            self._wake.notify()
            self._done.wait()

    def _work(self) -> None:
        begun = -self._interval
        while self._fill(begun):
            begun = time.monotonic()
            rows, snapshots = self._take()
            try:
                self._write(rows, snapshots)
            except BaseException as error:
                with self._lock:
                    self._error = error
                    self._failures += 1
                    self._done.notify_all()
            else:
                with self._lock:
                    del self._rows[: len(rows)], self._snapshots[: len(snapshots)]
                    self._written += len(rows) + len(snapshots)
                    self._error = None
                    self._done.notify_all()

    def _fill(self, begun: float) -> bool:
        """Wait until there is a group to write; False if there will be none."""
        with self._lock:
            while not (self._rows or self._snapshots):
                if self._is_closing:
                    return False
                self._is_urgent = False
                self._wake.wait()
            due = begun + (self._interval if self._error is None else AGAIN)
            while not (self._is_urgent or self._is_closing) and time.monotonic() < due:
                self._wake.wait(max(0.0, due - time.monotonic()))
            return True

    def _take(self) -> tuple[list[Row], list[Snapshot]]:
        """The group: all that is there. It stays in the queue until it is written."""
        with self._lock:
            self._is_urgent = False
            return list(self._rows), list(self._snapshots)
