"""Connections to a PostgreSQL server, a pool for readers and single ones; PostgreSQL's errors.

Nothing here depends on a session that lasts, so a pooler such as PgBouncer may share connections
between transactions: each transaction sets what it needs with SET LOCAL, and nothing is prepared.
"""

import ctypes
import logging
import re
import threading
import time
import weakref
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from typing import Any, NamedTuple, TypeAlias
from urllib.parse import SplitResult, parse_qsl, quote, urlencode, urlsplit

import psycopg
from psycopg import errors
from psycopg.conninfo import conninfo_to_dict, make_conninfo
from psycopg.pq import TransactionStatus
from psycopg_pool import ConnectionPool, PoolClosed, PoolTimeout

from lastblock.store.queries import Run
from lastblock.support.errors import StoreError

Connection: TypeAlias = psycopg.Connection[tuple[Any, ...]]

SCHEMA = "lastblock"
READERS = 8
"""The most connections of one store that read at the same time."""

PATIENCE = 30.0
"""Seconds to wait for one of them."""

AGAIN = 2.0
"""Seconds after which the pool is asked again. It gives up a connection that fails twice, and tries
another one only when it is asked."""

_DEFAULTS = {  # a server that is gone must not hold a call up for long; the URL may say otherwise
    "connect_timeout": "5",
    "keepalives_idle": "5",
    "keepalives_interval": "2",
    "keepalives_count": "3",
    "tcp_user_timeout": "10000",
}
_IDLE, _UNKNOWN = TransactionStatus.IDLE, TransactionStatus.UNKNOWN
_IDENTIFIER = re.compile(r"[a-z_][a-z0-9_]{0,62}")

# The pool says on this logger what we say in errors. Programs that configure logging still see it.
logging.getLogger("psycopg.pool").addHandler(logging.NullHandler())


class PostgresAddress(NamedTuple):
    """Where a store's tables are."""

    label: str
    """The name of the store in messages, without the password."""
    conninfo: str
    schema: str


def read_address(url: str) -> PostgresAddress:
    """Return the address in a URL, or raise a `StoreError`.

    The parameter ``schema`` of the URL is ours: the schema of the store's tables.
    """
    parts = urlsplit(url)
    query = parse_qsl(parts.query, keep_blank_values=True)
    rest = _url(parts, parts.netloc, [p for p in query if p[0] != "schema"])
    schema = dict(query).get("schema", SCHEMA)
    label = f"the store {_without_password(parts)!r}"
    if not _IDENTIFIER.fullmatch(schema):
        raise StoreError(
            f"{label}: schema={schema!r} must be a name of lower-case letters, digits and _, "
            "of up to 63 characters, and begin with a letter or _"
        )
    try:
        given = {name: str(value) for name, value in conninfo_to_dict(rest).items()}
        return PostgresAddress(label, make_conninfo(**{**_DEFAULTS, **given}), schema)
    except psycopg.Error as error:
        raise StoreError(
            f"{label} has no valid URL ({first_line(error)}); "
            "give postgresql://user:password@host:port/database"
        ) from None


def _without_password(parts: SplitResult) -> str:
    user, at, place = parts.netloc.rpartition("@")
    query = [p for p in parse_qsl(parts.query) if p[0] not in ("password", "sslpassword")]
    return _url(parts, f"{user.partition(':')[0]}{at}{place}", query)


def _url(parts: SplitResult, netloc: str, query: Sequence[tuple[str, str]]) -> str:
    words = f"?{urlencode(query, safe='/', quote_via=quote)}" if query else ""
    return f"{parts.scheme}://{netloc}{parts.path}{words}"


def run(connection: Connection, query: str, values: Any = None) -> Any:
    """Execute a query, and return a cursor with its rows."""
    return connection.execute(query.encode(), values)


def running(connection: Connection) -> Run:
    """Return a function that executes queries with ? for a value."""

    def execute(query: str, values: Sequence[Any] = ()) -> Any:
        return run(connection, query.replace("?", "%s"), values)

    return execute


def all_rows(connection: Connection, queries: str) -> list[list[tuple[Any, ...]]]:
    """Execute several queries at once, and return the rows of each that has some."""
    with connection.cursor() as cursor:
        cursor.execute(queries.encode())
        found = []
        while True:
            if cursor.description is not None:
                found.append(cursor.fetchall())
            if not cursor.nextset():
                return found


def last_rows(connection: Connection, queries: str) -> list[tuple[Any, ...]]:
    """Execute several queries at once, and return the rows of the last one."""
    return all_rows(connection, queries)[-1]


