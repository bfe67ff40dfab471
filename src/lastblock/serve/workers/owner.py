"""The owner's side: it runs the application on the requests that fronts hand over."""

import asyncio
from collections.abc import Awaitable, Callable, MutableMapping
from typing import Any, Final, TypeAlias

from lastblock.serve.workers.frames import (
    Answer,
    AnswerPart,
    Ask,
    Broken,
    Hello,
    Left,
    Link,
    Pairs,
    ToOwner,
)

App: TypeAlias = Callable[[MutableMapping[str, Any], Any, Any], Awaitable[None]]

Quickly: TypeAlias = Callable[[Ask, Callable[[Answer, int], object]], bool]

WINDOW: Final = 4
"""How many parts of a long answer may be under way to a client that has not taken them yet."""


class Offices:
    """All fronts that are connected, and what they have told.

    Parameters
    ----------
    app
        The ASGI application.
    quickly
        Answers a request of a front by a call of a function, soon, and returns True; or changes
        nothing and returns False.
    """

    def __init__(self, app: App, quickly: Quickly) -> None:
        self._app, self._quickly = app, quickly
        self.links: set[Link[ToOwner]] = set()
        self.refused = 0
        """How many requests fronts have refused while there was no owner."""
        self.tasks: set[asyncio.Task[None]] = set()

    def meet(self) -> Link[ToOwner]:
        """Return the end of a connection for a front that has just connected."""
        calls: dict[int, _Call] = {}

        def take(message: ToOwner) -> None:
            if isinstance(message, Ask):
                if self._quickly(message, link.send):
                    return
                call = calls[message.id] = _Call(link, message)
                task = loop.create_task(self._answer(call, calls))
                self.tasks.add(task)
                task.add_done_callback(self.tasks.discard)
            elif isinstance(message, Hello):
                self.refused += message.refused
                self.links.add(link)
            else:
                found = calls.get(message.id)
                if found is not None and isinstance(message, Left):
                    found.leave()
                elif found is not None:
                    found.give_room()

        def lose() -> None:
            self.links.discard(link)
            for call in list(calls.values()):
                call.leave()

        loop = asyncio.get_running_loop()
        link: Link[ToOwner] = Link(ToOwner, take, lose)
        return link

    async def _answer(self, call: "_Call", calls: "dict[int, _Call]") -> None:
        try:
            await self._app(call.scope(), call.receive, call.send)
        finally:
            del calls[call.ask.id]
            call.finish()

    async def quiet(self) -> None:
        """Wait until all requests are answered."""
        while self.tasks:
            await asyncio.wait(self.tasks)
        for link in list(self.links):
            link.close()


class _Call:
    """One request, as ASGI has it."""

    __slots__ = (
        "_end",
        "_headers",
        "_is_begun",
        "_is_over",
        "_is_read",
        "_link",
        "_room",
        "_status",
        "_waiter",
        "ask",
    )

    def __init__(self, link: Link[ToOwner], ask: Ask) -> None:
        self._link, self.ask = link, ask
        self._is_read = self._is_begun = self._is_over = False
        self._end: asyncio.Future[None] | None = None  # done when the client has left
        self._waiter: asyncio.Future[None] | None = None  # done when there is room for a part
        self._room = WINDOW
        self._status = 0
        self._headers: Pairs = []

    def scope(self) -> MutableMapping[str, Any]:
        """Return what the application reads of the request."""
        ask = self.ask
        return {
            "type": "http",
            "method": ask.method,
            "raw_path": ask.path,
            "path": ask.path.decode("latin-1"),
            "query_string": ask.query,
            "headers": ask.headers,
            "client": (ask.client, 0) if ask.client else None,
            "scheme": ask.scheme,
        }

    async def receive(self) -> MutableMapping[str, Any]:
        """Return the body, and later that the client has left."""
        if not self._is_read:
            self._is_read = True
            return {"type": "http.request", "body": self.ask.body, "more_body": False}
        if not self._is_over:
            if self._end is None:
                self._end = asyncio.get_running_loop().create_future()
            await self._end
        return {"type": "http.disconnect"}

    def leave(self) -> None:
        """Note that the client has left."""
        self._is_over = True
        for waiting in (self._end, self._waiter):
            if waiting is not None and not waiting.done():
                waiting.set_result(None)

    def give_room(self) -> None:
        """Note that the client has taken a part."""
        self._room += 1
        if self._waiter is not None and not self._waiter.done():
            self._waiter.set_result(None)

    async def send(self, message: MutableMapping[str, Any]) -> None:
        """Send the answer, or a part of it when there is room for one."""
        if message["type"] == "http.response.start":
            self._status, self._headers = message["status"], message["headers"]
            return
        body, is_last = message["body"], not message.get("more_body")
        if self._is_over:
            return
        if not self._is_begun:
            self._is_begun = True
            self._is_over = is_last
            answer = Answer(self.ask.id, self._status, self._headers, body, not is_last)
            self._link.send(answer, len(body))
            return
        while self._room <= 0 and not self._is_over:
            self._waiter = asyncio.get_running_loop().create_future()
            await self._waiter
        self._room -= 1
        if not self._is_over:
            self._is_over = is_last
            self._link.send(AnswerPart(self.ask.id, body, is_last), len(body))

    def finish(self) -> None:
        """Say so if the application ended without an answer."""
        if not self._is_over:
            self._link.send(Broken(self.ask.id))
