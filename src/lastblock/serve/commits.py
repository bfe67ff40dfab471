"""Answers wait for the disk together: one commit for all requests of a moment."""

import asyncio
from typing import TypeAlias

from lastblock.serve.problems import unavailable
from lastblock.store.store import Store
from lastblock.support.errors import StoreError

MANY = 5_000
"""How many events may wait before answers wait for them, whatever the durability."""

AGAIN = "send the request again with its Idempotency-Key or token, and it takes effect once"

_Waiting: TypeAlias = tuple[asyncio.Future[None], int]
"""A request that waits, and where the store was before its changes."""


class Commits:
    """Lets requests wait until their events are written.

    While a group is being written, the requests that come meanwhile gather for the next one. So a
    slow disk makes groups larger instead of answers rarer.

    Parameters
    ----------
    store
        The store, which writes in groups.
    does_wait
        Whether an answer waits for its events; otherwise it comes at once.
    """

    def __init__(self, store: Store, *, does_wait: bool) -> None:
        self._store, self._does_wait = store, does_wait
        self._gathering: list[_Waiting] = []
        self._writing: list[_Waiting] = []

    def check(self) -> int:
        """Raise a `ProblemError` unless the store takes events now; call this before each change.

        The store itself would wait for the disk, and all requests with it. Returns where the store
        is now, for `written`.
        """
        problem = self._store.backlog.problem
        if problem is not None:
            raise unavailable(f"the last events could not be written: {problem}")
        return self._store.position

    async def written(self, since: int) -> None:
        """Wait until all events so far are written, or raise a `ProblemError` if they cannot be.

        Or if some were dropped after `since`, which is what `check` returned.

        They may be written after all: a client that sends the same request again, with the same
        key, gets the same answer. A service that answers at once waits only if the disk is far
        behind.
        """
        if not self._does_wait and self._store.backlog.events < MANY:
            return
        loop = asyncio.get_running_loop()
        mine = loop.create_future()
        self._gathering.append((mine, since))
        if len(self._gathering) == 1 and not self._writing:
            loop.call_soon(self._write, loop)  # after the other requests of this moment
        await mine

    def _write(self, loop: asyncio.AbstractEventLoop) -> None:
        self._writing, self._gathering = self._gathering, []
        try:
            self._store.when_written(
                lambda error: loop.call_soon_threadsafe(self._written, loop, error)
            )
        except StoreError as error:
            self._written(loop, error)

    def _written(self, loop: asyncio.AbstractEventLoop, error: StoreError | None) -> None:
        done, self._writing = self._writing, []
        if self._gathering:
            self._write(loop)
        for each, since in done:
            if each.done():  # the request was cancelled
                continue
            if error is not None:
                text = f"the events could not be written yet: {error}"
                each.set_exception(unavailable(f"{text}; {AGAIN}"))
            elif (dropped := self._store.dropped_since(since)) is not None:
                each.set_exception(unavailable(f"the events may be lost: {dropped}; {AGAIN}"))
            else:
                each.set_result(None)
