"""Requests and responses: the little of HTTP that the API needs, on bare ASGI.

`docs/decisions` says why there is no framework here: routing and request objects of a framework
cost as much as all the rest of a decision.
"""

import asyncio
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, MutableMapping
from typing import Any, Generic, NamedTuple, TypeAlias, TypeVar
from urllib.parse import parse_qsl

import msgspec

from lastblock.serve.keys import Key
from lastblock.serve.problems import MEDIA_TYPE, ProblemError, explained

Scope: TypeAlias = MutableMapping[str, Any]
Receive: TypeAlias = Callable[[], Awaitable[MutableMapping[str, Any]]]
Send: TypeAlias = Callable[[MutableMapping[str, Any]], Awaitable[None]]

T = TypeVar("T")

_encode = msgspec.json.Encoder().encode
JSON = b"application/json"
JSON_TYPES = ("application/json", "application/merge-patch")
_NOSNIFF = (b"x-content-type-options", b"nosniff")


class ClientLeftError(Exception):
    """Raised if the client closed the connection before its request was complete."""


class Watch:
    """Ends requests whose bodies take too long to arrive.

    A timer for each request would cost more than reading most of them; this looks at all of them
    now and then.

    Parameters
    ----------
    seconds
        How long a body may take.
    """

    def __init__(self, seconds: float) -> None:
        self._seconds = seconds
        self._begun: dict[asyncio.Task[Any], float] = {}
        self._late: set[asyncio.Task[Any]] = set()

    async def look(self) -> None:
        """Look again and again; the task of the server that does this never ends by itself."""
        while True:
            await asyncio.sleep(min(1.0, self._seconds / 2))
            last = time.monotonic() - self._seconds
            for task, began in list(self._begun.items()):
                if began < last:
                    self._late.add(task)
                    task.cancel()

    def begin(self) -> "asyncio.Task[Any] | None":
        """Note that the task that runs reads a body now."""
        task = asyncio.current_task()
        if task is not None:
            self._begun[task] = time.monotonic()
        return task

    def end(self, task: "asyncio.Task[Any] | None") -> None:
        """Note that a task has read what it wanted."""
        if task is not None:
            self._begun.pop(task, None)

    def explain(self, task: "asyncio.Task[Any] | None") -> ProblemError | None:
        """Return the problem if it was this that cancelled a task, which then goes on."""
        if task is None or task not in self._late:
            return None
        self._late.discard(task)
        task.uncancel()
        return ProblemError(
            "timeout", f"the body did not arrive within {self._seconds:g} s; send it faster"
        )


class Body(Generic[T]):
    """The type of a request's body, with its decoder.

    Parameters
    ----------
    kind
        A `msgspec.Struct`, or another type that `msgspec` can decode.
    is_optional
        Whether an empty body stands for ``{}``.
    """

    def __init__(self, kind: type[T], *, is_optional: bool = False) -> None:
        self.kind, self.is_optional = kind, is_optional
        self._decode = msgspec.json.Decoder(kind).decode

    def read(self, data: bytes) -> T:
        """Return the value of a body, or raise a `ProblemError` that says what is wrong with it."""
        if not data and self.is_optional:
            data = b"{}"
        try:
            return self._decode(data)
        except msgspec.ValidationError as error:
            raise ProblemError("invalid", explained(error, self.kind)) from None
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
            raise ProblemError("bad-request", f"the body is not JSON: {error}") from None


class Response:
    """What a handler returns: a status, a body, and headers."""

    __slots__ = ("body", "headers", "media_type", "status")

    def __init__(
        self,
        body: bytes = b"",
        status: int = 200,
        media_type: bytes = JSON,
        headers: Mapping[str, str] | None = None,
    ) -> None:
        self.body, self.status, self.media_type, self.headers = body, status, media_type, headers

    @classmethod
    def json(
        cls, value: object, status: int = 200, headers: Mapping[str, str] | None = None
    ) -> "Response":
        """Return a response with a value as JSON."""
        return cls(_encode(value), status, JSON, headers)

    @classmethod
    def problem(cls, problem: ProblemError) -> "Response":
        """Return the response for a problem."""
        return cls(_encode(problem.body()), problem.status, MEDIA_TYPE.encode(), problem.headers)

    def head(self) -> list[tuple[bytes, bytes]]:
        """Return all headers."""
        body = self.body
        headers = [(b"content-length", b"%d" % len(body)), _NOSNIFF]
        if body:
            headers.append((b"content-type", self.media_type))
        if self.headers:
            headers += [
                (name.lower().encode("latin-1"), value.encode("latin-1"))
                for name, value in self.headers.items()
            ]
        return headers

    async def send(self, send: Send) -> None:
        """Send the response."""
        await send({"type": "http.response.start", "status": self.status, "headers": self.head()})
        await send({"type": "http.response.body", "body": self.body})


