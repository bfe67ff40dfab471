"""Group commit: what many calls have to write goes to the disk together, in a thread."""

import threading
import time
from collections.abc import Callable, Sequence

from lastblock.store.storage import Row, Snapshot
from lastblock.support.errors import StoreError

MOST = 20_000
"""Events that may wait. Whoever brings more waits for the disk, so that memory and what a crash can
lose stay bounded where the disk is slower than the callers."""

AGAIN = 1.0
"""Seconds until a group that could not be written is tried again, if nobody asks before."""

Write = Callable[[Sequence[Row], Sequence[Snapshot]], None]


class Groups:
    """A queue that is written every `interval` seconds, if there is anything in it.

    What could not be written stays in the queue, and until it is written nothing more is taken.
    All writing is done in the thread: an interrupt never hits it. It may hit whoever calls, after
    any call within these methods; so what belongs together is changed without one in between, and
    nobody but the thread waits on a condition, which an interrupt could leave without its lock.
    """

    def __init__(self, write: Write, interval: float) -> None:
        self._write, self._interval = write, interval
        self._lock = threading.Lock()
        self._wake = threading.Condition(self._lock)
        self._gates: list[threading.Lock] = []  # of those who wait; locked until a group is through
        self._rows: list[Row] = []
        self._snapshots: dict[int, Snapshot] = {}  # of each bandit the latest: it holds the others
        self._added = self._taken = self._written = 0  # calls of `put`
        self._failures = 0
        self._error: BaseException | None = None
        self._is_urgent = self._is_closing = False
        self._thread = threading.Thread(target=self._work, name="lastblock-store", daemon=True)
        self._thread.start()

    def put(self, rows: Sequence[Row], snapshots: Sequence[Snapshot]) -> None:
        """Into the next group. If the last one could not be written, a StoreError, and nothing."""
        latest = {snapshot.bandit: snapshot for snapshot in snapshots} if snapshots else {}
        while not self._add(rows, latest):
            self.flush()

    def _add(self, rows: Sequence[Row], snapshots: dict[int, Snapshot]) -> bool:
        with self._lock:
            if self._is_closing:
                raise StoreError("the store is closed")
            if self._error is not None or len(self._rows) >= MOST:
                return False
            later = snapshots and {
                bandit: snapshot.after(self._snapshots.get(bandit))
                for bandit, snapshot in snapshots.items()
            }
            if self._written == self._added:
                self._wake.notify()  # it gets the lock when all is there
            self._rows += rows
            self._snapshots |= later
            self._added += 1
            return True

    def flush(self) -> None:
        """Write now, and wait for it."""
        with self._lock:
            goal, failures = self._added, self._failures
        while gate := self._gate(goal, failures):
            gate.acquire()

    def _gate(self, goal: int, failures: int) -> "threading.Lock | None":
        """What opens after the next group, if that is needed."""
        with self._lock:
            if self._written >= goal:
                return None
            if self._failures > failures:
                raise StoreError(str(self._error)) from self._error
            gate = threading.Lock()
            gate.acquire()
            self._gates.append(gate)
            self._is_urgent = True
            self._wake.notify()
            return gate

    def waiting(self) -> list[Row]:
        """What may not have been written yet, in order."""
        with self._lock:
            return list(self._rows)

    def give_up(self) -> None:
        """End the thread; what could not be written is lost."""
        with self._lock:
            self._rows.clear()
            self._snapshots.clear()
            self._written = self._taken = self._added
            self._is_closing = True
            self._error = None
            self._wake.notify()
        self._thread.join()

    def close(self) -> None:
        """Write, and end the thread; if it cannot be written, it stays as it was."""
        while not self._end():
            self.flush()
        self._thread.join()

    def _end(self) -> bool:
        with self._lock:
            if self._written < self._added:
                return False
            self._is_closing = True
            self._wake.notify()
            return True

    def _work(self) -> None:
        begun = -self._interval
        while self._fill(begun):
            begun = time.monotonic()
            rows, snapshots = self._take()
            try:
                self._write(rows, snapshots)
            except BaseException as error:
                self._through(error)
            else:
                self._through(None, rows, snapshots)

    def _fill(self, begun: float) -> bool:
        """Wait until there is a group to write; False if there will be none."""
        with self._lock:
            while self._written == self._added:
                if self._is_closing:
                    return False
                self._is_urgent = False
                self._wake.wait()
            due = begun + (self._interval if self._error is None else AGAIN)
            while not self._is_urgent and time.monotonic() < due:
                self._wake.wait(max(0.0, due - time.monotonic()))
            return True

    def _take(self) -> tuple[list[Row], list[Snapshot]]:
        """The group: all that is there. It stays in the queue until it is written."""
        with self._lock:
            self._is_urgent = False
            self._taken = self._added
            return list(self._rows), list(self._snapshots.values())

    def _through(
        self,
        error: BaseException | None,
        rows: Sequence[Row] = (),
        snapshots: Sequence[Snapshot] = (),
    ) -> None:
        """Note what became of a group; these have been written."""
        with self._lock:
            self._error = error
            if error is None:
                del self._rows[: len(rows)]
                for snapshot in snapshots:
                    if self._snapshots.get(snapshot.bandit) is snapshot:  # else a later one came
                        del self._snapshots[snapshot.bandit]
                self._written = self._taken
            elif self._is_closing:
                self._error = None  # it was given up meanwhile
            else:
                self._failures += 1
            gates, self._gates = self._gates, []
        for gate in gates:
            gate.release()
