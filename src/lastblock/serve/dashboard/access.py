"""Who may see a page and send a form: sessions, roles, and protection against forged requests."""

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from typing import Any, TypeAlias
from urllib.parse import parse_qsl, quote, urlsplit

from lastblock.serve.dashboard.pages import Pages
from lastblock.serve.dashboard.sessions import COOKIE, HOURS, Session, Sessions
from lastblock.serve.http import Handler, Request, Response
from lastblock.serve.keys import Right
from lastblock.serve.problems import ProblemError, unavailable
from lastblock.serve.state import EVERYTHING, State
from lastblock.support.errors import StoreError

Page: TypeAlias = Callable[["Visit"], Awaitable[Response]]
"""Makes a page for somebody who may see it."""


class Visit:
    """A request of a browser that is signed in, with what it has sent."""

    def __init__(
        self,
        request: Request,
        session: Session,
        pages: Pages,
        form: Mapping[str, str],
    ) -> None:
        self.request, self.session, self.form, self._pages = request, session, form, pages

    @property
    def is_admin(self) -> bool:
        """Whether the key may change things."""
        return self.session.key.allows("admin")

    def page(self, template: str, status: int = 200, **values: Any) -> Response:
        """Return a page from a template, which knows who looks at it."""
        return self._pages.page(
            template, status, session=self.session, is_admin=self.is_admin, **values
        )

    async def page_in_thread(self, template: str, **values: Any) -> Response:
        """Return a page that takes long to make; decisions need not wait for it."""
        return await asyncio.to_thread(self.page, template, **values)


class Guard:
    """Lets through who may see a page; all others it sends to the page where to sign in.

    Parameters
    ----------
    state
        The service.
    pages
        The templates.
    """

    def __init__(self, state: State, pages: Pages) -> None:
        self._state, self.pages = state, pages
        everybody = EVERYTHING if state.settings.insecure else None
        self.sessions = Sessions(state.host.store.documents, state.keys, everybody)

    def __call__(self, page: Page, right: Right = "read") -> Handler:
        """Return the handler of a page that needs this right."""

        async def handle(request: Request) -> Response:
            try:
                self.check_ready()
                return await self._answer(request, page, right)
            except ProblemError as problem:
                return self.explain(problem)
            except StoreError as error:
                return self.explain(unavailable(str(error)))
            except (ValueError, ImportError) as error:
                return self.explain(ProblemError("invalid", str(error)))

        handle.__qualname__ = page.__qualname__
        return handle

    def check_ready(self) -> None:
        """Raise a `ProblemError` while the server opens its bandits."""
        host = self._state.host
        if not host.is_ready:
            raise unavailable(f"the server is not ready: {host.why_not}")

    def explain(self, problem: ProblemError) -> Response:
        """Return the page for a problem."""
        body = problem.body()
        headers = dict(problem.headers or {})
        if problem.status == 503:
            headers["Refresh"] = "3"
        return self.pages.page(
            "problem.html",
            problem.status,
            headers,
            title=body.title,
            detail=body.detail,
            session=None,
            is_admin=False,
        )

    async def _answer(self, request: Request, page: Page, right: Right) -> Response:
        session, made = self.sessions.read(cookie_of(request)), None
        if session is None and self._state.settings.insecure:
            made = self.sessions.begin(None)
            session = self.sessions.read(made)
        is_form = request.scope["method"] == "POST"
        form = await read_form(request) if is_form else {}
        if session is None:
            if is_form:
                raise ProblemError("unauthorized", "you are signed out; sign in and do it again")
            return self.pages.go(f"/sign-in?next={quote(self._path_of(request), safe='')}")
        self._state.limits.take(session.key.id)
        request.caller = session.key
        if is_form:
            check_origin(request)
            if made or not self.sessions.is_token(session, form.get("token", "")):
                raise ProblemError("forbidden", "the form is too old; open the page again")
        if not session.key.allows(right):
            raise ProblemError(
                "forbidden",
                f"this needs a key with the scope {right!r}; you are signed in with key "
                f"{session.key.id}, which has: {', '.join(session.key.scopes)}",
            )
        response = await page(Visit(request, session, self.pages, form))
        if made:
            response.headers = {**(response.headers or {}), **self.set_cookie(request, made)}
        return response

    def _path_of(self, request: Request) -> str:
        """Return the page that was asked for, beginning after ``/dashboard``."""
        raw: bytes = request.scope.get("raw_path") or request.scope["path"].encode()
        path = raw.partition(b"?")[0].decode("latin-1").removeprefix(self.pages.root)
        return path.removeprefix("/dashboard")

    def set_cookie(self, request: Request, value: str) -> dict[str, str]:
        """Return the header that gives a browser its session; an empty value takes it away."""
        settings = self._state.settings
        is_safe = request.scope.get("scheme") == "https" or bool(settings.tls_cert)
        age = HOURS * 3600 if value else 0
        return {
            "Set-Cookie": f"{COOKIE}={value}; Path={self.pages.root}/dashboard; Max-Age={age}; "
            f"HttpOnly; SameSite=Strict{'; Secure' * is_safe}"
        }


def cookie_of(request: Request) -> str | None:
    """Return the session's cookie; None if there is none."""
    for part in (request.header(b"cookie") or "").split(";"):
        name, _, value = part.strip().partition("=")
        if name == COOKIE:
            return value
    return None


async def read_form(request: Request) -> dict[str, str]:
    """Return the fields of a form, or raise a `ProblemError`."""
    kind = request.header(b"content-type") or ""
    data = await request.body()
    if not kind.startswith("application/x-www-form-urlencoded"):
        raise ProblemError("wrong-type", "send the form of the page")
    try:
        text = data.decode("ascii")
        return dict(parse_qsl(text, keep_blank_values=True, max_num_fields=2000, errors="strict"))
    except (UnicodeDecodeError, ValueError) as error:
        raise ProblemError("bad-request", f"the form cannot be read: {error}") from None


def check_origin(request: Request) -> None:
    """Raise a `ProblemError` if a page of somebody else has sent a form."""
    site = request.header(b"sec-fetch-site")
    origin, host = request.header(b"origin"), request.header(b"host")
    is_foreign = site is not None and site not in ("same-origin", "none")
    if origin is not None and host is not None and urlsplit(origin).netloc != host:
        is_foreign = is_foreign or site is None  # a proxy may show us under another name
    if is_foreign:
        raise ProblemError("forbidden", "this form was not sent by the dashboard")
