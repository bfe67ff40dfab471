"""Connections of clients to a front: most requests are handed over without a task for each."""

from functools import partial
from typing import Final

from lastblock.serve.holding import Cycle, HoldingProtocol
from lastblock.serve.http import Response
from lastblock.serve.settings import Settings
from lastblock.serve.workers.frames import Answer, AnswerPart, Ask, More, ToFront
from lastblock.serve.workers.front import LOST, Front

_METHODS: Final = (b"POST", b"PUT")
"""Requests with these methods have short answers."""


class _Relayed:
    """A request that waits for its answer; `Front` gives it the owner's messages."""

    __slots__ = ("_answer", "_connection", "_cycle", "_front", "_parts", "id")

    def __init__(self, connection: "FrontProtocol", front: Front, id: int) -> None:
        self._connection, self._front, self.id = connection, front, id
        self._cycle: Cycle = connection.begin()
        self._answer: Answer | None = None
        self._parts: list[bytes] = []

    def take(self, message: ToFront) -> None:
        """Send the answer when it is complete."""
        if isinstance(message, Answer):
            self._answer = message
            self._parts.append(message.body)
            is_whole = not message.is_begun
        elif isinstance(message, AnswerPart):
            self._parts.append(message.body)
            is_whole = message.is_last
        else:
            self.break_off()
            return
        if not is_whole:
            self._front.tell(More(self.id))
        elif self._answer is not None:
            del self._front.waiting[self.id]
            body = b"".join(self._parts)
            self._connection.finish(self._cycle, self._answer.status, self._answer.headers, body)

    def break_off(self) -> None:
        """Say that no answer will come."""
        self._front.waiting.pop(self.id, None)
        self._front.refused += 1
        problem = Response.problem(LOST)
        self._connection.finish(self._cycle, problem.status, problem.head(), problem.body)


class FrontProtocol(HoldingProtocol):
    """A connection of a client; a subclass has the front, see `connections_of`."""

    front: Front
    settings: Settings

    def find(self) -> bytes | None:
        """Return the method of a request that is handed over from here; None if it is uvicorn's."""
        # uvicorn's own layer finds out from which address a proxy's request is.
        if self.settings.forwarded_allow_ips:
            return None
        method: bytes = self.parser.get_method()
        return method if method in _METHODS else None

    def answer(self, found: bytes, body: bytes) -> bool:
        """Hand a request over, and return True; or return False if there is no owner now."""
        if len(body) > self.settings.max_body:
            return False
        path, _, query = self.url.partition(b"?")
        client = self.client[0] if self.client else ""
        method, headers, scheme = found.decode("ascii"), self.headers, self.scheme or "http"
        return self.front.hand_over(
            lambda id: Ask(id, method, path, query, headers, client, scheme, body),
            partial(_Relayed, self, self.front),
            len(body),
        )


def connections_of(front: Front, settings: Settings) -> type[FrontProtocol]:
    """Return the class of connections to a front."""
    more = {"front": front, "settings": settings, "patience": settings.request_timeout}
    return type("FrontProtocol", (FrontProtocol,), more)
