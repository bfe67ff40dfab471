"""Several servers on one database: each bandit has one of them, and the others forward to it.

Each server writes its address into the database, under the name that its leases have. A server that
gets a request for a bandit of another one looks there, and forwards it over a connection that it
keeps.
"""

import asyncio
import ipaddress
import logging
import socket
import ssl
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Collection, Iterable
from contextlib import suppress
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, Final, NamedTuple
from urllib.parse import SplitResult, urlsplit

from lastblock.serve.http import ClientLeftError, Request, Response, Send
from lastblock.serve.problems import ProblemError, unavailable
from lastblock.serve.settings import LOOPBACK, Settings
from lastblock.store.storage import DamagedError
from lastblock.store.store import Store
from lastblock.support.errors import StoreError

_log = logging.getLogger(__name__)

COLLECTION: Final = "servers"

LOOK: Final = 2.0
"""Seconds between two looks at who has which bandit."""

FRESH: Final = 3.0 * LOOK
"""Seconds for which the answer of such a look is used."""

FORGET: Final = timedelta(days=1)
"""How long the address of a server is kept that has ended without withdrawing it."""

AGAIN: Final = 3600.0
"""Seconds after which a server writes its address again, so that others keep it."""


class ElsewhereError(Exception):
    """Raised when another server has a bandit: a request about it is forwarded there.

    Parameters
    ----------
    name
        The bandit.
    url
        Where that server is reached.
    """

    def __init__(self, name: str, url: str) -> None:
        super().__init__(f"bandit {name!r} is at {url}")
        self.name, self.url = name, url


class Peers:
    """The servers that share a database, as this one knows them.

    Parameters
    ----------
    store
        The store.
    """

    def __init__(self, store: Store) -> None:
        self._store, self.me = store, store.holder
        self.url = ""
        """Where others reach this server; empty before `publish`, or if they cannot."""
        self._written = 0.0  # when our address was written
        self._where: dict[str, str] = {}  # the address of the server that has a bandit, by its name
        self._names: dict[int, str] = {}
        self._until = 0.0  # until when these are used
        self._free: dict[str, float] = {}  # since when nobody has had a bandit

    def publish(self, url: str) -> None:
        """Let others know where to reach this server, until `withdraw`."""
        self.url = url
        if url:
            value = {"url": url, "machine": _machine(), "time": _now().isoformat()}
            self._store.documents.put(COLLECTION, self.me, value)
            self._written = time.monotonic()

    def withdraw(self) -> None:
        """Let nobody forward to this server any more."""
        if self.url:
            self._store.documents.drop(COLLECTION, self.me)

    def check(self, name: str) -> None:
        """Raise an `ElsewhereError` if another server has a bandit, as far as we know."""
        url = self._where.get(name)
        if url is not None and time.monotonic() < self._until:
            raise ElsewhereError(name, url)

    def find(self, name: str) -> None:
        """Look who has a bandit, and raise an `ElsewhereError` if another server can be reached."""
        self.refresh()
        self.check(name)

    def name_of(self, number: int) -> str | None:
        """Return the name of the bandit with a number, if another server has it."""
        return self._names.get(number) if time.monotonic() < self._until else None

    def forget(self, url: str) -> None:
        """Ask the database again before another request goes to an address."""
        self._where = {name: each for name, each in self._where.items() if each != url}

    def refresh(self) -> set[str]:
        """Look who has which bandit; return those that nobody has had for a while."""
        began = time.monotonic()
        urls = self._read()
        held = self._store.holders()
        self._where = {
            name: urls[each.holder]
            for name, each in held.items()
            if each.holder != self.me and each.holder in urls
        }
        self._names = {held[name].number: name for name in self._where}
        self._until = began + FRESH
        # Who creates or deletes a bandit leaves it alone for a moment.
        self._free = {
            name: self._free.get(name, began) for name, each in held.items() if not each.holder
        }
        return {name for name, since in self._free.items() if began - since >= LOOK / 2}

    def _read(self) -> dict[str, str]:
        """Return the addresses of all other servers that can be reached from here, by holder."""
        found, machine, urls = self._store.documents.all(COLLECTION), _machine(), {}
        for holder, (_, value) in found.items():
            url = value["url"]
            if holder == self.me or url == self.url:
                continue  # this server, or what was here before it
            if is_loopback(urlsplit(url).hostname or "") and value["machine"] != machine:
                continue
            urls[holder] = url
            if datetime.fromisoformat(value["time"]) < _now() - FORGET:
                self._store.documents.drop(COLLECTION, holder)
        if self.url and (self.me not in found or time.monotonic() > self._written + AGAIN):
            self.publish(self.url)
        return urls

    async def work(
        self, get: Callable[[str], Awaitable[Any]], lose: Callable[[Collection[int]], object]
    ) -> None:
        """Look again and again, and take bandits that nobody has any more.

        Parameters
        ----------
        get
            Opens a bandit by its name.
        lose
            Is called with the numbers of bandits that other servers have.
        """
        while True:
            await asyncio.sleep(LOOK)
            try:
                free = await asyncio.to_thread(self.refresh)
                lose(self._names.keys())
                for name in sorted(free):
                    with suppress(ProblemError, ElsewhereError, DamagedError):
                        await get(name)
                        _log.info("bandit %r, which nobody had any more, is open here now", name)
            except StoreError as error:
                _log.warning("cannot look which servers there are: %s", error)


