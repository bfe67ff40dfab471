"""What fronts and the owner send each other: messages of a moment, together in one frame.

A frame is four bytes with its length, and a MessagePack list of messages. A process that writes a
frame takes all messages of that turn of its event loop: the busier it is, the larger the frames.
"""

import asyncio
from collections.abc import Callable
from typing import Any, Final, Generic, TypeAlias, TypeVar, cast

import msgspec

Pairs: TypeAlias = list[tuple[bytes, bytes]]
"""Headers."""

MANY: Final = 1 << 20
"""Bytes of messages that wait to be written, from which on they are written at once."""


class Ask(msgspec.Struct, array_like=True, tag=0, gc=False):
    """A request that has arrived whole at a front."""

    id: int
    """The front's number for it."""
    method: str
    path: bytes
    """As it was sent, escapes included."""
    query: bytes
    headers: Pairs
    client: str
    """The address that it is from; empty if unknown."""
    scheme: str
    body: bytes


class Left(msgspec.Struct, array_like=True, tag=1, gc=False):
    """The client of a request has left."""

    id: int


class More(msgspec.Struct, array_like=True, tag=2, gc=False):
    """The client has taken a part of a long answer: another one may come."""

    id: int


class Hello(msgspec.Struct, array_like=True, tag=3, gc=False):
    """The first message of a front."""

    refused: int
    """How many requests it has refused since its last message, while there was no owner."""


class Answer(msgspec.Struct, array_like=True, tag=0, gc=False):
    """The answer to a request, or its beginning."""

    id: int
    status: int
    headers: Pairs
    body: bytes
    is_begun: bool
    """Whether parts follow."""


class AnswerPart(msgspec.Struct, array_like=True, tag=1, gc=False):
    """One more part of a long answer."""

    id: int
    body: bytes
    is_last: bool


class Broken(msgspec.Struct, array_like=True, tag=2, gc=False):
    """There is no answer, or it will not be completed."""

    id: int


ToOwner: TypeAlias = Ask | Left | More | Hello
ToFront: TypeAlias = Answer | AnswerPart | Broken

M = TypeVar("M", ToOwner, ToFront)

_encode = msgspec.msgpack.Encoder().encode_into


class Link(asyncio.Protocol, Generic[M]):
    """One end of a connection between a front and the owner.

    Parameters
    ----------
    kind
        The type of the messages that arrive.
    take
        Is called with each of them.
    lost
        Is called when the connection has ended.
    """

    def __init__(
        self, kind: Any, take: Callable[[M], object], lost: Callable[[], object] = lambda: None
    ) -> None:
        self._decode = msgspec.msgpack.Decoder(list[kind]).decode
        self._take: Callable[[M], object] = take
        self._lost = lost
        self._parts: list[bytes] = []
        self._have, self._need = 0, 4
        self._out: list[Any] = []
        self._size = 0
        self._transport: asyncio.Transport | None = None
        self._loop = asyncio.get_running_loop()
        self._room: asyncio.Future[None] | None = None
        self.is_open = False

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Begin."""
        self._transport = cast(asyncio.Transport, transport)  # uvloop's does not say that it is one
        self.is_open = True

    def connection_lost(self, exc: Exception | None) -> None:
        """End."""
        self.is_open = False
        self.resume_writing()
        self._lost()

    def data_received(self, data: bytes) -> None:
        """Take the messages of all frames that are complete."""
        self._parts.append(data)
        self._have += len(data)
        if self._have < self._need:
            return
        data = b"".join(self._parts) if len(self._parts) > 1 else data
        at, end = 0, len(data)
        while end - at >= 4:
            size = 4 + int.from_bytes(data[at : at + 4], "big")
            if end - at < size:
                self._need = size
                break
            for message in self._decode(memoryview(data)[at + 4 : at + size]):
                self._take(message)
            at, self._need = at + size, 4
        self._parts, self._have = [data[at:]] if at < end else [], end - at

    def send(self, message: Any, size: int = 0) -> None:
        """Send a message with the others of this moment; `size` is about how long its body is."""
        if not self._out:
            self._loop.call_soon(self._flush)
        self._out.append(message)
        self._size += size
        if self._size > MANY:
            self._flush()

    def _flush(self) -> None:
        out, self._out, self._size = self._out, [], 0
        if out and self.is_open and self._transport is not None:
            frame = bytearray(4)
            _encode(out, frame, 4)
            frame[:4] = (len(frame) - 4).to_bytes(4, "big")
            self._transport.write(frame)

    def pause_writing(self) -> None:
        """Note that the other side is behind."""
        if self._room is None:
            self._room = self._loop.create_future()

    def resume_writing(self) -> None:
        """Let those go on who wait for `drained`."""
        room, self._room = self._room, None
        if room is not None and not room.done():
            room.set_result(None)

    @property
    def is_behind(self) -> bool:
        """Whether the other side has much to read."""
        return self._room is not None

    async def drained(self) -> None:
        """Wait while the other side is behind."""
        while self._room is not None:
            await asyncio.shield(self._room)

    def close(self) -> None:
        """End the connection, after what is to be sent."""
        self._flush()
        if self._transport is not None:
            self._transport.close()
