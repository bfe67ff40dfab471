"""Connections on which the head of a request must arrive in time.

`http.Watch` ends requests whose bodies take too long. Before its head is complete a request is not
one yet, and uvicorn would wait for ever: some thousands of such connections would use up the files
that a process may have open.
"""

import asyncio
from typing import Any, Final

from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

LOOKS: Final = 2
"""How often to look within the time that a head may take; it may take up to one look longer."""

_TOO_LATE: Final = b"HTTP/1.1 408 Request Timeout\r\nconnection: close\r\ncontent-length: 0\r\n\r\n"
NO_HEAD: Final = -1
"""The value of `looks` while no head is awaited."""


class TimedHeads(HttpToolsProtocol):
    """A connection that ends if the head of a request does not arrive in time.

    There is one timer for a connection, not for each of its requests: that would take as long as a
    decision. A subclass gives `patience`; if it has other methods for the parser than uvicorn's,
    they set `looks` as those do here.
    """

    patience: float = 60.0
    """Seconds in which a head must arrive."""

    looks = 0  # since the head began that is awaited; `NO_HEAD` if none is
    _timer: asyncio.TimerHandle | None = None

    def connection_made(self, transport: Any) -> None:
        """Wait for the first head."""
        super().connection_made(transport)
        self._look_again()

    def connection_lost(self, exc: Exception | None) -> None:
        """Wait for nothing any more."""
        if self._timer is not None:
            self._timer.cancel()
        super().connection_lost(exc)

    def on_message_begin(self) -> None:
        """Begin to wait for a head."""
        self.looks = 0
        super().on_message_begin()

    def on_headers_complete(self) -> None:
        """Wait for the head no longer."""
        self.looks = NO_HEAD
        super().on_headers_complete()

    def _look_again(self) -> None:
        self._timer = self.loop.call_later(self.patience / LOOKS, self._look)

    def _look(self) -> None:
        """End the connection if the head has been awaited for too long."""
        if self.looks == NO_HEAD or self.looks < LOOKS:
            self.looks += self.looks != NO_HEAD
            self._look_again()
        elif not self.transport.is_closing():
            self.transport.write(_TOO_LATE)
            self.transport.close()
