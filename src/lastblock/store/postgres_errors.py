"""PostgreSQL's errors as store errors, which say what is wrong and what to do."""

from collections.abc import Iterator
from contextlib import contextmanager

import psycopg
from psycopg import errors
from psycopg_pool import PoolClosed

from lastblock.support.errors import StoreError


@contextmanager
def explained(label: str) -> Iterator[None]:
    """Turn PostgreSQL's errors into a `StoreError` about the store with this label."""
    try:
        yield
    except psycopg.Error as error:
        raise StoreError(f"{label} {_meaning(error)}") from error


def first_line(error: BaseException) -> str:
    """Return what an error says, without the lines of a hint or of other addresses."""
    lines = str(error).strip().splitlines() or [type(error).__name__]
    return lines[0].removeprefix("connection failed: ").strip().rstrip(".")


_MEANINGS: dict[type[psycopg.Error], str] = {
    errors.DiskFull: "cannot grow: the server's disk is full; free some space and call again",
    errors.OutOfMemory: "failed: the server has no memory left; call again later",
    errors.TooManyConnections: "has no connection left; raise max_connections, or close others",
    errors.ReadOnlySqlTransaction: "is read-only; give the address of the primary server",
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
