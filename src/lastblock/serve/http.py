"""Requests and responses: the little of HTTP that the API needs, on bare ASGI.

`docs/decisions` says why there is no framework here: routing and request objects of a framework
cost as much as all the rest of a decision.
"""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, MutableMapping
from contextlib import suppress
from typing import Any, Final, Generic, TypeAlias, TypeVar
from urllib.parse import parse_qsl

import msgspec

from lastblock.serve.problems import MEDIA_TYPE, ProblemError, explained

Scope: TypeAlias = MutableMapping[str, Any]
Receive: TypeAlias = Callable[[], Awaitable[MutableMapping[str, Any]]]
Send: TypeAlias = Callable[[MutableMapping[str, Any]], Awaitable[None]]

T = TypeVar("T")

_encode = msgspec.json.Encoder().encode
JSON = b"application/json"
JSON_TYPES = ("application/json", "application/merge-patch+json")
_NOSNIFF = (b"x-content-type-options", b"nosniff")

LARGEST: Final = 1 << 20
"""The most bytes of a request's body."""

LARGEST_HEAD: Final = 1 << 16
"""The most bytes of the head of a request. Its fields are 100 at most, which granian counts."""

PATIENCE: Final = 10.0
"""Seconds in which the head of a request must arrive, and then its body."""

CLOSE: Final[Mapping[str, str]] = {"Connection": "close"}
"""The header of an answer after which nothing more is read from the connection."""

_ONCE: Final = (
    b"authorization",
    b"content-length",
    b"content-type",
    b"host",
    b"idempotency-key",
    b"if-match",
    b"origin",
    b"transfer-encoding",
)
"""Fields of which a request has one: of two, a proxy may believe the first and we the last."""


class ClientLeftError(Exception):
    """Raised if the client closed the connection before its request was complete."""


def _with_whole_numbers(value: Any) -> Any:
    """Return a value of JSON, with ints instead of floats that are whole."""
    if isinstance(value, dict):
        return {name: _with_whole_numbers(each) for name, each in value.items()}
    if isinstance(value, list):
        return [_with_whole_numbers(each) for each in value]
    return int(value) if isinstance(value, float) and value.is_integer() else value


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
            if "got `float`" in str(error):  # perhaps 3.0, which is the whole number 3 in JSON
                with suppress(msgspec.ValidationError, RecursionError):
                    return msgspec.convert(
                        _with_whole_numbers(msgspec.json.decode(data)), self.kind
                    )
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

    def head(self, *, is_stream: bool = False) -> list[tuple[bytes, bytes]]:
        """Return all headers; those of a stream do not say how long it is."""
        headers = [_NOSNIFF]
        if not is_stream:
            headers.append((b"content-length", b"%d" % len(self.body)))
        if self.body or is_stream:
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
        headers = self.head(is_stream=True)
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
        "caller",
        "options",
        "parameters",
        "scope",
    )

    def __init__(self, scope: Scope, receive: Receive) -> None:
        self.scope, self._receive = scope, receive
        self._headers: dict[bytes, bytes] = {}
        self._data: bytes | None = None
        self.parameters: tuple[str, ...] = ()
        """What stands in the address for names."""
        self.options: dict[str, Any] = {}
        """The parameters of its query and headers that the operation knows."""
        self.caller: Any = None
        """Who sent it: a `Caller`."""

    def check_head(self) -> None:
        """Raise a `ProblemError` for a head that could be read in two ways, or is too long."""
        fields = self.scope["headers"]
        headers = self._headers = dict(fields)
        if len(headers) < len(fields):
            names = [name for name, _ in fields]
            for name in _ONCE:
                if names.count(name) > 1:
                    raise _unclear(f"{name.decode()} is there twice; send it once")
        if not headers.get(b"host") and self.scope.get("http_version") == "1.1":
            raise _unclear("the field Host is missing; send it")
        coding = headers.get(b"transfer-encoding")
        if coding is not None and coding.lower() != b"chunked":
            raise _unclear("Transfer-Encoding must be chunked; send nothing else")
        coding = headers.get(b"content-encoding")
        if coding is not None and coding.lower() != b"identity":
            raise ProblemError(
                "wrong-type",
                f"the body's Content-Encoding is {str(coding, 'latin-1')!r}; send it as it is",
                {"Accept-Encoding": "identity"},
            )
        if sum([len(name) + len(value) for name, value in fields]) > LARGEST_HEAD:
            raise ProblemError(
                "head-too-large", f"the head may have {LARGEST_HEAD} bytes; send less", CLOSE
            )

    def header(self, name: bytes) -> str | None:
        """Return a header, given in lower case; None if there is none, the last one of several."""
        value = self._headers.get(name)
        return None if value is None else str(value, "latin-1")

    def query(self) -> dict[str, str]:
        """Return the query's values; of a name that is given twice, the last one."""
        return dict(self.pairs())

    def pairs(self) -> list[tuple[str, str]]:
        """Return the names and values in the query."""
        raw = self.scope["query_string"]
        return parse_qsl(raw.decode("latin-1"), keep_blank_values=True) if raw else []

    async def body(self) -> bytes:
        """Return the body, or raise a `ProblemError` if it is too long or comes too slowly."""
        if self._data is None:
            try:
                async with asyncio.timeout(PATIENCE):
                    self._data = await self._arrived()
            except TimeoutError:
                raise ProblemError(
                    "timeout",
                    f"the body did not arrive within {PATIENCE:g} s; send it faster",
                    CLOSE,
                ) from None
        return self._data

    async def _arrived(self) -> bytes:
        """Return the body when all of it has come."""
        data, is_whole = b"", False
        while not is_whole:
            message = await self._receive()
            if message["type"] == "http.disconnect":
                raise ClientLeftError
            data += message.get("body", b"")
            if len(data) > LARGEST:
                raise ProblemError(
                    "too-large", f"the body may have at most {LARGEST} bytes; send less"
                )
            is_whole = not message.get("more_body")
        return data

    async def until_left(self) -> None:
        """Return when the client has closed the connection; call it after `body`."""
        while (await self._receive())["type"] != "http.disconnect":
            pass

    async def read(self, body: Body[T]) -> T:
        """Return the value of the body."""
        kind = self.header(b"content-type")
        if kind is not None and kind.partition(";")[0].strip().lower() not in JSON_TYPES:
            raise ProblemError(
                "wrong-type", f"the body's content type is {kind!r}; send application/json"
            )
        return body.read(await self.body())


def _unclear(detail: str) -> ProblemError:
    return ProblemError("bad-request", detail, CLOSE)


Handler: TypeAlias = Callable[[Request], Awaitable[Response]]
