"""Calls of several threads that wait for the disk, and share one commit.

Each call returns when its events are committed. A thread writes the events of all calls that wait,
while the next ones gather. An interrupt (Ctrl-C) never reaches that thread; it may end a call that
waits, whose events are then written or not. `waiting` waits until that is known.
"""

import threading
from collections.abc import Sequence

from lastblock.store.group_commit import Write
from lastblock.store.storage import Row, Snapshot, TakenOverError
from lastblock.support.errors import StoreError


class _Call:
    """A call that waits for its events."""

    def __init__(self, rows: Sequence[Row], snapshots: Sequence[Snapshot]) -> None:
        self.rows, self.snapshots = rows, snapshots
        self.error: BaseException | None = None
        self.gate = threading.Lock()  # locked until the call may go on
        self.gate.acquire()

    @property
    def bandits(self) -> set[int]:
        return {row[0] for row in self.rows} | {each.bandit for each in self.snapshots}


class SharedCommits:
    """A queue whose callers wait until a thread has committed their events.

    Parameters
    ----------
    write
        Writes rows and snapshots, all of them or none.
    """

    def __init__(self, write: Write) -> None:
        self._write = write
        self._lock = threading.Lock()
        self._wake = threading.Condition(self._lock)
        self._calls: list[_Call] = []  # those that no commit includes yet
        self._is_closing = False
        self._thread = threading.Thread(target=self._work, name="lastblock-store", daemon=True)
        self._thread.start()

    def put(self, rows: Sequence[Row], snapshots: Sequence[Snapshot]) -> None:
        """Write rows and snapshots, and wait for the commit; raise a `StoreError` if it fails."""
        call = _Call(rows, snapshots)
        if not self._add(call):
            raise StoreError("the store is closed; open it again with Store()")
        call.gate.acquire()
        if isinstance(call.error, TakenOverError):
            raise TakenOverError(call.error.bandits, str(call.error)) from call.error
        if call.error is not None:
            raise StoreError(str(call.error)) from call.error

    def _add(self, call: _Call) -> bool:
        """Have a call written; return False if the queue is closed."""
        with self._lock:
            if not self._is_closing:
                self._calls.append(call)
                self._wake.notify()
            return not self._is_closing

    def flush(self) -> None:
        """Wait for all calls so far; their callers get the errors."""
        last = _Call((), ())  # it goes on after all those before it
        if self._add(last):
            last.gate.acquire()
        else:
            self._thread.join()

    def waiting(self) -> list[Row]:
        """Wait for all calls so far, since one that fails leaves no events; return no rows."""
        self.flush()
        return []

    def close(self) -> None:
        """Write everything and end the thread."""
        with self._lock:
            self._is_closing = True
            self._wake.notify()
        self._thread.join()

    def give_up(self) -> None:
        """Do as `close` does: each call ends with its commit or its error."""
        self.close()

    def _work(self) -> None:
        while calls := self._take():
            self._commit(calls)
            for call in calls:
                call.gate.release()

    def _take(self) -> list[_Call]:
        with self._lock:
            while not self._calls and not self._is_closing:
                self._wake.wait()
            calls, self._calls = self._calls, []
            return calls

    def _commit(self, calls: Sequence[_Call]) -> None:
        """Write the events of these calls in one transaction, or note why not."""
        rows = [row for call in calls for row in call.rows]
        latest: dict[int, Snapshot] = {}
        for snapshot in (each for call in calls for each in call.snapshots):
            latest[snapshot.bandit] = snapshot.after(latest.get(snapshot.bandit))
        try:
            self._write(rows, list(latest.values()))
        except TakenOverError as error:
            gone = [call for call in calls if call.bandits & error.bandits]
            for call in gone:
                call.error = error
            if gone and len(gone) < len(calls):
                self._commit([call for call in calls if call.error is None])
        except BaseException as error:
            for call in calls:
                call.error = error
