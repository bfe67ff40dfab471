"""Keys: list them, make them, give them another secret, end them."""

import asyncio
from collections.abc import Iterator

from lastblock.serve.dashboard.access import Guard, Visit
from lastblock.serve.http import Response
from lastblock.serve.keys import RIGHTS
from lastblock.serve.problems import ProblemError
from lastblock.serve.routing import Route
from lastblock.serve.state import State

_MEANINGS = {
    "ask": "take decisions",
    "tell": "report rewards",
    "read": "look at everything, also here",
    "admin": "do everything",
}


def routes(state: State, guard: Guard) -> Iterator[Route]:
    """Yield the pages."""
    keys = state.keys

    def shown(visit: Visit, made: str = "", wrong: str = "") -> Response:
        return visit.page(
            "keys.html",
            422 if wrong else 200,
            keys=keys.all(),
            rights=[(right, _MEANINGS[right]) for right in RIGHTS],
            made=made,
            wrong=wrong,
            form=visit.form if wrong else {},
            chosen=visit.all_of("scope"),
        )

    async def list_all(visit: Visit) -> Response:
        return shown(visit)

    async def create(visit: Visit) -> Response:
        days = visit.form.get("days", "").strip()
        only = [line.strip() for line in visit.form.get("bandits", "").splitlines()]
        try:
            text, _ = await asyncio.to_thread(
                keys.create,
                visit.all_of("scope"),
                bandits=[name for name in only if name] or None,
                name=visit.form.get("name", "").strip(),
                days=float(days) if days else None,
            )
        except ValueError as error:
            return shown(visit, wrong=str(error))
        return shown(visit, text)

    async def rotate(visit: Visit) -> Response:
        text, _ = await asyncio.to_thread(keys.rotate, find(visit))
        return shown(visit, text)

    async def revoke(visit: Visit) -> Response:
        id = find(visit)
        if id == visit.session.key.id:
            raise ProblemError(
                "conflict", "you are signed in with this key; sign in with another one to end it"
            )
        await asyncio.to_thread(keys.revoke, id)
        return guard.pages.go("/keys")

    def find(visit: Visit) -> str:
        try:
            return keys.find(visit.form.get("id", "")).id
        except LookupError:
            raise ProblemError("not-found", "there is no such key any more") from None

    for method, path, page in (
        ("GET", "keys", list_all),
        ("POST", "keys", create),
        ("POST", "keys/rotate", rotate),
        ("POST", "keys/revoke", revoke),
    ):
        yield Route(method, f"/dashboard/{path}", guard(page, "admin"), "A page.")
