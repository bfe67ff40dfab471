"""Answer the requests on which speed depends straight from the connection.

uvicorn makes a task, an event and five dictionaries for each request, which takes as long as all
the rest of a decision. Most requests for a decision, and most rewards, arrive in one piece and need
not wait for anything but the disk. This protocol answers them when their last byte is parsed, or
when their events are written. Everything else goes uvicorn's way through the application: requests
in parts, other operations, and everything that does not succeed. So there is one place that says
what is wrong with a request.
"""

import time
from functools import partial
from typing import Any, Final

from uvicorn.protocols.http.httptools_impl import STATUS_LINE

from lastblock.serve.app import App
from lastblock.serve.commits import not_written
from lastblock.serve.http import JSON_TYPES, Response, Whole
from lastblock.serve.keys import Key
from lastblock.serve.problems import ProblemError
from lastblock.serve.routing import Route
from lastblock.serve.slow_heads import NO_HEAD, TimedHeads
from lastblock.serve.state import EVERYTHING, State
from lastblock.support.errors import StoreError

LARGEST: Final = 65_536
"""The most bytes of a body that is gathered here; uvicorn makes the client wait beyond that."""

_CLOSE: Final = (b"connection", b"close")


class _Event:
    """Stands for the event of a request to uvicorn, where nobody waits for it."""

    def set(self) -> None:
        """Do nothing."""


_NOBODY_WAITS = _Event()


class _Cycle:
    """Stands for a request of which the answer is not sent yet; uvicorn reads these attributes."""

    __slots__ = ("disconnected", "keep_alive", "response_complete")

    message_event = _NOBODY_WAITS

    def __init__(self) -> None:
        self.disconnected = self.response_complete = False
        self.keep_alive = True


class QuickProtocol(TimedHeads):
    """A connection of a client; a subclass has the application, see `protocol_for`."""

    api: App

    def __init__(self, *arguments: Any, **options: Any) -> None:
        super().__init__(*arguments, **options)
        self._found: tuple[Route, tuple[str, ...]] | None = None  # of a request that is held here
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
        self._found, self._body = self._find(), b""
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
            if self._answer(*self._found):
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

    def _find(self) -> tuple[Route, tuple[str, ...]] | None:
        """Return the route of a request, and what is in its path; None if it is uvicorn's."""
        is_busy = self.cycle is not None and not self.cycle.response_complete
        if is_busy or self.flow.write_paused or self.access_log or self.expect_100_continue:
            return None
        parser, url = self.parser, self.url
        if b"?" in url or parser.should_upgrade() or not parser.should_keep_alive():
            return None
        try:
            found = self.api.router.find(parser.get_method().decode("ascii"), url)
        except (ProblemError, UnicodeDecodeError):
            return None
        return None if found[0].quick is None else found

    def _answer(self, route: Route, parameters: tuple[str, ...]) -> bool:
        """Answer a request, and return True; or change nothing and return False."""
        began, state = time.perf_counter(), self.api.state
        response = answer_quickly(state, route, parameters, dict(self.headers), self._body)
        if response is None:
            return False
        cycle: Any = _Cycle()
        self.cycle = cycle
        state.metrics.in_flight += 1
        state.host.commits.when_written(partial(self._finish, cycle, route, response, began))
        return True

    def _finish(
        self,
        cycle: _Cycle,
        route: Route,
        response: Response,
        began: float,
        error: StoreError | None,
    ) -> None:
        """Send an answer, now that its events are written or cannot be."""
        if error is not None:
            response = Response.problem(not_written(error))
        cycle.response_complete = True
        metrics, status = self.api.state.metrics, response.status
        if cycle.disconnected or self.transport.is_closing():
            status = 499
        else:
            self.transport.write(self._bytes_of(response, cycle))
            if not cycle.keep_alive:
                self.transport.close()
        metrics.in_flight -= 1
        metrics.count(route.method, route.path, status, time.perf_counter() - began)
        self._go_on()

    def _bytes_of(self, response: Response, cycle: _Cycle) -> bytes:
        parts = [STATUS_LINE[response.status]]
        headers = self.server_state.default_headers + response.head()
        if not cycle.keep_alive:
            headers.append(_CLOSE)
        for name, value in headers:
            parts += (name, b": ", value, b"\r\n")
        parts += (b"\r\n", response.body)
        return b"".join(parts)

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


_JSON_TYPES = tuple(kind.encode() for kind in JSON_TYPES)


def protocol_for(app: App) -> type[QuickProtocol]:
    """Return the class of connections to an application."""
    more = {"api": app, "patience": app.state.settings.request_timeout}
    return type("QuickProtocol", (QuickProtocol,), more)


def answer_quickly(
    state: State,
    route: Route,
    parameters: tuple[str, ...],
    headers: dict[bytes, bytes],
    body: bytes,
) -> Response | None:
    """Return the answer to a request, to be sent when its events are written.

    Parameters
    ----------
    state
        The service.
    route, parameters
        The operation, and what is in the path.
    headers, body
        The request.

    Returns
    -------
    Response or None
        None if nothing was changed, and the application is to answer.
    """
    kind = headers.get(b"content-type")
    if not state.host.is_ready or (state.settings.cors and b"origin" in headers):
        return None
    if kind is not None and not kind.startswith(_JSON_TYPES):
        return None
    caller = _caller(state, headers, route)
    if caller is None or len(body) > state.settings.max_body or route.quick is None:
        return None
    try:
        state.limits.take(caller.id)
    except ProblemError:
        return None
    response = None
    try:
        response = route.quick(Whole(headers, parameters, body, caller))
    except Exception:  # whatever it is: the application answers, and says so
        return None
    finally:
        if response is None:
            state.limits.give_back(caller.id)
    return response


def _caller(state: State, headers: dict[bytes, bytes], route: Route) -> Key | None:
    """Return the key of a request if it has the right; None if it has not, or is limited."""
    if state.settings.insecure:
        return None if state.limits.rate else EVERYTHING  # limits are for addresses then
    given = headers.get(b"authorization")
    key = None if given is None else state.key_of(str(given, "latin-1"))
    if key is None or route.needs is None or not key.allows(route.needs):
        return None
    return key
