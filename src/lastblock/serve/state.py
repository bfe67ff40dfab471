"""All that the handlers of requests share."""

import logging
from collections.abc import Container, Iterable
from dataclasses import dataclass, field
from urllib.parse import urlsplit

from lastblock.serve.alerts import Alerts
from lastblock.serve.forwarding import HEADER, LATER, SOON, ElsewhereError, Forwarder, Relayed
from lastblock.serve.groups import Hosted
from lastblock.serve.hosted_bandits import Host
from lastblock.serve.http import Request
from lastblock.serve.keys import Key, Keys, Right
from lastblock.serve.limits import Limits
from lastblock.serve.metrics import Metrics
from lastblock.serve.problems import ProblemError, unavailable
from lastblock.serve.settings import Settings
from lastblock.store.storage import DamagedError, TakenOverError
from lastblock.support.errors import (
    ExpiredDecisionError,
    KeyReusedError,
    SettledDecisionError,
    StoreError,
    UnknownDecisionError,
)

_log = logging.getLogger(__name__)

EVERYTHING = Key("", "", ("admin",), None, "everybody", "")
"""What everybody may do on a server without keys."""


@dataclass
class State:
    """The parts of a running service."""

    settings: Settings
    host: Host
    keys: Keys
    limits: Limits
    alerts: Alerts
    metrics: Metrics = field(default_factory=Metrics)
    is_stopping: bool = False
    forwarder: Forwarder | None = None
    """Sends requests to other servers on the same database; None if there can be none."""
    streams: dict[int, list[int]] = field(default_factory=dict)
    """The streams of events that are open, and whether each is behind."""

    def check_site(self, request: Request) -> None:
        """Raise a `ProblemError` if a web page of others may have sent a request without a key.

        Such a page reaches whatever its reader's browser reaches. It names this server by its own
        host name, whose owner may lead it anywhere, or the browser says where it comes from.
        """
        given = request.header(b"host") or ""
        if not self.settings.answers_for(given):
            raise ProblemError(
                "misdirected",
                f"this server does not answer for {given!r}; start it with --allowed-hosts if it "
                "has this name",
            )
        if request.scope["method"] not in ("GET", "HEAD"):
            check_origin(request, self.settings.allowed_names)

    def is_over(self, request: Request, hosted: Hosted) -> bool:
        """Return whether a stream about a bandit has to end."""
        key: Key = request.caller
        is_revoked = key is not EVERYTHING and self.keys.current(key.id) != key
        return hosted.is_gone or self.is_stopping or is_revoked

    def authorize(self, request: Request, right: Right | None) -> None:
        """Note who sends a request, or raise a `ProblemError` if that key does not allow it."""
        if right is None:
            request.caller = None
            return
        if self.settings.insecure:
            request.caller = EVERYTHING
            self.limits.take(address_of(request))
            return
        given = request.header(b"authorization")
        if given is None or given[:7].lower() != "bearer ":
            raise _unauthorized("send the header `Authorization: Bearer lb_…` with your key")
        key = self.keys.check(given[7:].strip())
        if key is None:
            self.limits.take(address_of(request))
            raise _unauthorized("the key is unknown, revoked or expired; ask for another one")
        self.limits.take(key.id)
        if not key.allows(right):
            raise ProblemError(
                "forbidden", f"key {key.id} has no scope {right!r}, only: {', '.join(key.scopes)}"
            )
        request.caller = key

    def problem_of(self, error: Exception, operation: str) -> ProblemError:
        """Return the problem for an error that ended an operation."""
        match error:
            case ProblemError():
                return error
            case ExpiredDecisionError():
                return ProblemError("gone", str(error))
            case SettledDecisionError():
                return ProblemError("conflict", str(error))
            case UnknownDecisionError():  # forged tokens, and decisions that a crash has lost
                return ProblemError("not-found", str(error))
            case KeyReusedError():
                return ProblemError("key-reused", str(error))
            case DamagedError():
                detail = f"{error}; all others are served, and DELETE removes it"
                return ProblemError("damaged", detail, {"Retry-After": "60"})
            case StoreError():
                if isinstance(error, TakenOverError):
                    self.host.lose(error.bandits)
                return unavailable(str(error))
            case ValueError() | ImportError():
                return ProblemError("invalid", str(error))
        _log.error("a defect: %s failed", operation, exc_info=error)
        return ProblemError("defect", "this is a defect of lastblock; see the server's log")

    async def forward(
        self,
        request: Request,
        right: Right | None,
        elsewhere: ElsewhereError,
        body: bytes | None = None,
        more: Iterable[tuple[bytes, bytes]] = (),
    ) -> Relayed:
        """Have the server that has a bandit answer a request about it.

        Parameters
        ----------
        request
            The request.
        right
            The right that it needs; requests for decisions and with rewards must be quick.
        elsewhere
            Which server that is.
        body, more
            As for `Forwarder.forward`.
        """
        peers, url = self.host.peers, elsewhere.url
        if peers is None or self.forwarder is None or request.header(HEADER) is not None:
            raise unavailable(f"bandit {elsewhere.name!r} is moving to another server")
        seconds = SOON if right in ("ask", "tell") else LATER
        try:
            answer = await self.forwarder.forward(request, url, seconds, body, more)
        except ProblemError:
            peers.forget(url)
            raise
        if answer.status == 503:
            peers.forget(url)
        return answer

    async def bandit(self, request: Request) -> Hosted:
        """Return the bandit that a request names, if the key reaches it; open it if need be."""
        return await self.named(request, request.parameters[0])

    async def named(self, request: Request, name: str) -> Hosted:
        """Return the bandit of this name, if the key reaches it; open it if need be.

        A key for some bandits reaches what belongs to them, such as their segments.
        """
        found = self.host.bandits.get(name)
        if found is None:
            if not request.caller.reaches(name.partition("@")[0]):
                check_reach(request, name)
            found = await self.host.get(name, request.caller.reaches)
        check_reach(request, found.family.name)
        if self.host.peers is not None:  # what another server does, this one would not know
            self.host.store.check_owned(found.number)
        return found


def check_reach(request: Request, name: str) -> None:
    """Raise a `ProblemError` if the caller's key is not for this bandit."""
    key: Key = request.caller
    if not key.reaches(name):
        raise ProblemError("forbidden", f"key {key.id} is not for bandit {name!r}")


def check_origin(request: Request, names: Container[str] = ()) -> None:
    """Raise a `ProblemError` if a web page of others has sent a request.

    Parameters
    ----------
    request
        The request.
    names
        Host names whose pages may send it, too.
    """
    site = request.header(b"sec-fetch-site")
    origin, host = request.header(b"origin"), request.header(b"host")
    is_foreign = site is not None and site not in ("same-origin", "none")
    if origin is not None and host is not None and urlsplit(origin).netloc != host:
        is_foreign = is_foreign or site is None  # a proxy may show us under another name
    if is_foreign and urlsplit(origin or "").hostname not in names:
        raise ProblemError("forbidden", "this was sent by a page of another site")


def address_of(request: Request) -> str:
    """Return the name under which requests of an address are counted."""
    client = request.scope.get("client")
    return f"address {client[0]}" if client else "address unknown"


def _unauthorized(detail: str) -> ProblemError:
    return ProblemError("unauthorized", detail, {"WWW-Authenticate": 'Bearer realm="lastblock"'})
