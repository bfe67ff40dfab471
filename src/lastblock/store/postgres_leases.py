"""Who owns which bandit on PostgreSQL: leases that end by themselves, and epochs that fence.

An owner's row has an epoch and a time until which nobody else may take the bandit. The owner renews
its leases every `RENEW` seconds. If it cannot, it stops deciding `MARGIN` seconds before they end.
Who takes a bandit over raises its epoch, under the lock of the row. Every transaction that writes
locks the row too, and checks that its epoch is the one that it was given. So an owner that was
stopped, and wakes up later, cannot write any more, whatever it believes.
"""

import threading
import time
from collections.abc import Sequence
from contextlib import suppress
from typing import Any

import psycopg

from lastblock.store.holders import Holder, this_process
from lastblock.store.postgres_connections import (
    Connection,
    Connections,
    DedicatedConnection,
    run,
    transactions_of,
)
from lastblock.store.postgres_schema import version
from lastblock.store.queries import deleted
from lastblock.store.schema import check_format
from lastblock.store.storage import BanditHolder, TakenOverError
from lastblock.support.errors import StoreError

LEASE = 10.0
"""Seconds that a lease lasts."""

RENEW = 3.0
"""Seconds between two renewals."""

MARGIN = 1.0
"""Seconds before the end of a lease from which its owner takes no more decisions."""

AGAIN = 1.0
"""Seconds until the next attempt after a renewal that failed."""

_MINE = (
    "UPDATE owners SET epoch = epoch + 1, holder = %(me)s, process = %(process)s, "
    "host = %(host)s, identity = %(identity)s, "
    "expires = clock_timestamp() + make_interval(secs => %(lease)s) "
)
_TAKE = _MINE + (
    "WHERE bandit = %(bandit)s AND (holder IS NULL OR holder IN (%(me)s, %(ended)s) "
    "OR expires <= clock_timestamp()) RETURNING epoch"
)
_TAKE_FREE = (
    "WITH free AS (SELECT bandit FROM owners WHERE bandit = ANY(%(bandits)s) AND "
    "(holder IS NULL OR holder = %(me)s OR expires <= clock_timestamp()) "
    f"ORDER BY bandit FOR NO KEY UPDATE SKIP LOCKED) {_MINE}"
    "FROM free WHERE owners.bandit = free.bandit RETURNING owners.bandit, epoch"
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
        self._lost: dict[int, str] = {}  # what happened to bandits that were taken over
        self._renewing = threading.Lock()
        self._tried = 0.0  # when the last renewal began
        self._error = ""
        self._stop = threading.Event()
        self._thread: threading.Thread | None = None

    # Taking and giving.

    def take(self, bandits: Sequence[int]) -> dict[int, str]:
        """Take bandits; return words for where some of them are open already."""
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
            taken = dict(run(connection, _TAKE_FREE, values))
        for bandit, epoch in taken.items():
            self._note(bandit, epoch, started)
        return set(taken)

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
                    self._note(bandit, taken[0], started)
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

    def _note(self, bandit: int, epoch: int, started: float) -> None:
        with self._renewing:
            self._lost.pop(bandit, None)
            self._until[bandit] = started + LEASE - MARGIN
            self._epochs[bandit] = epoch
        if self._thread is None:
            self._thread = threading.Thread(target=self._work, name="lastblock-leases", daemon=True)
            self._thread.start()

    def give(self, bandit: int) -> None:
        """Let others own a bandit; if the server is gone, its lease ends by itself."""
        self._forget(bandit)
        with suppress(StoreError), self._connections.transaction() as connection:
            run(
                connection,
                "UPDATE owners SET holder = NULL WHERE bandit = %s AND holder = %s",
                [bandit, self._me],
            )

    def _forget(self, bandit: int) -> None:
        for each in (self._epochs, self._until, self._lost):
            each.pop(bandit, None)

    def close(self) -> None:
        """Give all bandits back, and end the thread."""
        self._stop.set()
        if self._thread is not None:
            self._thread.join()
        with self._dedicated.lock:
            if self._epochs or self._until:
                with suppress(StoreError), self._connections.transaction() as connection:
                    run(
                        connection,
                        "UPDATE owners SET holder = NULL WHERE holder = %s",
                        [self._me],
                    )
            for bandit in tuple(self._until):
                self._forget(bandit)
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
            raise TakenOverError(frozenset([bandit]), self._lost[bandit])
        if bandit not in self._epochs:
            raise StoreError(f"{self._label} does not own bandit {bandit}; open it with bandit()")
        return self._epochs[bandit]

    def lose(self, bandits: list[int]) -> TakenOverError:
        """Note that others have taken bandits over, and return the error that says so."""
        for bandit in bandits:
            self._until.pop(bandit, None)
            self._epochs.pop(bandit, None)
            self._lost[bandit] = self._story(bandit)
        return TakenOverError(frozenset(bandits), self._lost[bandits[0]])

    def _story(self, bandit: int) -> str:
        name, where = f"bandit {bandit}", "another process"
        with suppress(StoreError), self._connections.transaction("READ ONLY") as connection:
            found = run(
                connection,
                "SELECT name, process, host, identity FROM bandits LEFT JOIN owners "
                "USING (bandit) WHERE bandit = %s",
                [bandit],
            ).fetchone()
            if found is None:
                return f"{name} in {self._label} was taken over and deleted by {where}"
            name, where = f"bandit {found[0]!r}", Holder(*found[1:]).place()
        return (
            f"{name} in {self._label} was taken over by {where}, since this store had not renewed "
            "its lease; close it there, then open it again with bandit()"
        )

    # Renewing.

    def renew(self) -> None:
        """Renew all leases, and note which ones were lost."""
        with self._renewing:
            self._tried = started = clock()
            wanted = dict(self._epochs)
            if not wanted:
                return
            try:
                found = self._renewed()
            except StoreError as error:
                self._error = str(error).removeprefix(f"{self._label} ")
                raise
            self._error = ""
            lost = []
            for bandit, epoch in wanted.items():
                if self._epochs.get(bandit) != epoch:
                    continue  # given back meanwhile
                if found.get(bandit) == epoch:
                    self._until[bandit] = started + LEASE - MARGIN
                else:
                    lost.append(bandit)
            if lost:
                self.lose(lost)

    def _renewed(self) -> dict[Any, Any]:
        queries = (
            "SET LOCAL lock_timeout = '3s'; "
            f"WITH mine AS (SELECT bandit FROM owners WHERE holder = '{self._me}' "
            "ORDER BY bandit FOR NO KEY UPDATE) "  # in order, as writers lock them: no deadlock
            f"UPDATE owners SET expires = clock_timestamp() + make_interval(secs => {LEASE}) "
            "FROM mine WHERE owners.bandit = mine.bandit RETURNING owners.bandit, epoch"
        )
        with self._dedicated.transaction(queries) as (_, rows):
            return dict(rows)

    def _work(self) -> None:
        pause = RENEW
        while not self._stop.wait(pause):
            try:
                self.renew()
                pause = RENEW
            except Exception:  # whatever it is, the next attempt may succeed
                pause = AGAIN
