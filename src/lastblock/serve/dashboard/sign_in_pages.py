"""Sign in with a key, and out."""

from collections.abc import Iterator
from urllib.parse import urlsplit

from lastblock.serve.dashboard.access import Guard, check_origin, cookie_of, read_form
from lastblock.serve.http import Handler, Request, Response
from lastblock.serve.problems import ProblemError
from lastblock.serve.routing import Route
from lastblock.serve.state import State

_UNKNOWN = "This key is unknown, revoked or expired. Ask for another one."
_CANNOT_READ = "This key has no scope 'read', so there is nothing that it could show here."


def routes(state: State, guard: Guard) -> Iterator[Route]:
    """Yield the pages."""

    def form(following: str, wrong: str = "") -> Response:
        return guard.pages.page(
            "sign_in.html",
            401 if wrong else 200,
            following=following,
            wrong=wrong,
            session=None,
            is_admin=False,
        )

    async def ask(request: Request) -> Response:
        if guard.sessions.read(cookie_of(request)) is not None:
            return guard.pages.go("")
        return form(_own(request.query().get("next", "")))

    async def sign_in(request: Request) -> Response:
        fields = await read_form(request)
        check_origin(request)
        following = _own(fields.get("next", ""))
        key = state.keys.check(fields.get("key", "").strip())
        if key is None:
            client = request.scope.get("client")
            state.limits.take(f"address {client[0] if client else 'unknown'}")
            return form(following, _UNKNOWN)
        if not key.allows("read"):
            return form(following, _CANNOT_READ)
        cookie = guard.set_cookie(request, guard.sessions.begin(key))
        return guard.pages.go(following, cookie)

    async def sign_out(request: Request) -> Response:
        await read_form(request)
        check_origin(request)
        guard.sessions.end(cookie_of(request))
        return guard.pages.go("/sign-in", guard.set_cookie(request, ""))

    for method, path, handler in (
        ("GET", "sign-in", ask),
        ("POST", "sign-in", sign_in),
        ("POST", "sign-out", sign_out),
    ):
        yield Route(method, f"/dashboard/{path}", _explained(guard, handler), "A page.")


def _explained(guard: Guard, handler: Handler) -> Handler:
    """Return a handler whose problems are pages."""

    async def handle(request: Request) -> Response:
        try:
            guard.check_ready()
            return await handler(request)
        except ProblemError as problem:
            return guard.explain(problem)

    return handle


def _own(path: str) -> str:
    """Return a path below the dashboard to go to; nothing else, so that nobody is sent away."""
    parts = urlsplit(path)
    is_own = path.startswith("/") and not path.startswith(("//", "/\\")) and not parts.netloc
    is_plain = path.isascii() and path.isprintable() and "\\" not in path
    return path if is_own and is_plain and not path.startswith("/sign-") else ""
