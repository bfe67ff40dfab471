"""Forwards requests to the server that has the bandit, over connections that are kept."""

import asyncio
import ssl
import time
from collections.abc import Iterable
from contextlib import suppress
from typing import Final, NamedTuple
from urllib.parse import SplitResult, urlsplit

import httptools

from lastblock.serve.http import ClientLeftError, Request, Response, Send
from lastblock.serve.problems import ProblemError, unavailable

HEADER: Final = b"lastblock-forwarded"
"""Who forwarded a request; one that has it is never forwarded again."""

CONNECT: Final = 2.0
"""Seconds in which another server must take a connection."""

SOON: Final = 10.0
"""Seconds in which it must begin to answer a request for decisions, or with rewards."""

LATER: Final = 120.0
"""Seconds in which it must begin to answer any other request, or go on with an answer."""

IDLE: Final = 3.0
"""Seconds after which a connection is not used again; uvicorn closes it after five."""

KEPT: Final = 64
"""How many connections to a server are kept."""

_HOP = frozenset(
    (b"connection", b"keep-alive", b"transfer-encoding", b"te", b"trailer", b"upgrade", b"expect")
)
_ABOUT = frozenset((b"x-forwarded-for", b"x-forwarded-proto"))
_OURS = _HOP | {b"content-length", b"date", b"server", HEADER, b"lastblock-only-check"}
_SENT = _OURS | _ABOUT


class _Incoming:
    """What a parser has found of an answer so far."""

    def __init__(self) -> None:
        self.headers: list[tuple[bytes, bytes]] = []
        self.parts: list[bytes] = []
        self.has_headers = self.is_whole = False
        self.parser = httptools.HttpResponseParser(self)

    def on_header(self, name: bytes, value: bytes) -> None:
        """Note a header."""
        self.headers.append((name.lower(), value))

    def on_headers_complete(self) -> None:
        """Note that a body may follow."""
        self.has_headers = True

    def on_body(self, body: bytes) -> None:
        """Note a part of the body."""
        self.parts.append(body)

    def on_message_complete(self) -> None:
        """Note that the answer is complete."""
        self.is_whole = True

    def take(self) -> bytes:
        """Return what has come of the body since the last call."""
        parts, self.parts = self.parts, []
        return b"".join(parts)


class _Connection(NamedTuple):
    reader: asyncio.StreamReader
    writer: asyncio.StreamWriter

    async def read(self, into: _Incoming, seconds: float) -> None:
        """Read some more of an answer, or raise an error."""
        async with asyncio.timeout(seconds):
            data = await self.reader.read(1 << 16)
        if not data:
            raise ConnectionResetError("the connection was closed")
        into.parser.feed_data(data)


class Relayed(Response):
    """The answer of another server, which is handed on as it comes."""

    __slots__ = ("_connection", "_forwarder", "_incoming", "_request", "_url")

    def __init__(
        self,
        forwarder: "Forwarder",
        url: str,
        connection: _Connection,
        incoming: _Incoming,
        request: Request,
    ) -> None:
        super().__init__(b"", incoming.parser.get_status_code())
        self._forwarder, self._url, self._request = forwarder, url, request
        self._connection, self._incoming = connection, incoming

    async def whole(self) -> bytes:
        """Return the body, which must not be a stream."""
        incoming = self._incoming
        try:
            while not incoming.is_whole:
                await self._connection.read(incoming, LATER)
        except (OSError, httptools.HttpParserError) as error:
            self._connection.writer.close()
            raise unreachable(error) from None
        self._forwarder.keep(self._url, self._connection, incoming)
        return incoming.take()

    async def send(self, send: Send) -> None:
        """Send what comes, until it is complete or the client leaves."""
        incoming, is_short = self._incoming, b"content-length" in dict(self._incoming.headers)
        headers = [pair for pair in incoming.headers if pair[0] not in _OURS]
        if is_short:
            headers.append((b"content-length", dict(incoming.headers)[b"content-length"]))
        await send({"type": "http.response.start", "status": self.status, "headers": headers})
        left = None if incoming.is_whole else asyncio.ensure_future(self._request.until_left())
        is_kept = False
        try:
            while not incoming.is_whole:
                if incoming.parts:
                    part = incoming.take()
                    await send({"type": "http.response.body", "body": part, "more_body": True})
                reads = asyncio.ensure_future(self._connection.read(incoming, LATER))
                await asyncio.wait([reads, left or reads], return_when=asyncio.FIRST_COMPLETED)
                if not reads.done():
                    reads.cancel()
                    raise ClientLeftError
                reads.result()
            is_kept = True
        except (OSError, httptools.HttpParserError):
            # Half an answer must not look like a whole one: the connection is cut.
            raise ClientLeftError from None
        finally:
            if left is not None:
                left.cancel()
            if is_kept:
                self._forwarder.keep(self._url, self._connection, incoming)
            else:
                self._connection.writer.close()
        await send({"type": "http.response.body", "body": incoming.take()})


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
        sent = await request.whole() if body is None else body
        incoming = _Incoming()
        connection: _Connection | None = None
        try:
            connection = await self._connection(url)
            connection.writer.write(self._head(request, url, len(sent), more) + sent)
            while not incoming.has_headers:
                await connection.read(incoming, seconds)
        except (OSError, httptools.HttpParserError) as error:  # a TimeoutError is an OSError
            if connection is not None:
                connection.writer.close()
            raise unreachable(error) from None
        except BaseException:
            if connection is not None:
                connection.writer.close()
            raise
        return Relayed(self, url, connection, incoming, request)

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

    def keep(self, url: str, connection: _Connection, incoming: _Incoming) -> None:
        """Keep a connection for the next request, if the other server does."""
        idle = self._idle.setdefault(url, [])
        if incoming.parser.should_keep_alive() and len(idle) < KEPT:
            idle.append((connection, time.monotonic()))
        else:
            connection.writer.close()

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