class Streamed(Response):
    """A response whose body comes in parts, such as server-sent events or a file."""

    __slots__ = ("parts",)

    def __init__(
        self,
        parts: AsyncIterator[bytes],
        media_type: bytes,
        headers: Mapping[str, str] | None = None,
    ) -> None:
        super().__init__(b"", 200, media_type, headers)
        self.parts = parts

    async def send(self, send: Send) -> None:
        """Send the parts as they come."""
        headers = [(b"content-type", self.media_type), _NOSNIFF]
        for name, value in (self.headers or {}).items():
            headers.append((name.lower().encode("latin-1"), value.encode("latin-1")))
        await send({"type": "http.response.start", "status": 200, "headers": headers})
        async for part in self.parts:
            await send({"type": "http.response.body", "body": part, "more_body": True})
        await send({"type": "http.response.body", "body": b""})


class Request:
    """One request, of which a handler reads what it needs."""

    __slots__ = (
        "_data",
        "_headers",
        "_receive",
        "_watch",
        "caller",
        "most",
        "parameters",
        "scope",
    )

    def __init__(self, scope: Scope, receive: Receive, most: int, watch: Watch) -> None:
        self.scope, self._receive, self.most, self._watch = scope, receive, most, watch
        self._headers: dict[bytes, bytes] | None = None
        self._data: bytes | None = None
        self.parameters: tuple[str, ...] = ()
        self.caller: Any = None
        """Who sent it: a `Caller`."""

    def header(self, name: bytes) -> str | None:
        """Return a header, given in lower case; None if there is none, the last one of several."""
        if self._headers is None:
            self._headers = dict(self.scope["headers"])
        value = self._headers.get(name)
        return None if value is None else str(value, "latin-1")

    def query(self) -> dict[str, str]:
        """Return the query's values; of a name that is given twice, the last one."""
        raw = self.scope["query_string"]
        if not raw:
            return {}
        return dict(parse_qsl(raw.decode("latin-1"), keep_blank_values=True))

    async def body(self) -> bytes:
        """Return the body, or raise a `ProblemError` if it is too long or comes too slowly."""
        task = self._watch.begin()
        try:
            message = await self._receive()
            data: bytes = message.get("body", b"")
            if message.get("more_body"):
                parts, size = [data], len(data)
                while message.get("more_body") and size <= self.most:
                    message = await self._receive()
                    parts.append(message.get("body", b""))
                    size += len(parts[-1])
                data = b"".join(parts)
        except asyncio.CancelledError:
            problem = self._watch.explain(task)
            if problem is None:
                raise
            raise problem from None
        finally:
            self._watch.end(task)
        if message["type"] == "http.disconnect":
            raise ClientLeftError
        if len(data) > self.most:
            raise ProblemError(
                "too-large", f"the body may have at most {self.most} bytes; send less"
            )
        self._data = data
        return data

    async def whole(self) -> bytes:
        """Return the body, also if it was read before."""
        return await self.body() if self._data is None else self._data

    async def until_left(self) -> None:
        """Return when the client has closed the connection; call it after `body`."""
        while (await self._receive())["type"] != "http.disconnect":
            pass

    async def read(self, body: Body[T]) -> T:
        """Return the value of the body."""
        kind = self.header(b"content-type")
        if kind is not None and not kind.startswith(JSON_TYPES):
            raise ProblemError(
                "wrong-type", f"the body's content type is {kind!r}; send application/json"
            )
        return body.read(await self.body())


Handler: TypeAlias = Callable[[Request], Awaitable[Response]]


class Whole(NamedTuple):
    """A request that has arrived as a whole, and whose key is checked."""

    headers: Mapping[bytes, bytes]
    parameters: tuple[str, ...]
    body: bytes
    caller: Key

    def header(self, name: bytes) -> str | None:
        """Return a header, given in lower case; None if there is none."""
        value = self.headers.get(name)
        return None if value is None else str(value, "latin-1")


QuickHandler: TypeAlias = Callable[[Whole], Response | None]
"""Answers a request at once, without waiting for anything, or changes nothing and returns None, or
raises an error and changes nothing: the handler then answers."""