def is_broken(connection: Connection | None) -> bool:
    """Return whether a connection can no longer be used."""
    return connection is None or connection.closed or connection.broken


def end(connection: Connection) -> None:
    """End a transaction, if there is one; the error that led here says more than ours."""
    with suppress(psycopg.Error):
        if connection.pgconn.transaction_status not in (_IDLE, _UNKNOWN):
            connection.execute(b"ROLLBACK")


class Connections:
    """All connections of one store.

    Parameters
    ----------
    address
        Where the store is.
    holder
        The name of the store among the owners, which its transactions show to others.
    """

    def __init__(self, address: PostgresAddress, holder: str) -> None:
        self.address, self.label = address, address.label
        self._all: weakref.WeakSet[Connection] = weakref.WeakSet()
        self._begin = (
            f"BEGIN %s; SET LOCAL search_path = {address.schema}; "
            f"SET LOCAL application_name = '{transactions_of(holder)}'; "
            "SET LOCAL idle_in_transaction_session_timeout = '%ds'"
        )
        self._is_suspect = True  # whether the pooled connections may be broken
        self._pool: ConnectionPool[Connection] = ConnectionPool(
            address.conninfo,
            min_size=0,
            max_size=READERS,
            kwargs={"autocommit": True, "prepare_threshold": None},
            configure=self._all.add,
            open=False,
            timeout=PATIENCE,
            reconnect_timeout=1.0,
        )

    def begin(self, mode: str = "", *, idle: int = 10) -> str:
        """Return the statements that begin a transaction.

        Parameters
        ----------
        mode
            Of the transaction, in SQL.
        idle
            Seconds after which the server ends a transaction of which it hears nothing.
        """
        return self._begin % (mode, idle)

    def connect(self) -> Connection:
        """Return a new connection; fail at once if the server is not there."""
        with explained(self.label):
            made: Connection = psycopg.connect(
                self.address.conninfo, autocommit=True, prepare_threshold=None
            )
        self._all.add(made)
        return made

    def take(self, begin: str) -> Connection:
        """Return a connection of the pool, in a transaction; `give` it back."""
        while True:
            connection = self._ready()
            try:
                with explained(self.label):
                    last_rows(connection, f"{begin}; SELECT 1")
                return connection
            except BaseException as error:
                was_suspect, is_gone = self._is_suspect, is_broken(connection)
                self.give(connection)
                if was_suspect or not is_gone or not isinstance(error, StoreError):
                    raise

    def _ready(self) -> Connection:
        if self._is_suspect:
            self.connect().close()  # if the server is gone, this says at once why
            with explained(self.label):
                if self._pool.closed:
                    self._pool.open()
                self._pool.check()
            self._is_suspect = False
        until = time.monotonic() + PATIENCE
        with explained(self.label):
            while True:
                try:
                    return self._pool.getconn(timeout=AGAIN)
                except PoolTimeout:
                    self.connect().close()
                    if time.monotonic() >= until:
                        raise StoreError(
                            f"{self.label} is busy: {READERS} readers have been using its "
                            f"connections for {PATIENCE:g} s; call again"
                        ) from None

    def give(self, connection: Connection) -> None:
        """Give a connection back; end its transaction if need be."""
        end(connection)
        if is_broken(connection):
            self._is_suspect = True
        with suppress(psycopg.Error, ValueError):
            self._pool.putconn(connection)

    @contextmanager
    def transaction(self, mode: str = "") -> Iterator[Connection]:
        """Do something in a transaction on a connection of the pool: all of it or nothing."""
        connection = self.take(self.begin(mode))
        try:
            with explained(self.label):
                yield connection
            try:
                with explained(self.label):
                    run(connection, "COMMIT")
            except StoreError as error:
                if mode or not is_broken(connection):
                    raise
                raise unknown(error, "look before you make it again") from error
        finally:
            self.give(connection)

    def close(self) -> None:
        """Close all connections; closing twice is not an error."""
        self._pool.close()
        for connection in tuple(self._all):
            connection.close()

    def abandon(self) -> None:
        """In the child of a fork: leave the connections to the parent, and never free them."""
        # This reference is never given back: freeing the pool would stop threads of the parent.
        ctypes.pythonapi.Py_IncRef(ctypes.py_object((self._pool, tuple(self._all))))


