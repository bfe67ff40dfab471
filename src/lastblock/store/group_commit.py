"""Group commit: a thread writes the events of many calls to the disk together.

The callers of `Groups` do not wait for the disk; those of `SharedCommits` do.
"""

import logging
import threading
import time
from collections import deque
from collections.abc import Callable, Sequence
from typing import NamedTuple

from lastblock.store.storage import MOST_LOSSES, Row, Snapshot, TakenOverError
from lastblock.support.errors import StoreError

_log = logging.getLogger(__name__)

MOST = 20_000
"""The most events that may wait. Further calls wait for the disk, so that a slow disk costs neither
more memory nor more events in a crash."""

AGAIN = 1.0
"""Seconds until we try again to write a group that could not be written, unless `flush` asks."""

Write = Callable[[Sequence[Row], Sequence[Snapshot]], None]

WhenWritten = Callable[[StoreError | None], object]
"""A function that is told that events are written, by None, or why they are not."""


class Backlog(NamedTuple):
    """The events of a store that wait to be written."""

    events: int
    """How many wait."""
    problem: str | None
    """Why the last group could not be written; None if it could."""


class Groups:
    """A queue whose contents a thread writes every `interval` seconds.

    What could not be written stays in the queue, which accepts nothing more until it is written.
    Only the events of bandits that another store has taken over are dropped.

    Interrupts (Ctrl-C) never reach the thread, which does all writing. They may reach the callers,
    after any function call within these methods. So no call comes between changes that belong
    together, and only the thread waits on the condition, since an interrupt could make such a wait
    end without its lock.

    Parameters
    ----------
    write
        Writes rows and snapshots, all of them or none.
    interval
        Seconds between two groups.
    """

    def __init__(self, write: Write, interval: float) -> None:
        self._write, self._interval = write, interval
        self._lock = threading.Lock()
        self._wake = threading.Condition(self._lock)
        self._gates: list[threading.Lock] = []  # each lets a waiting caller go on after a group
        self._told_later: list[tuple[int, WhenWritten]] = []  # see `when_written`
        self._rows: list[Row] = []
        self._snapshots: dict[int, Snapshot] = {}  # the latest of each bandit
        self._added = self._taken = self._written = 0  # these count calls of `put`
        self._failures = 0
        self.dropped: deque[str] = deque(maxlen=MOST_LOSSES)
        """What was not written since others had the bandits: the latest sentences."""
        self._dropping: TakenOverError | None = None  # why events were dropped, the last time
        self._dropped_until = 0  # of calls up to this one; `_told_until`: and `flush` has said so
        self._told_until = 0
        self._error: BaseException | None = None
        self._is_urgent = self._is_closing = self._has_given_up = False
        self._thread = threading.Thread(target=self._work, name="lastblock-store", daemon=True)
        self._thread.start()

    def put(self, rows: Sequence[Row], snapshots: Sequence[Snapshot]) -> None:
        """Add rows and snapshots to the next group.

        If the last group cannot be written, raise a `StoreError` and add nothing.
        """
        latest = {snapshot.bandit: snapshot for snapshot in snapshots} if snapshots else {}
        while not self._add(rows, latest):
            self.flush()

    def _add(self, rows: Sequence[Row], snapshots: dict[int, Snapshot]) -> bool:
        with self._lock:
            if self._is_closing:
                raise StoreError("the store is closed; open it again with Store()")
            if self._error is not None or len(self._rows) >= MOST:
                return False
            later = snapshots and {
                bandit: snapshot.after(self._snapshots.get(bandit))
                for bandit, snapshot in snapshots.items()
            }
            if self._written == self._added:
                self._wake.notify()  # the thread goes on when we release the lock
            self._rows += rows
            self._snapshots |= later
            self._added += 1
            return True

    def flush(self) -> None:
        """Have everything written now, and wait for that; raise a `StoreError` if it fails."""
        with self._lock:
            goal, failures, told = self._added, self._failures, self._told_until
            self._told_until = self._dropped_until  # this call tells of what was dropped so far
        while gate := self._gate(goal, failures, told):
            gate.acquire()

    def _gate(self, goal: int, failures: int, told: int) -> "threading.Lock | None":
        """Return a lock that opens after the next group; None if `goal` has been reached."""
        with self._lock:
            if self._dropped_until > told:
                self._told_until = self._dropped_until
                raise StoreError(str(self._dropping)) from self._dropping
            if self._written >= goal:
                return None
            if self._failures > failures or self._has_given_up:
                raise StoreError(str(self._error)) from self._error
            gate = threading.Lock()
            gate.acquire()
            self._gates.append(gate)
            self._is_urgent = True
            self._wake.notify()
            return gate

    def when_written(self, function: WhenWritten) -> None:
        """Have everything written now, and call a function when it is, or when it fails.

        The thread calls it, or this call does if there is nothing to write.
        """
        with self._lock:
            is_written = self._written >= self._added
            if not is_written:
                self._told_later.append((self._added, function))
                self._is_urgent = True
                self._wake.notify()
        if is_written:
            function(None)

    @property
    def position(self) -> int:
        """How many calls of `put` there were; see `dropped_since`."""
        return self._added

    def dropped_since(self, position: int) -> StoreError | None:
        """Return why events of calls after a position may have been dropped; None if none were."""
        return self._dropping if self._dropped_until > position else None

    @property
    def problem(self) -> str | None:
        """Why the last group could not be written; None if it could."""
        error = self._error
        return None if error is None else str(error)

    def __len__(self) -> int:
        return len(self._rows)

    def waiting(self) -> list[Row]:
        """Return the rows that may not have been written yet, in order."""
        with self._lock:
            return list(self._rows)

    def saving(self, bandit: int) -> int:
        """Return the event of the bandit's snapshot that waits to be written; 0 if none does."""
        found = self._snapshots.get(bandit)
        return 0 if found is None else found.event

    def give_up(self) -> list[Row]:
        """End the thread, and return the rows that could not be written."""
        with self._lock:
            self._is_closing = self._has_given_up = True
            self._wake.notify()
        self._thread.join()
        with self._lock:
            gates, self._gates = self._gates, []
            told, self._told_later = self._told_later, []
        for gate in gates:
            gate.release()
        for _, function in told:
            function(StoreError(str(self._error)))
        return self.waiting()

    def close(self) -> None:
        """Write everything and end the thread; if writing fails, leave the queue as it is."""
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
        """Wait until there is a group to write; return False if there will be none."""
        with self._lock:
            while self._written == self._added:
                if self._is_closing:
                    return False
                self._is_urgent = False
                self._wake.wait()
            due = begun + (self._interval if self._error is None else AGAIN)
            while not (self._is_urgent or self._has_given_up) and time.monotonic() < due:
                self._wake.wait(max(0.0, due - time.monotonic()))
            return not self._has_given_up

    def _take(self) -> tuple[list[Row], list[Snapshot]]:
        """Return all that is in the queue; it stays there until it is written."""
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
        """Note that a group failed with `error`, or that `rows` and `snapshots` are written."""
        dropped: list[str] = []
        with self._lock:
            failed, self._error = self._error is not None, error
            if error is None:
                del self._rows[: len(rows)]
                for snapshot in snapshots:
                    if self._snapshots.get(snapshot.bandit) is snapshot:  # and not a later one
                        del self._snapshots[snapshot.bandit]
                self._written = self._taken
            else:
                self._failures += 1
                if isinstance(error, TakenOverError):
                    dropped = self._dropped(error)
                    if dropped:
                        self._dropped_until, self._dropping = self._added, error
                    self._rows = [row for row in self._rows if row[0] not in error.bandits]
                    for bandit in error.bandits:
                        self._snapshots.pop(bandit, None)
                    self._is_urgent = True  # the other bandits need not wait
            gates, self._gates = self._gates, []
            is_over = error is not None
            due = [told for goal, told in self._told_later if is_over or goal <= self._written]
            self._told_later = [
                (goal, told)
                for goal, told in self._told_later
                if not is_over and goal > self._written
            ]
        failure = None if error is None else StoreError(str(error))
        for told in due:
            told(failure)
        for sentence in dropped:
            _log.error("%s", sentence)
        if error is not None:
            _log.warning("a group of events could not be written; trying again: %s", error)
        elif failed:
            _log.info("the group of %d events that could not be written is written", len(rows))
        for gate in gates:
            gate.release()

    def _dropped(self, error: TakenOverError) -> list[str]:
        """Return which events will never be written, a sentence for each bandit."""
        sentences = []
        for bandit, story in error.stories.items():
            places = [row[1] for row in self._rows if row[0] == bandit]
            if places:
                sentences.append(
                    f"events {places[0]} to {places[-1]}, which waited to be written, are lost: "
                    f"{story}"
                )
        self.dropped += sentences
        return sentences


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

    The thread writes the events of all calls that wait, while the next ones gather. An interrupt
    (Ctrl-C) never reaches it; it may end a call that waits, whose events are then written or not.
    `waiting` waits until that is known.

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
            raise call.error.among(call.bandits) from call.error
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
