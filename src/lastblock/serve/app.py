"""The ASGI application: find the operation, check the key, answer, count."""

import asyncio
import time
from collections.abc import Iterator

from lastblock.serve import openapi
from lastblock.serve.dashboard.routes import Dashboard
from lastblock.serve.forwarding import ElsewhereError
from lastblock.serve.http import ClientLeftError, Receive, Request, Response, Scope, Send
from lastblock.serve.problems import unavailable
from lastblock.serve.routes import bandits, decisions, health, keys, reports, rewards
from lastblock.serve.routing import Route, Router
from lastblock.serve.state import State

_NOWHERE = "(unknown)"
"""The path of requests to addresses that do not exist, in metrics."""

_ALWAYS = ("/livez", "/readyz", "/metrics", "/openapi.json", "/dashboard/assets/{file}", "/")
"""What is answered while the server starts."""


class App:
    """The API of one service, as an ASGI application.

    Parameters
    ----------
    state
        What the operations share.
    """

    def __init__(self, state: State) -> None:
        self.state = state
        self.api = list(_routes(state))
        """The operations that the description of the API has."""
        self.dashboard = Dashboard(state)
        self.router = Router([*self.api, *self.dashboard.routes()])

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request."""
        if scope["type"] != "http":
            await _refuse(scope, receive, send)
            return
        began = time.perf_counter()
        state, method, path = self.state, scope["method"], _NOWHERE
        request = Request(scope, receive)
        state.metrics.in_flight += 1
        status = 499  # what is counted if the client leaves, as nginx does
        try:
            try:
                request.check_head()
                route, request.parameters = self._find(method, scope)
                path = route.path
                response = await self._answer(request, route)
            except (ClientLeftError, asyncio.CancelledError):
                raise
            except Exception as error:
                # No variable keeps the problem: its traceback would keep the request, and granian
                # a connection whose body has not arrived, until Python looks for garbage.
                explain = (
                    self.dashboard.explain if path.startswith("/dashboard") else Response.problem
                )
                response = explain(state.problem_of(error, f"{method} {path}"))
            status = response.status
            await response.send(send)  # the server leaves the body out for HEAD
        except ClientLeftError:
            pass
        finally:
            state.metrics.in_flight -= 1
            state.metrics.count(method, path, status, time.perf_counter() - began)

    def _find(self, method: str, scope: Scope) -> tuple[Route, tuple[str, ...]]:
        raw: bytes = scope.get("raw_path") or scope["path"].encode()
        root = self.state.settings.root_path
        if root and raw.startswith(root.encode()):
            raw = raw[len(root) :]
        return self.router.find("GET" if method == "HEAD" else method, raw.partition(b"?")[0])

    async def _answer(self, request: Request, route: Route) -> Response:
        state = self.state
        if state.settings.insecure:
            state.check_site(request)
        if not state.host.is_ready and route.path not in _ALWAYS:
            raise unavailable(f"the server is not ready: {state.host.why_not}")
        state.authorize(request, route.needs)
        if route.path.startswith("/v1/"):  # probes of health may add what they like
            request.options = dict(route.read_options(request))
        try:
            return await route.handler(request)
        except ElsewhereError as elsewhere:
            return await state.forward(request, route.needs, elsewhere)


def _routes(state: State) -> Iterator[Route]:
    yield from health.routes(state)
    yield from bandits.routes(state)
    yield from decisions.routes(state)
    yield from rewards.routes(state)
    yield from reports.routes(state)
    yield from keys.routes(state)
    made: dict[str, bytes] = {}

    async def describe(request: Request) -> Response:
        """This description of the API."""
        if not made:
            made["openapi"] = openapi.describe(list(_routes(state)), state.settings.root_path)
        return Response(made["openapi"])

    yield Route("GET", "/openapi.json", describe, returns={200: dict})


async def _refuse(scope: Scope, receive: Receive, send: Send) -> None:
    """Close a web socket; anything else is a mistake of the ASGI server's."""
    if scope["type"] != "websocket":
        raise RuntimeError(f"lastblock does not speak {scope['type']!r}")
    await receive()
    await send({"type": "websocket.close", "code": 1000})