def address_for(settings: Settings, url: str) -> str:
    """Return the address under which other servers reach this one.

    Parameters
    ----------
    settings
        The settings of the service.
    url
        Where it listens.
    """
    if settings.advertise:
        return settings.advertise.rstrip("/")
    if settings.uds:
        return ""
    parts = urlsplit(url)
    if settings.host in ("0.0.0.0", "::"):
        here = _towards(urlsplit(settings.store).hostname or "")
        return parts._replace(netloc=f"{here}:{parts.port}").geturl()
    return url


def _towards(host: str) -> str:
    """Return the address of this machine in the network in which the database is."""
    try:
        (family, kind, _, _, address), *_ = socket.getaddrinfo(host, 5432, type=socket.SOCK_DGRAM)
        with socket.socket(family, kind) as probe:
            probe.connect(address)  # this sends nothing
            found: str = probe.getsockname()[0]
    except OSError:
        return socket.gethostname()
    return f"[{found}]" if ":" in found else found


def is_loopback(host: str) -> bool:
    """Return whether an address means the machine itself, on every machine."""
    try:
        return host in LOOPBACK or ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


def _machine() -> str:
    """Return what tells machines, and containers on one machine, apart."""
    try:
        boot = Path("/proc/sys/kernel/random/boot_id").read_text(encoding="ascii").strip()
    except OSError:
        boot = ""
    return f"{socket.gethostname()} {boot}"


def _now() -> datetime:
    return datetime.now(UTC)


HEADER: Final = b"lastblock-forwarded"
"""Who forwarded a request; one that has it is never forwarded again."""

CONNECT: Final = 2.0
"""Seconds in which another server must take a connection."""

SOON: Final = 10.0
"""Seconds in which it must begin to answer a request for decisions, or with rewards."""

LATER: Final = 120.0
"""Seconds in which it must begin to answer any other request, or go on with an answer."""

IDLE: Final = 3.0
"""Seconds after which a connection is not used again; the other server soon closes it."""

KEPT: Final = 64
"""How many connections to a server are kept."""

_HOP = frozenset(
    (b"connection", b"keep-alive", b"transfer-encoding", b"te", b"trailer", b"upgrade", b"expect")
)
_ABOUT = frozenset((b"x-forwarded-for", b"x-forwarded-proto"))
_OURS = _HOP | {b"date", b"server", HEADER, b"lastblock-only-check"}
_SENT = _OURS | _ABOUT | {b"content-length", b"host"}
_BROKEN = (OSError, EOFError, asyncio.LimitOverrunError, LookupError, ValueError)
"""Errors of a connection that ends, takes too long (`TimeoutError`), or speaks no HTTP."""


