"""Who owns which bandit on PostgreSQL: leases that end, and checks that fence stale owners off.

An owner's row has an epoch and a time until which nobody else may take the bandit. The owner renews
its leases every `RENEW` seconds. If it cannot, it stops deciding `MARGIN` seconds before they end.
Who takes a bandit over raises its epoch, under the lock of the row. Every transaction that writes
locks the row too, and checks that its epoch is the one that it was given. So an owner that was
stopped, and wakes up later, cannot write any more, whatever it believes.

A database may also go back to an earlier state under its owners: an older copy is restored, or a
replica that was behind becomes the primary. So every transaction that writes, and every renewal,
also checks that the last event that this store has written of each bandit is still there.
"""

import logging
import threading
import time
from collections import deque
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from typing import Any

import psycopg

from lastblock.store.holders import Holder, this_process
from lastblock.store.postgres_connections import (
    Connection,
    Connections,
    DedicatedConnection,
    all_rows,
    last_rows,
    run,
    transactions_of,
)
from lastblock.store.postgres_schema import version
from lastblock.store.queries import deleted
from lastblock.store.schema import check_format
from lastblock.store.storage import MOST_LOSSES, BanditHolder, TakenOverError
from lastblock.support.errors import StoreError

_log = logging.getLogger(__name__)

LEASE = 10.0
"""Seconds that a lease lasts."""

RENEW = 3.0
"""Seconds between two renewals."""

MARGIN = 1.0
"""Seconds before the end of a lease from which its owner takes no more decisions."""

AGAIN = 1.0
"""Seconds until the next attempt after a renewal that failed."""

_EVER = 1 << 62
_LAST = (
    "greatest(last_event, (SELECT max(event) FROM events WHERE events.bandit = bandits.bandit "
    "AND event > last_event))"
)
"""The last event of a bandit. The bound spares looking at those that a snapshot has dropped."""

_STANDING = (
    f"SELECT bandit, epoch, {_LAST} FROM owners JOIN bandits USING (bandit) "
    "WHERE bandit IN ({bandits}) AND holder = '{me}'"
)
_RETURNING = (
    "RETURNING owners.bandit, epoch, "
    f"(SELECT {_LAST} FROM bandits WHERE bandits.bandit = owners.bandit)"
)
_NAME = "(SELECT name FROM bandits WHERE bandits.bandit = owners.bandit)"
_STORY = (
    "SELECT epoch, process, host, identity, greatest(last_event, (SELECT max(event) FROM events "
    'WHERE events.bandit = bandits.bandit AND event > last_event AND "time" <= %s)) '
    "FROM bandits LEFT JOIN owners USING (bandit) WHERE bandit = %s"
)
_FREE = "UPDATE owners SET holder = NULL WHERE bandit = %s AND holder = %s"
_SEQUENCE = "pg_get_serial_sequence('bandits', 'bandit')"
_USED = f"SELECT setval({_SEQUENCE}, greatest(%s, nextval({_SEQUENCE})))"

_MINE = (
    "UPDATE owners SET epoch = epoch + 1, holder = %(me)s, process = %(process)s, "
    "host = %(host)s, identity = %(identity)s, "
    "expires = clock_timestamp() + make_interval(secs => %(lease)s) "
)
_TAKE = _MINE + (
    "WHERE bandit = %(bandit)s AND (holder IS NULL OR holder IN (%(me)s, %(ended)s) "
    f"OR expires <= clock_timestamp()) RETURNING epoch, {_NAME}"
)
_TAKE_FREE = (
    "WITH free AS (SELECT bandit FROM owners WHERE bandit = ANY(%(bandits)s) AND "
    "(holder IS NULL OR holder = %(me)s OR expires <= clock_timestamp()) "
    f"ORDER BY bandit FOR NO KEY UPDATE SKIP LOCKED) {_MINE}"
    f"FROM free WHERE owners.bandit = free.bandit RETURNING owners.bandit, epoch, {_NAME}"
)
_OWNER = (
    "SELECT holder, process, host, identity, "
    "extract(epoch FROM expires - clock_timestamp())::float8 FROM owners WHERE bandit = %s"
)
_HOLDERS = (
    "SELECT name, bandit, CASE WHEN expires > clock_timestamp() THEN holder END, process, host, "
    "identity FROM bandits LEFT JOIN owners USING (bandit)"
)