class DedicatedConnection:
    """One connection for one purpose, which is made anew when it breaks.

    Parameters
    ----------
    connections
        The store's connections.
    """

    def __init__(self, connections: Connections) -> None:
        self._connections = connections
        self._connection: Connection | None = None
        self.lock = threading.RLock()
        """Whoever uses the connection holds this."""

    def get(self) -> Connection:
        """Return the connection; raise a `StoreError` if there is none and none can be made."""
        if self._connection is None or is_broken(self._connection):
            self._connection = self._connections.connect()
        return self._connection

    def drop(self) -> None:
        """Close the connection; the next `get` makes another one."""
        connection, self._connection = self._connection, None
        if connection is not None:
            connection.close()

    @contextmanager
    def transaction(self, queries: str) -> Iterator[tuple[Connection, Sequence[tuple[Any, ...]]]]:
        """Begin a transaction with some queries; yield the rows of the last one; commit.

        It begins anew if the connection turns out to be broken, since nothing was done with it.
        """
        connection = self._connections
        begin = f"{connection.begin()}; {queries}"
        with self.lock, explained(connection.label):
            is_new = is_broken(self._connection)
            found = self.get()
            try:
                try:
                    rows = last_rows(found, begin)
                except psycopg.OperationalError:
                    if is_new or not is_broken(found):
                        raise
                    found = self.get()
                    rows = last_rows(found, begin)
                yield found, rows
                run(found, "COMMIT")
            finally:
                end(found)


def transactions_of(holder: str) -> str:
    """Return the name under which the server lists the transactions of a store."""
    return quote(f"lastblock {holder}", safe=" -")


@contextmanager
def explained(label: str) -> Iterator[None]:
    """Turn PostgreSQL's errors into a `StoreError` about the store with this label."""
    try:
        yield
    except psycopg.Error as error:
        raise StoreError(f"{label} {_meaning(error)}") from error


def unknown(error: StoreError, advice: str) -> StoreError:
    """Return the error of a call that may have been committed or not."""
    return StoreError(f"{error}; whether the call took effect is unknown: {advice}")


def first_line(error: BaseException) -> str:
    """Return what an error says, without the lines of a hint or of other addresses."""
    lines = str(error).strip().splitlines() or [type(error).__name__]
    return lines[0].removeprefix("connection failed: ").strip().rstrip(".")


_MEANINGS: dict[type[psycopg.Error], str] = {
    errors.DiskFull: "cannot grow: the server's disk is full; free some space and call again",
    errors.OutOfMemory: "failed: the server has no memory left; call again later",
    errors.TooManyConnections: "has no connection left; raise max_connections, or close others",
    errors.ReadOnlySqlTransaction: "is read-only; give the address of the primary server",
    errors.UniqueViolation: "failed: another process has written the same meanwhile; call again",
    errors.DeadlockDetected: "is busy: others wait for each other; call again",
    errors.LockNotAvailable: "is busy: others have locked it; call again",
    errors.AdminShutdown: "is shutting down; calls go on when it is back",
    errors.CrashShutdown: "has crashed; calls go on when it is back",
    errors.CannotConnectNow: "is starting or shutting down; calls go on when it is ready",
    errors.IdleInTransactionSessionTimeout: "ended a transaction that waited too long; call again",
    PoolClosed: "is closed; open it again with Store()",
}

_PHRASES = (  # libpq gives no codes for connections that it could not make
    ("password authentication failed", "refuses user and password; check them in the URL"),
    ("no password supplied", "wants a password; put it into the URL or into ~/.pgpass"),
    ("no pg_hba.conf entry", "does not let this machine or user in; change the server's rules"),
    ("the database system is", "is starting or shutting down; calls go on when it is ready"),
    ("too many clients", "has no connection left; raise max_connections, or close others"),
    ("remaining connection slots", "has no connection left; raise max_connections"),
)


def _meaning(error: psycopg.Error) -> str:
    """Return what is wrong and what to do, as the end of a sentence."""
    for kind, meaning in _MEANINGS.items():
        if isinstance(error, kind):
            return meaning
    text = str(error)
    for phrase, meaning in _PHRASES:
        if phrase in text:
            return meaning
    said = first_line(error)
    if 'database "' in text and "does not exist" in text:
        return f"does not exist ({said}); create the database with createdb, or correct the URL"
    if isinstance(error, errors.InsufficientPrivilege):
        return f"refuses this user ({said}); ask the database's owner for the rights"
    if isinstance(error, psycopg.OperationalError):
        return f"cannot be reached ({said}); check that the server runs, and the URL"
    return f"failed: {said}"
