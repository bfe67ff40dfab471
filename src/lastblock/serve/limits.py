"""How many requests each caller may send, and how many connections an address may have."""

import logging
import math
import socket
import time
from collections.abc import Callable, Container, Iterator
from contextlib import contextmanager, suppress
from typing import Any

from lastblock.serve.problems import ProblemError
from lastblock.support.files import open_handles

_log = logging.getLogger(__name__)

MOST_CALLERS = 10_000


class Limits:
    """A bucket of tokens for each caller: a request takes one, and they come back at a rate.

    Parameters
    ----------
    rate
        Requests a second; 0 for no limit.
    burst
        How many requests may come at once.
    clock
        Returns seconds; for tests.
    """

    def __init__(
        self, rate: float, burst: float | None = None, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self.rate, self.burst = rate, max(1.0, 2.0 * rate if burst is None else burst)
        self._clock = clock
        self._buckets: dict[str, tuple[float, float]] = {}  # tokens, and when they were counted

    def take(self, caller: str) -> None:
        """Count a request, or raise a `ProblemError` that says when to come again."""
        if not self.rate:
            return
        now = self._clock()
        tokens, then = self._buckets.get(caller, (self.burst, now))
        tokens = min(self.burst, tokens + (now - then) * self.rate)
        if tokens < 1.0:
            seconds = math.ceil((1.0 - tokens) / self.rate)
            raise ProblemError(
                "too-many-requests",
                f"this caller may send {self.rate:g} requests a second; wait {seconds} s",
                {"Retry-After": str(seconds)},
            )
        if len(self._buckets) >= MOST_CALLERS and caller not in self._buckets:
            self._forget(now)
        self._buckets[caller] = tokens - 1.0, now

    def _forget(self, now: float) -> None:
        """Forget callers whose bucket is full again; if they are few, forget all."""
        full = self.burst / self.rate
        self._buckets = {
            name: (tokens, then)
            for name, (tokens, then) in self._buckets.items()
            if now - then < full
        }
        if len(self._buckets) >= MOST_CALLERS:
            self._buckets.clear()


class ConnectionLimit:
    """Bounds the connections from each address.

    granian takes connections in compiled code and knows no such bound. So this looks at the sockets
    that the process has open, and shuts down the newest of an address that has too many. A system
    that does not list them, such as Windows, has no bound.

    Parameters
    ----------
    port
        Where the server listens.
    most
        The most connections from one address.
    trusted
        Addresses that may have any number: those of proxies.
    """

    def __init__(self, port: int, most: int, trusted: Container[str]) -> None:
        self._port, self._most, self._trusted = port, most, trusted
        self._known: set[Any] = set()  # the other ends of connections that were there before
        self._crowds: set[str] = set()

    def cut(self) -> None:
        """Shut down the connections that are too many."""
        found: dict[str, list[tuple[bool, Any, int]]] = {}
        for handle in open_handles() or ():
            other = self._other_end(handle)
            if other is not None and other[0] not in self._trusted:
                found.setdefault(other[0], []).append((other not in self._known, other, handle))
        self._known = set()
        crowds = {address for address, ends in found.items() if len(ends) > self._most}
        for ends in found.values():
            ends.sort()  # the newest come last
            self._known.update(other for _, other, _ in ends[: self._most])
            for _, other, handle in ends[self._most :]:
                if self._other_end(handle) == other:  # not closed, and its number given to another
                    with suppress(OSError), _borrowed(handle) as end:
                        end.shutdown(socket.SHUT_RDWR)
        for address in crowds - self._crowds:
            _log.warning("address %s has more than %d connections", address, self._most)
        self._crowds = crowds

    def _other_end(self, handle: int) -> Any:
        """Return the other end of a connection that was made to the server; None if it is none."""
        with suppress(OSError, TypeError, IndexError), _borrowed(handle) as end:
            return end.getpeername() if end.getsockname()[1] == self._port else None
        return None


@contextmanager
def _borrowed(handle: int) -> Iterator[socket.socket]:
    """Make a handle a socket without owning it: it is closed elsewhere."""
    end = socket.socket(fileno=handle)
    try:
        yield end
    finally:
        end.detach()