class _Connection(NamedTuple):
    reader: asyncio.StreamReader
    writer: asyncio.StreamWriter


class _Answer:
    """What another server answers: the head, and then the body as it comes.

    Parameters
    ----------
    connection
        The connection over which it comes.
    """

    def __init__(self, connection: _Connection) -> None:
        self.connection = connection
        self.status = 0
        self.headers: list[tuple[bytes, bytes]] = []
        self.keeps = True
        """Whether the connection can be used again."""

    async def read_head(self) -> None:
        """Read the status and the headers."""
        head = await self.connection.reader.readuntil(b"\r\n\r\n")
        first, *lines = head.split(b"\r\n")[:-2]
        self.status = int(first.split()[1])
        pairs = [line.partition(b":") for line in lines]
        self.headers = [(name.lower(), value.strip()) for name, _, value in pairs]
        self.keeps = (b"connection", b"close") not in self.headers

    async def parts(self) -> AsyncIterator[bytes]:
        """Yield the body as it comes; an error is raised unless it comes to its end."""
        reader, headers = self.connection.reader, dict(self.headers)
        if self.status in (204, 304):
            return
        if headers.get(b"transfer-encoding") == b"chunked":
            while size := int((await reader.readuntil(b"\r\n")).partition(b";")[0], 16):
                yield (await reader.readexactly(size + 2))[:-2]
            await reader.readuntil(b"\r\n")
            return
        left = int(headers[b"content-length"])
        while left:
            part = await reader.read(min(left, 1 << 16))
            if not part:
                raise ConnectionResetError("the connection was closed")
            left -= len(part)
            yield part


class Relayed(Response):
    """The answer of another server, which is handed on as it comes."""

    __slots__ = ("_answer", "_forwarder", "_request", "_url")

    def __init__(self, forwarder: "Forwarder", url: str, answer: _Answer, request: Request) -> None:
        super().__init__(b"", answer.status)
        self._forwarder, self._url, self._request = forwarder, url, request
        self._answer = answer

    async def whole(self) -> bytes:
        """Return the body, which must not be a stream."""
        try:
            async with asyncio.timeout(LATER):
                found = b"".join([part async for part in self._answer.parts()])
        except _BROKEN as error:
            self._answer.connection.writer.close()
            raise unreachable(error) from None
        self._forwarder.keep(self._url, self._answer)
        return found

    async def send(self, send: Send) -> None:
        """Send what comes, until it is complete or the client leaves."""
        headers = [pair for pair in self._answer.headers if pair[0] not in _OURS]
        await send({"type": "http.response.start", "status": self.status, "headers": headers})
        left = asyncio.ensure_future(self._request.until_left())
        sends = asyncio.ensure_future(self._send_parts(send))
        try:
            await asyncio.wait([left, sends], return_when=asyncio.FIRST_COMPLETED)
            if not sends.done():
                raise ClientLeftError
            sends.result()
        except _BROKEN:
            # Half an answer must not look like a whole one: the connection is cut.
            raise ClientLeftError from None
        finally:
            left.cancel()
            if sends.cancel() or sends.cancelled() or sends.exception() is not None:
                self._answer.connection.writer.close()
            else:
                self._forwarder.keep(self._url, self._answer)
        await send({"type": "http.response.body", "body": b""})

    async def _send_parts(self, send: Send) -> None:
        parts = self._answer.parts()
        while True:
            async with asyncio.timeout(LATER):
                part = await anext(parts, None)
            if part is None:
                return
            await send({"type": "http.response.body", "body": part, "more_body": True})


