"""Answer the requests on which speed depends straight from the connection.

Most requests for a decision, and most rewards, need not wait for anything but the disk. This
protocol answers them when their last byte is parsed, or when their events are written. Everything
else goes uvicorn's way through the application: requests in parts, other operations, and everything
that does not succeed. So there is one place that says what is wrong with a request.
"""

import time
from functools import partial

from lastblock.serve.app import App
from lastblock.serve.commits import not_written
from lastblock.serve.holding import Cycle, HoldingProtocol
from lastblock.serve.http import JSON_TYPES, Response, Whole
from lastblock.serve.keys import Key
from lastblock.serve.problems import ProblemError
from lastblock.serve.routing import Route
from lastblock.serve.state import EVERYTHING, State
from lastblock.support.errors import StoreError


class QuickProtocol(HoldingProtocol):
    """A connection of a client; a subclass has the application, see `protocol_for`."""

    api: App

    def find(self) -> tuple[Route, tuple[str, ...]] | None:
        """Return the route of a request, and what is in its path; None if it is uvicorn's."""
        url = self.url
        if b"?" in url:
            return None
        try:
            found = self.api.router.find(self.parser.get_method().decode("ascii"), url)
        except (ProblemError, UnicodeDecodeError):
            return None
        return None if found[0].quick is None else found

    def answer(self, found: tuple[Route, tuple[str, ...]], body: bytes) -> bool:
        """Answer a request, and return True; or change nothing and return False."""
        began, state, route = time.perf_counter(), self.api.state, found[0]
        response = answer_quickly(state, *found, dict(self.headers), body)
        if response is None:
            return False
        state.metrics.in_flight += 1
        told = partial(self._written, self.begin(), route, response, began)
        state.host.commits.when_written(told)
        return True

    def _written(
        self,
        cycle: Cycle,
        route: Route,
        response: Response,
        began: float,
        error: StoreError | None,
    ) -> None:
        """Send an answer, now that its events are written or cannot be."""
        if error is not None:
            response = Response.problem(not_written(error))
        is_there = self.finish(cycle, response.status, response.head(), response.body)
        metrics, status = self.api.state.metrics, response.status if is_there else 499
        metrics.in_flight -= 1
        metrics.count(route.method, route.path, status, time.perf_counter() - began)


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
