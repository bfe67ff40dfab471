"""A front: it speaks HTTP with clients, and hands whole requests to the owner."""

import asyncio
import contextlib
import logging
from collections.abc import AsyncIterator, Callable
from functools import partial
from typing import Final, Protocol

from lastblock.serve.http import ClientLeftError, Receive, Request, Response, Scope, Send, Watch
from lastblock.serve.messages import Alive
from lastblock.serve.problems import ProblemError, unavailable
from lastblock.serve.settings import Settings
from lastblock.serve.workers.frames import (
    Answer,
    AnswerPart,
    Ask,
    Hello,
    Left,
    Link,
    More,
    ToFront,
)

_log = logging.getLogger(__name__)

AGAIN: Final = 0.05
"""Seconds between two attempts to reach the owner."""

_STREAM = b"text/event-stream"


LOST: Final = unavailable(
    "the process that has the bandits does not run, and is being started; send the same request "
    "again"
)


class OwnerLostError(Exception):
    """Raised when the owner has ended before it answered."""


class _Exchange:
    """A request that waits for its answer."""

    __slots__ = ("answer", "parts")

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        self.answer: asyncio.Future[Answer] = loop.create_future()
        self.parts: asyncio.Queue[AnswerPart | None] | None = None
        """What follows of a long answer; None in it if nothing more will come."""

    def take(self, message: ToFront) -> None:
        """Hand a message of the owner to whoever waits for it."""
        if isinstance(message, Answer):
            if message.is_begun:
                self.parts = asyncio.Queue()
            if not self.answer.done():
                self.answer.set_result(message)
        elif isinstance(message, AnswerPart) and self.parts is not None:
            self.parts.put_nowait(message)
        else:
            self.break_off()

    def break_off(self) -> None:
        """Say that nothing more will come."""
        if not self.answer.done():
            self.answer.set_exception(OwnerLostError())
            self.answer.exception()  # whoever waited may have left
        elif self.parts is not None:
            self.parts.put_nowait(None)


class Waiting(Protocol):
    """What waits for the answer to a request."""

    def take(self, message: ToFront) -> None:
        """Take a message of the owner."""

    def break_off(self) -> None:
        """Hear that no answer will come."""


class Front:
    """The ASGI application of a front.

    Parameters
    ----------
    settings
        The settings of the service.
    path
        The Unix socket of the owner.
    """

    def __init__(self, settings: Settings, path: str) -> None:
        self._path, self._root = path, settings.root_path.encode()
        self._most = settings.max_body
        self.watch = Watch(settings.request_timeout)
        self._link: Link[ToFront] | None = None
        self.waiting: dict[int, Waiting] = {}
        """The requests that wait for their answer, by their numbers."""
        self._last = 0
        self.refused = 0
        """How many requests got a 503 since there was no owner, and the owner has not heard of."""
        self.is_linked = asyncio.Event()

    async def work(self) -> None:
        """Reach the owner, again and again; the process's task that does this never ends."""
        loop = asyncio.get_running_loop()
        while True:
            lost = asyncio.Event()
            make = partial(Link[ToFront], ToFront, self._take, lost.set)
            with contextlib.suppress(OSError):
                _, link = await loop.create_unix_connection(make, self._path)
                link.send(Hello(self.refused))
                self._link, self.refused = link, 0
                self.is_linked.set()
                try:
                    await lost.wait()
                finally:
                    self._link = None
                    link.close()
                    self._lose()
                _log.warning("the owner has ended; requests get a 503 until there is another one")
            await asyncio.sleep(AGAIN)

    def _take(self, message: ToFront) -> None:
        """Hand a message of the owner to whoever waits for it."""
        exchange = self.waiting.get(message.id)
        if exchange is not None:  # otherwise the client has left
            exchange.take(message)

    def tell(self, message: More) -> None:
        """Send a message to the owner, if there is one."""
        if self._link is not None:
            self._link.send(message)

    def hand_over(
        self, make: Callable[[int], Ask], wait: Callable[[int], Waiting], size: int
    ) -> bool:
        """Send a request to the owner; return False if that is not possible at once.

        Parameters
        ----------
        make
            Makes the message, given its number.
        wait
            Makes what waits for the answer, given the number.
        size
            How long the body is.
        """
        link = self._link
        if link is None or not link.is_open or link.is_behind:
            return False
        self._last = id = self._last + 1
        self.waiting[id] = wait(id)
        link.send(make(id), size)
        return True

    def _lose(self) -> None:
        """Tell all who wait that no answer will come."""
        for exchange in list(self.waiting.values()):
            exchange.break_off()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request."""
        if scope["type"] != "http":
            raise RuntimeError(f"lastblock does not speak {scope['type']!r}")
        raw: bytes = scope.get("raw_path") or scope["path"].encode()
        raw = raw.partition(b"?")[0]
        if raw.removeprefix(self._root) == b"/livez" and scope["method"] in ("GET", "HEAD"):
            await Response.json(Alive(status="alive")).send(send)
            return
        try:
            body = await Request(scope, receive, self._most, self.watch).body()
            await self._relay(scope, raw, body, receive, send)
        except ProblemError as problem:
            await Response.problem(problem).send(send)
        except OwnerLostError:
            self.refused += 1
            await Response.problem(LOST).send(send)
        except ClientLeftError:
            pass

    async def _relay(
        self, scope: Scope, raw: bytes, body: bytes, receive: Receive, send: Send
    ) -> None:
        link = self._link
        if link is not None:
            await link.drained()
        if link is None or not link.is_open:
            raise OwnerLostError
        self._last = id = self._last + 1
        exchange = _Exchange(asyncio.get_running_loop())
        self.waiting[id] = exchange
        client = scope.get("client")
        is_done = False
        try:
            link.send(
                Ask(
                    id,
                    scope["method"],
                    raw,
                    scope["query_string"],
                    scope["headers"],
                    client[0] if client else "",
                    scope.get("scheme", "http"),
                    body,
                ),
                len(body),
            )
            answer = await exchange.answer
            start = {"type": "http.response.start", "headers": answer.headers}
            await send({**start, "status": answer.status})
            if not answer.is_begun:
                is_done = True
                await send({"type": "http.response.body", "body": answer.body})
                return
            await send({"type": "http.response.body", "body": answer.body, "more_body": True})
            async with _leaving(exchange, receive):
                is_done = await self._stream(id, exchange, link, answer, send)
        finally:
            del self.waiting[id]
            if not is_done and link.is_open:
                link.send(Left(id))

    async def _stream(
        self, id: int, exchange: _Exchange, link: Link[ToFront], answer: Answer, send: Send
    ) -> bool:
        """Send the parts of a long answer as they come; return whether it ended."""
        assert exchange.parts is not None
        while True:
            link.send(More(id))
            part = await exchange.parts.get()
            if part is None:
                if (b"content-type", _STREAM) in answer.headers:  # browsers then come again
                    await send({"type": "http.response.body", "body": b""})
                return False  # of a file, half is worse than none: uvicorn cuts the connection
            is_more = not part.is_last
            await send({"type": "http.response.body", "body": part.body, "more_body": is_more})
            if part.is_last:
                return True


@contextlib.asynccontextmanager
async def _leaving(exchange: _Exchange, receive: Receive) -> AsyncIterator[None]:
    """Break a long answer when its client leaves."""

    async def watch() -> None:
        while (await receive())["type"] != "http.disconnect":
            pass
        exchange.break_off()

    watching = asyncio.ensure_future(watch())
    try:
        yield
    finally:
        watching.cancel()
