"""All addresses of the dashboard, and what it does in the background."""

import asyncio
from collections.abc import Iterator
from typing import Final

from lastblock.serve.dashboard import event_pages
from lastblock.serve.dashboard.bandit_pages import BanditPages, ChangePages
from lastblock.serve.dashboard.pages import Pages, assets
from lastblock.serve.dashboard.sign_in import Guard, SignInPages
from lastblock.serve.http import Request, Response
from lastblock.serve.problems import ProblemError
from lastblock.serve.routing import Route
from lastblock.serve.state import State

MINUTE: Final = 60.0


class Dashboard:
    """The dashboard of a service.

    Parameters
    ----------
    state
        The service.
    """

    def __init__(self, state: State) -> None:
        self._state, self._pages = state, Pages(state.settings.root_path)
        self._guard = Guard(state, self._pages)
        self.explain = self._pages.explain
        self._bandits = BanditPages(state, self._guard)

    async def look(self) -> None:
        """Note the traffic every minute; the task of the server that does this never ends."""
        while True:
            self._bandits.traffic.note(list(self._state.host.bandits.values()))
            await asyncio.sleep(MINUTE)

    def routes(self) -> Iterator[Route]:
        """Yield all pages, and the files that they load."""
        yield from self._bandits.routes()
        yield from ChangePages(self._state, self._guard, self._bandits).routes()
        yield from SignInPages(self._state, self._guard).routes()
        yield from event_pages.routes(self._state, self._guard, self._bandits)
        yield Route("GET", "/", self._begin)
        yield Route("GET", "/dashboard/assets/{file}", _asset)

    async def _begin(self, request: Request) -> Response:
        return self._pages.go("")


async def _asset(request: Request) -> Response:
    found = assets().get(request.parameters[0])
    if found is None:
        raise ProblemError("not-found", "there is no such file")
    kind, data, etag = found
    headers = {"ETag": etag, "Cache-Control": "public, max-age=31536000, immutable"}
    if request.header(b"if-none-match") == etag:
        return Response(status=304, headers=headers)
    return Response(data, 200, kind, headers)