def clock() -> float:
    """Return seconds of a clock that never goes back, and that runs while the machine sleeps."""
    if hasattr(time, "CLOCK_BOOTTIME"):
        return time.clock_gettime(time.CLOCK_BOOTTIME)
    return time.monotonic()


class Leases:
    """The leases of one store.

    Parameters
    ----------
    connections
        The store's connections.
    me
        The name of this store among the owners.
    """

    def __init__(self, connections: Connections, me: str) -> None:
        self._connections, self._me = connections, me
        self._label = connections.label
        self._dedicated = DedicatedConnection(connections)
        self._epochs: dict[int, int] = {}
        self._until: dict[int, float] = {}  # on our clock: until then we may decide
        self._names: dict[int, str] = {}
        self._written: dict[int, tuple[int, int]] = {}  # the last event that is there, its time
        self._asked: dict[int, int] = {}  # ids below are in events that are there
        self._reserved: dict[int, int] = {}  # ids below may have been given
        self._lost: dict[int, str] = {}  # what happened to bandits that are no longer ours
        self._marks: dict[int, int] = {}  # ids below may have been given, and the database forgot
        self._losing = threading.RLock()
        self.losses: deque[str] = deque(maxlen=MOST_LOSSES)
        """What a database has lost that went back to an earlier state."""
        self._renewing = threading.Lock()
        self._tried = 0.0  # when the last renewal began
        self._error = ""
        self._stop = threading.Event()
        self._thread: threading.Thread | None = None

    # Taking and giving.

    def take(self, bandits: Sequence[int]) -> dict[int, str]:
        """Take bandits; return words for where some of them are open already."""
        self._mark()
        free = self._take_free(bandits) if len(bandits) > 1 else set()
        rest = [bandit for bandit in bandits if bandit not in free]
        found = ((bandit, self._take(bandit)) for bandit in rest)
        return {bandit: where for bandit, where in found if where is not None}

    def _take_free(self, bandits: Sequence[int]) -> set[int]:
        """Take those bandits that nobody has and nobody looks at, all at once; return them."""
        started = clock()
        with self._connections.transaction() as connection:
            self._check_format(connection)
            values = {**self._values(), "bandits": list(bandits)}
            taken = run(connection, _TAKE_FREE, values).fetchall()
        for bandit, epoch, name in taken:
            self._note(bandit, epoch, name, started)
        return {bandit for bandit, _, _ in taken}

    def _values(self) -> dict[str, Any]:
        return {**this_process()._asdict(), "me": self._me, "lease": LEASE}

    def _take(self, bandit: int) -> str | None:
        """Take a bandit; return None, or words for where it is open already."""
        ended = ""  # a holder whose process has certainly ended: its lease counts no more
        for _ in range(4):
            started = clock()
            try:
                with self._connections.transaction() as connection:
                    self._check_format(connection)
                    run(connection, "SET LOCAL lock_timeout = '1s'")
                    values = {**self._values(), "ended": ended, "bandit": bandit}
                    taken = run(connection, _TAKE, values).fetchone()
                if taken is not None:
                    self._note(bandit, taken[0], taken[1], started)
                    return None
            except StoreError as error:
                if not isinstance(error.__cause__, psycopg.errors.LockNotAvailable):
                    raise
            with self._connections.transaction("READ ONLY") as connection:
                found = run(connection, _OWNER, [bandit]).fetchone()
            if found is None:
                raise deleted(self._label, bandit)
            holder, owner, left = found[0], Holder(*found[1:4]), found[4]
            if holder and left > 0.0 and not owner.has_ended():
                return owner.place()
            ended = holder or ""
            if ended:
                self._end_transactions(ended)
        raise StoreError(f"{self._label} is busy: others have locked a bandit; call again")

    def holders(self) -> dict[str, BanditHolder]:
        """Return who has each bandit, by its name; a process that has ended has none."""
        with self._connections.transaction("READ ONLY") as connection:
            rows = run(connection, _HOLDERS).fetchall()
        ended: dict[Holder, bool] = {}  # of each process, since asking the system takes a while
        found = {}
        for name, bandit, holder, *process in rows:
            is_over = holder is None
            if holder is not None:
                owner = Holder(*process)
                if owner not in ended:
                    ended[owner] = owner.has_ended()
                is_over = ended[owner]
            found[name] = BanditHolder(bandit, "" if is_over else holder)
        return found

    def _check_format(self, connection: Connection) -> None:
        """Raise a `StoreError` if the tables were migrated since the store was opened."""
        found = version(connection, self._connections.address.schema)
        check_format(self._label, found, "postgresql")

    def _end_transactions(self, holder: str) -> None:
        """End the transactions of an owner that has lost its leases.

        A process that was stopped in the middle of one would hold its locks for ever.
        """
        with self._connections.transaction() as connection:
            run(
                connection,
                "SELECT pg_terminate_backend(pid) FROM pg_stat_activity "
                "WHERE application_name = %s AND pid <> pg_backend_pid()",
                [transactions_of(holder)],
            )

    def _note(self, bandit: int, epoch: int, name: str, started: float) -> None:
        with self._renewing:
            self.forget(bandit)
            self._names[bandit] = name
            self._until[bandit] = started + LEASE - MARGIN
            self._epochs[bandit] = epoch
        if self._thread is None:
            self._thread = threading.Thread(target=self._work, name="lastblock-leases", daemon=True)
            self._thread.start()

    def give(self, bandit: int) -> None:
        """Let others own a bandit; if the server is gone, its lease ends by itself."""
        with suppress(StoreError):
            self._give("bandit = %s AND holder = %s", [bandit, self._me], [bandit])
        self.forget(bandit)

    def _give(self, which: str, values: Sequence[Any], bandits: Iterable[int]) -> None:
        """Let others own bandits, and look once more whether all that was written is there."""
        epochs = {each: self._epochs[each] for each in bandits if each in self._epochs}
        with self._connections.transaction() as connection:
            query = f"UPDATE owners SET holder = NULL WHERE {which} {_RETURNING}"
            found = run(connection, query, values).fetchall()
        self.lose(self.missing(found, epochs, self.written))

    def forget(self, bandit: int) -> None:
        """Know nothing of a bandit any more."""
        each: dict[int, Any]
        for each in (
            self._epochs,
            self._until,
            self._lost,
            self._names,
            self._written,
            self._asked,
            self._reserved,
        ):
            each.pop(bandit, None)

    def close(self) -> None:
        """Give all bandits back, and end the thread."""
        self._stop.set()
        if self._thread is not None:
            self._thread.join()
        with self._dedicated.lock:
            if self._epochs or self._until:
                with suppress(StoreError):
                    self._give("holder = %s", [self._me], tuple(self._epochs))
            for bandit in tuple(self._until):
                self.forget(bandit)
            self._dedicated.drop()

    # Deciding and writing.

    def check(self, bandit: int) -> None:
        """Raise a `StoreError` if the bandit may not decide now; see `Storage.check_owned`."""
        if clock() >= self._until.get(bandit, 0.0):
            self._insist(bandit)

    def _insist(self, bandit: int) -> None:
        """Try to renew a lease that is about to end, or raise an error that says why it ended."""
        if clock() - self._tried >= AGAIN:
            with suppress(StoreError):
                self.renew()
        self.epoch(bandit)
        if clock() >= self._until.get(bandit, 0.0):
            raise StoreError(
                f"{self._label} has not renewed its leases ({self._error or 'no answer'}); no "
                "bandit decides until it answers, since others may take over; call again"
            )

    def epoch(self, bandit: int) -> int:
        """Return the epoch of a bandit that we own; raise a `StoreError` if we do not."""
        if bandit in self._lost:
            raise TakenOverError({bandit: self._lost[bandit]})
        if bandit not in self._epochs:
            raise StoreError(f"{self._label} does not own bandit {bandit}; open it with bandit()")
        return self._epochs[bandit]

    # Fencing.

    def fence(
        self,
        connection: Connection,
        begin: str,
        epochs: Mapping[int, int],
        events: Mapping[int, int],
        *,
        waits: bool = False,
    ) -> tuple[dict[int, int], dict[int, int]]:
        """Lock owners' rows until the transaction ends, and look whether all is as it must be.

        Parameters
        ----------
        connection, begin
            A connection, and queries that begin a transaction.
        epochs, events
            The epoch of each bandit, and the last of its events that must be there.
        waits
            Whether to wait for other transactions of this store, which may have written more.

        Returns
        -------
        dict, dict
            What `missing` returns, and with `waits` the last event of each bandit.
        """
        wanted = ", ".join(map(str, epochs))
        pairs = ", ".join(f"({each}, {event})" for each, event in events.items() if event > 0)
        queries = (
            f"{begin}; SELECT bandit, epoch FROM owners WHERE bandit IN ({wanted}) "
            f"AND holder = '{self._me}' ORDER BY bandit FOR {'UPDATE' if waits else 'SHARE'}; "
        )
        # To look up one event takes the server a fourth of the time that `standing` takes. Planning
        # `(bandit, event) IN (…)` would take seconds for thousands of bandits.
        queries += (
            f"SELECT last.bandit FROM (VALUES {pairs or '(0, 0)'}) AS last (bandit, event) "
            "JOIN events ON events.bandit = last.bandit AND events.event = last.event"
        )
        *_, owned, there = all_rows(connection, queries)
        there_now = {bandit for (bandit,) in there}
        found = [(bandit, epoch, events.get(bandit, 0)) for bandit, epoch in owned]
        if waits or any(event > 0 and each not in there_now for each, event in events.items()):
            found = last_rows(connection, self.standing(epochs))  # or a snapshot has dropped them
        last = {bandit: event for bandit, _, event in found}
        return self.missing(found, epochs, events), last

    def standing(self, bandits: Iterable[int]) -> str:
        """Return a query for bandit, epoch and last event of those bandits that this store has."""
        return _STANDING.format(bandits=", ".join(map(str, bandits)), me=self._me)

    @staticmethod
    def missing(
        found: Iterable[Sequence[Any]], epochs: Mapping[int, int], events: Mapping[int, int]
    ) -> dict[int, int]:
        """Return those bandits that are not ours any more, or whose events are not all there.

        Parameters
        ----------
        found
            Rows of `standing`.
        epochs
            The epoch of each bandit.
        events
            The last event of each that must be there, which is also what is returned.
        """
        there = {bandit: (epoch, last or 0) for bandit, epoch, last in found}
        lost = {}
        for bandit, epoch in epochs.items():
            found_epoch, last = there.get(bandit, (None, 0))
            if found_epoch != epoch or last < events.get(bandit, 0):
                lost[bandit] = events.get(bandit, 0)
        return lost

    def note_written(self, last: Mapping[int, tuple[int, int]], asked: Mapping[int, int]) -> None:
        """Note the last events that were written, with their times, and the last ids in them."""
        self._written.update(last)
        self._asked.update(asked)

    def note_reserved(self, ends: Mapping[int, int]) -> None:
        """Note that ids below these may be given from now on."""
        for bandit, end in ends.items():
            self._reserved[bandit] = max(end, self._reserved.get(bandit, 0))

    @property
    def written(self) -> dict[int, int]:
        """The last event of each bandit that this store has written."""
        return {bandit: event for bandit, (event, _) in tuple(self._written.items())}

    def lose(self, lost: Mapping[int, int]) -> TakenOverError:
        """Note that bandits are no longer ours; return the error that says why.

        Parameters
        ----------
        lost
            The last event of each that this store knows to have been in the database.
        """
        with self._losing:
            for bandit, known in lost.items():
                if bandit not in self._lost:
                    self._lose(bandit, known)
            return TakenOverError({bandit: self._lost[bandit] for bandit in lost})

    def _lose(self, bandit: int, known: int) -> None:
        name = f"bandit {self._names.get(bandit, bandit)!r}"
        last, time = self._written.get(bandit, (0, _EVER))
        last, epoch = max(known, last), self._epochs.get(bandit, 0)
        with self._connections.transaction("READ ONLY") as connection:
            found = run(connection, _STORY, [time, bandit]).fetchone()
        there = 0 if found is None else found[4]
        if found is not None and there >= last and (found[0] or 0) > epoch:
            self._end(
                bandit,
                f"{name} in {self._label} was taken over by {Holder(*found[1:4]).place()}, since "
                "this store had not renewed its lease; close it there, then open it again with "
                "bandit()",
            )
            return
        events = f"events {there + 1} to {last} are lost" if last > there else "no event is lost"
        if found is None:
            story = (
                f"{name} is no longer in {self._label}: another process has deleted it, or the "
                f"database went back to a state without it; {events}"
            )
        else:
            story = (
                f"{name}: {self._label} went back to an earlier state, as after restoring a copy, "
                f"promoting a replica that was behind, or a crash that lost commits; {events}; "
                "open it again with bandit(), to go on from what is there"
            )
        self._marks[bandit] = max(self._asked.get(bandit, 0), self._reserved.get(bandit, 0))
        self._end(bandit, story)
        self.losses.append(story)
        _log.error("%s", story)
        with suppress(StoreError):  # then `take` tries again
            self._mark()

    def _end(self, bandit: int, story: str) -> None:
        self._lost[bandit] = story
        self._until.pop(bandit, None)
        self._epochs.pop(bandit, None)

    def _mark(self) -> None:
        """Let others own what was lost, but give no lost id or bandit's number again."""
        for bandit, given in tuple(self._marks.items()):
            with self._connections.transaction() as connection:
                run(connection, _FREE, [bandit, self._me])
                update = "UPDATE bandits SET reserved = greatest(reserved, %s) WHERE bandit = %s"
                is_there = run(connection, update, [given, bandit]).rowcount
            if not is_there:
                # Who may only use the sequence cannot set it.
                with suppress(StoreError), self._connections.transaction() as connection:
                    run(connection, _USED, [bandit])
            self._marks.pop(bandit, None)

    # Renewing.

    def renew(self) -> None:
        """Renew all leases, and note which ones were lost."""
        with self._renewing:
            self._tried = started = clock()
            wanted, written = dict(self._epochs), self.written
            if not wanted:
                return
            try:
                found = self._renewed()
            except StoreError as error:
                self._error = str(error).removeprefix(f"{self._label} ")
                raise
            self._error = ""
            lost = self.missing(found, wanted, written)
            for bandit, epoch in wanted.items():
                if self._epochs.get(bandit) != epoch:
                    lost.pop(bandit, None)  # given back meanwhile
                elif bandit not in lost:
                    self._until[bandit] = started + LEASE - MARGIN
            self.lose(lost)

    def _renewed(self) -> Sequence[tuple[Any, ...]]:
        queries = (
            "SET LOCAL lock_timeout = '3s'; "
            f"WITH mine AS (SELECT bandit FROM owners WHERE holder = '{self._me}' "
            "ORDER BY bandit FOR NO KEY UPDATE) "  # in order, as writers lock them: no deadlock
            f"UPDATE owners SET expires = clock_timestamp() + make_interval(secs => {LEASE}) "
            f"FROM mine WHERE owners.bandit = mine.bandit {_RETURNING}"
        )
        with self._dedicated.transaction(queries) as (_, rows):
            return rows

    def _work(self) -> None:
        pause = RENEW
        while not self._stop.wait(pause):
            try:
                self.renew()
                pause = RENEW
            except Exception:  # whatever it is, the next attempt may succeed
                pause = AGAIN
