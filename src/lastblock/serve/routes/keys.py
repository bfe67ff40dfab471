"""Keys, for those who have an admin key."""

import asyncio
from collections.abc import Iterator
from typing import Any

from lastblock.serve.http import Body, Request, Response
from lastblock.serve.keys import Key
from lastblock.serve.messages import KeyList, KeyMade, KeyShown, NewKey
from lastblock.serve.problems import ProblemError
from lastblock.serve.routing import Route
from lastblock.serve.state import State

_NEW = Body(NewKey)
_PRIVATE = {"Cache-Control": "no-store"}


def routes(state: State) -> Iterator[Route]:
    """Yield the operations."""
    keys = state.keys

    async def list_all(request: Request) -> Response:
        """List all keys."""
        shown = [KeyShown(**_fields(key)) for key in keys.all()]
        return Response.json(KeyList(keys=shown))

    async def create(request: Request) -> Response:
        """Make a key; it is shown this once."""
        new = await request.read(_NEW)
        text, key = await asyncio.to_thread(
            keys.create, new.scopes, bandits=new.bandits, name=new.name, days=new.days
        )
        return Response.json(KeyMade(key=text, **_fields(key)), 201, _PRIVATE)

    async def rotate(request: Request) -> Response:
        """Give a key another secret; the old one ends at once."""
        id = find(request)
        text, key = await asyncio.to_thread(keys.rotate, id)
        return Response.json(KeyMade(key=text, **_fields(key)), 200, _PRIVATE)

    async def revoke(request: Request) -> Response:
        """End a key at once."""
        id = find(request)
        if not state.settings.insecure and id == request.caller.id:
            raise ProblemError(
                "conflict", "this is the key that you use; revoke it with another one"
            )
        await asyncio.to_thread(keys.revoke, id)
        return Response(status=204)

    def find(request: Request) -> str:
        try:
            return keys.find(request.parameters[0]).id
        except LookupError:
            raise ProblemError("not-found", "there is no such key") from None

    yield Route("GET", "/v1/keys", list_all, needs="admin", returns={200: KeyList})
    yield Route("POST", "/v1/keys", create, needs="admin", takes=_NEW, returns={201: KeyMade})
    yield Route(
        "POST",
        "/v1/keys/{id}/rotate",
        rotate,
        needs="admin",
        returns={200: KeyMade},
        problems=("not-found",),
    )
    yield Route(
        "DELETE",
        "/v1/keys/{id}",
        revoke,
        needs="admin",
        returns={204: None},
        problems=("not-found", "conflict"),
    )


def _fields(key: Key) -> dict[str, Any]:
    return {name: list(v) if isinstance(v, tuple) else v for name, v in key.shown().items()}
