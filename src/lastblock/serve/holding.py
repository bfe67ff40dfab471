"""Connections that hold a request back until it is whole, to answer it without a task of its own.

uvicorn makes a task, an event and five dictionaries for each request, which takes as long as all
the rest of a decision. Most requests for a decision, and most rewards, arrive in one piece. Those
that a subclass wants are held here until their last byte; all others are uvicorn's.
"""

from abc import abstractmethod
from typing import Any, Final

from uvicorn.protocols.http.httptools_impl import STATUS_LINE

from lastblock.serve.slow_heads import NO_HEAD, TimedHeads

LARGEST: Final = 65_536
"""The most bytes of a body that is gathered here; uvicorn makes the client wait beyond that."""

_CLOSE: Final = (b"connection", b"close")


class _Event:
    """Stands for the event of a request to uvicorn, where nobody waits for it."""

    def set(self) -> None:
        """Do nothing."""


_NOBODY_WAITS = _Event()


class Cycle:
    """Stands for a request of which the answer is not sent yet; uvicorn reads these attributes."""

    __slots__ = ("disconnected", "keep_alive", "response_complete")

    message_event = _NOBODY_WAITS

    def __init__(self) -> None:
        self.disconnected = self.response_complete = False
        self.keep_alive = True


class HoldingProtocol(TimedHeads):
    """A connection of a client."""

    def __init__(self, *arguments: Any, **options: Any) -> None:
        super().__init__(*arguments, **options)
        self._found: Any = None  # what `find` has found, of a request that is held here
        self._body = b""
        self._is_idle = False  # since our last answer; uvicorn has its own timer after its answers
        self._idle_since = 0.0
        self._idle_timer: Any = None

    # What the parser finds.

    def on_message_begin(self) -> None:
        """Begin a request; `_start` does what uvicorn does here."""
        self.url, self.headers, self.expect_100_continue = b"", [], False
        self.looks = 0

    def on_headers_complete(self) -> None:
        """Hold a request that may be answered here; else let uvicorn have it."""
        self.looks = NO_HEAD
        self._found, self._body = self.find() if self._is_plain() else None, b""
        if self._found is None:
            self._start()

    def on_body(self, body: bytes) -> None:
        """Gather the body of a request that is held."""
        if self._found is None:
            super().on_body(body)
        elif len(self._body) + len(body) <= LARGEST:
            self._body += body
        else:
            self._hand_over()
            super().on_body(body)

    def on_message_complete(self) -> None:
        """Answer a request that is held, if it can be answered here."""
        if self._found is not None:
            if self.answer(self._found, self._body):
                self._found = None
                return
            self._hand_over()
        super().on_message_complete()

    def data_received(self, data: bytes) -> None:
        """Parse what has come; a request of which more is to come is uvicorn's."""
        self._is_idle = False
        super().data_received(data)
        if self._found is not None:
            if self.transport.is_closing():  # since the request was malformed
                self._found = None
            else:
                self._hand_over()

    def connection_lost(self, exc: Exception | None) -> None:
        """Note that the client has gone."""
        if self._idle_timer is not None:
            self._idle_timer.cancel()
        super().connection_lost(exc)

    # Requests for uvicorn.

    def _start(self) -> None:
        """Do what uvicorn does when the headers are complete."""
        url, headers, expects = self.url, self.headers, self.expect_100_continue
        super().on_message_begin()
        self.url, self.expect_100_continue = url, expects
        self.headers.extend(headers)
        super().on_headers_complete()

    def _hand_over(self) -> None:
        """Give a request that is held to uvicorn."""
        self._found, body = None, self._body
        self._start()
        if body:
            super().on_body(body)

    # Requests that are answered here.

    @abstractmethod
    def find(self) -> Any:
        """Return what a request is about; None if it is uvicorn's."""

    @abstractmethod
    def answer(self, found: Any, body: bytes) -> bool:
        """Answer a request now or later, and return True; or change nothing and return False."""

    def _is_plain(self) -> bool:
        """Whether a request needs nothing of what only uvicorn does."""
        is_busy = self.cycle is not None and not self.cycle.response_complete
        if is_busy or self.flow.write_paused or self.access_log or self.expect_100_continue:
            return False
        return not self.parser.should_upgrade() and bool(self.parser.should_keep_alive())

    def begin(self) -> Cycle:
        """Return what stands for a request until `finish`."""
        cycle: Any = Cycle()
        self.cycle = cycle
        return cycle  # type: ignore[no-any-return]  # uvicorn's type is another one

    def finish(
        self, cycle: Cycle, status: int, headers: list[tuple[bytes, bytes]], body: bytes
    ) -> bool:
        """Send an answer, and let the next request come; return whether the client was there."""
        cycle.response_complete = True
        is_there = not cycle.disconnected and not self.transport.is_closing()
        if is_there:
            parts = [STATUS_LINE[status]]
            if not cycle.keep_alive:
                headers = [*headers, _CLOSE]
            for name, value in (*self.server_state.default_headers, *headers):
                parts += (name, b": ", value, b"\r\n")
            parts += (b"\r\n", body)
            self.transport.write(b"".join(parts))
            if not cycle.keep_alive:
                self.transport.close()
        self._go_on()
        return is_there

    def _go_on(self) -> None:
        """Let the next request come, as uvicorn does after an answer."""
        if self.pipeline or self.transport.is_closing():
            self.on_response_complete()
            return
        self.server_state.total_requests += 1
        self.flow.resume_reading()
        self._is_idle, self._idle_since = True, self.loop.time()
        if self._idle_timer is None:
            # One timer for all requests of a connection: one for each takes as long as a decision.
            self._idle_timer = self.loop.call_later(self.timeout_keep_alive, self._look_if_idle)

    def _look_if_idle(self) -> None:
        """Close a connection on which nothing has come since our last answer, for so long."""
        self._idle_timer = None
        if not self._is_idle:
            return
        left = self._idle_since + self.timeout_keep_alive - self.loop.time()
        if left > 0.0:
            self._idle_timer = self.loop.call_later(left, self._look_if_idle)
        else:
            self.timeout_keep_alive_handler()
