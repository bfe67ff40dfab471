"""Who may see a page and send a form: sessions, rights, and protection against forged requests."""

import asyncio
import hashlib
import hmac
import secrets
import time
from collections.abc import Awaitable, Callable, Iterator, Mapping
from functools import partial
from typing import Any, Final, NamedTuple, TypeAlias
from urllib.parse import parse_qsl, quote, urlsplit

from lastblock.serve.dashboard.pages import Pages
from lastblock.serve.http import Handler, Request, Response
from lastblock.serve.keys import Key, Keys, Right, is_proof, proof_of
from lastblock.serve.problems import ProblemError
from lastblock.serve.routing import Route
from lastblock.serve.state import EVERYTHING, State, address_of, check_origin
from lastblock.store.documents import Documents

COOKIE: Final = "lastblock_session"
HOURS: Final = 12
COLLECTION: Final = "secrets"
MOST_ENDED: Final = 10_000

_NO_KEY = "-"
"""Stands for the id of a key where everybody may do everything."""


class Session(NamedTuple):
    """A browser that is signed in."""

    key: Key
    """What it may do."""
    token: str
    """What its forms must send back, so that no other page can send them."""
    nonce: str
    """A random text: the name of this session."""


class Sessions:
    """Makes and reads sessions.

    Parameters
    ----------
    documents
        The documents of the store, which keep the secret.
    keys
        All keys.
    everybody
        What everybody may do without a key; None if keys are needed.
    clock
        Returns seconds since 1970; for tests.
    """

    def __init__(
        self,
        documents: Documents,
        keys: Keys,
        everybody: Key | None = None,
        clock: Callable[[], float] = time.time,
    ) -> None:
        found = documents.all(COLLECTION).get("sessions")
        if found is None:
            documents.put(COLLECTION, "sessions", secrets.token_hex(32), expected=0)
            found = documents.all(COLLECTION)["sessions"]
        self._secret = bytes.fromhex(found.value)
        self._keys, self._everybody, self._clock = keys, everybody, clock
        self._ended: dict[str, int] = {}  # nonces, and when their sessions would have ended

    def begin(self, key: Key | None, text: str = "") -> str:
        """Return the cookie's value for a new session.

        The signature says when it ends, and needs the secret of the store; the proof needs the key,
        so that the store alone is not enough to make a session.

        Parameters
        ----------
        key
            Its key; None for everybody's.
        text
            The whole key.
        """
        ends = int(self._clock()) + HOURS * 3600
        id, proof = (key.id, proof_of(text)) if key is not None else (_NO_KEY, "")
        about = f"{id}.{ends}.{secrets.token_urlsafe(16)}.{proof}"
        return f"{about}.{self._sign('session', about)}"

    def read(self, cookie: str | None) -> Session | None:
        """Return the session of a cookie; None if it is not valid any more."""
        parts = (cookie or "").split(".")
        if len(parts) != 5:
            return None
        id, ends, nonce, proof, signature = parts
        key = self._everybody if id == _NO_KEY else self._keys.current(id)
        if key is None or (self._everybody is not None) != (id == _NO_KEY):
            return None
        good = self._sign("session", f"{id}.{ends}.{nonce}.{proof}")
        if not hmac.compare_digest(good.encode(), signature.encode("utf-8", "replace")):
            return None
        if id != _NO_KEY and not is_proof(proof, key):
            return None
        if int(ends) <= self._clock() or nonce in self._ended:
            return None
        return Session(key, self._sign("form", nonce), nonce)

    def end(self, cookie: str | None) -> None:
        """Sign a browser out: its cookie is worth nothing from now on, in this process."""
        found = self.read(cookie)
        if found is None:
            return
        now = self._clock()
        if len(self._ended) >= MOST_ENDED:
            self._ended = {nonce: ends for nonce, ends in self._ended.items() if ends > now}
        self._ended[found.nonce] = int(now) + HOURS * 3600

    def is_token(self, session: Session, token: str) -> bool:
        """Return whether a form was made for this session."""
        return hmac.compare_digest(session.token.encode(), token.encode("utf-8", "replace"))

    def _sign(self, *parts: str) -> str:
        text = "\n".join(parts).encode("utf-8", "replace")
        return hashlib.blake2b(text, key=self._secret, digest_size=24).hexdigest()


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
        return partial(self._answer, page=page, right=right)

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


_UNKNOWN = "This key is unknown, revoked or expired. Ask for another one."
_CANNOT_READ = "This key has no scope 'read', so there is nothing that it could show here."


class SignInPages:
    """The pages where to sign in with a key, and out.

    Parameters
    ----------
    state
        The service.
    guard
        Lets browsers in.
    """

    def __init__(self, state: State, guard: Guard) -> None:
        self._state, self._guard = state, guard

    def _form(self, following: str, wrong: str = "") -> Response:
        return self._guard.pages.page(
            "sign_in.html", 401 if wrong else 200, following=following, wrong=wrong
        )

    async def ask(self, request: Request) -> Response:
        """Ask for a key."""
        if self._guard.sessions.read(cookie_of(request)) is not None:
            return self._guard.pages.go("")
        return self._form(_own(request.query().get("next", "")))

    async def sign_in(self, request: Request) -> Response:
        """Begin a session with a key."""
        fields = await read_form(request)
        check_origin(request)
        following = _own(fields.get("next", ""))
        text = fields.get("key", "").strip()
        key = self._state.keys.check(text)
        if key is None:
            self._state.limits.take(address_of(request))
            return self._form(following, _UNKNOWN)
        if not key.allows("read"):
            return self._form(following, _CANNOT_READ)
        guard = self._guard
        return guard.pages.go(following, guard.set_cookie(request, guard.sessions.begin(key, text)))

    async def sign_out(self, request: Request) -> Response:
        """End the session."""
        await read_form(request)
        check_origin(request)
        self._guard.sessions.end(cookie_of(request))
        return self._guard.pages.go("/sign-in", self._guard.set_cookie(request, ""))

    def routes(self) -> Iterator[Route]:
        """Yield the pages."""
        yield Route("GET", "/dashboard/sign-in", self.ask)
        yield Route("POST", "/dashboard/sign-in", self.sign_in)
        yield Route("POST", "/dashboard/sign-out", self.sign_out)


def _own(path: str) -> str:
    """Return a path below the dashboard to go to; nothing else, so that nobody is sent away."""
    parts = urlsplit(path)
    is_own = path.startswith("/") and not path.startswith(("//", "/\\")) and not parts.netloc
    is_plain = path.isascii() and path.isprintable() and "\\" not in path
    return path if is_own and is_plain and not path.startswith("/sign-") else ""