class Forwarder:
    """Sends requests of clients to other servers.

    Parameters
    ----------
    me
        The name of this server.
    root
        The path under which a proxy shows it.
    """

    def __init__(self, me: str, root: str) -> None:
        self._me, self._root = me.encode(), root.encode()
        self._idle: dict[str, list[tuple[_Connection, float]]] = {}
        self._context: ssl.SSLContext | None = None

    async def forward(
        self,
        request: Request,
        url: str,
        seconds: float,
        body: bytes | None = None,
        more: Iterable[tuple[bytes, bytes]] = (),
    ) -> Relayed:
        """Send a request to another server, and return its answer when that begins.

        Parameters
        ----------
        request
            The request.
        url
            The address of the other server.
        seconds
            In which time it must begin to answer.
        body
            Another body than that of the request.
        more
            More headers.

        Raises
        ------
        ProblemError
            If there is no answer: a 503, after which the client may try again.
        """
        sent = await request.body() if body is None else body
        writer: asyncio.StreamWriter | None = None
        try:
            connection = await self._connection(url)
            writer = connection.writer
            writer.write(self._head(request, url, len(sent), more) + sent)
            answer = _Answer(connection)
            async with asyncio.timeout(seconds):
                await answer.read_head()
        except BaseException as error:
            if writer is not None:
                writer.close()
            if isinstance(error, _BROKEN):
                raise unreachable(error) from None
            raise
        return Relayed(self, url, answer, request)

    def _head(
        self, request: Request, url: str, size: int, more: Iterable[tuple[bytes, bytes]]
    ) -> bytes:
        scope, path = request.scope, urlsplit(url).path.encode()
        raw: bytes = (scope.get("raw_path") or scope["path"].encode()).partition(b"?")[0]
        target = path + raw.removeprefix(self._root)
        if scope["query_string"]:
            target += b"?" + scope["query_string"]
        method = scope["method"].encode()
        client = scope.get("client")
        lines = [
            (b"GET" if method == b"HEAD" else method) + b" " + target + b" HTTP/1.1",
            b"host: " + (request.header(b"host") or urlsplit(url).netloc).encode("latin-1"),
            b"content-length: %d" % size,
            HEADER + b": " + self._me,
            b"x-forwarded-proto: " + scope.get("scheme", "http").encode(),
            *(name + b": " + value for name, value in more),
            *(name + b": " + value for name, value in scope["headers"] if name not in _SENT),
        ]
        if client:
            lines.append(b"x-forwarded-for: " + client[0].encode())
        return b"\r\n".join([*lines, b"", b""])

    async def _connection(self, url: str) -> _Connection:
        """Return a connection that is kept, or a new one."""
        idle = self._idle.get(url, [])
        while idle:
            found, since = idle.pop()
            if time.monotonic() - since < IDLE and not found.reader.at_eof():
                return found
            found.writer.close()
        parts = urlsplit(url)
        async with asyncio.timeout(CONNECT):
            return _Connection(
                *await asyncio.open_connection(parts.hostname, _port(parts), ssl=self._tls(parts))
            )

    def _tls(self, parts: SplitResult) -> ssl.SSLContext | None:
        if parts.scheme != "https":
            return None
        if self._context is None:
            self._context = ssl.create_default_context()
        return self._context

    def keep(self, url: str, answer: _Answer) -> None:
        """Keep a connection for the next request, if the other server does."""
        idle = self._idle.setdefault(url, [])
        if answer.keeps and len(idle) < KEPT:
            idle.append((answer.connection, time.monotonic()))
        else:
            answer.connection.writer.close()

    async def close(self) -> None:
        """Close all connections."""
        for idle in self._idle.values():
            for connection, _ in idle:
                connection.writer.close()
                with suppress(OSError):
                    await connection.writer.wait_closed()
        self._idle.clear()


def unreachable(error: BaseException) -> ProblemError:
    """Return the problem of a server that has a bandit and does not answer."""
    words = str(error) or "it took too long"
    return unavailable(
        f"the server that has the bandit does not answer ({words}); it comes back, or another one "
        "takes over within seconds: send the same request again"
    )


def _port(parts: SplitResult) -> int:
    return parts.port or (443 if parts.scheme == "https" else 80)
