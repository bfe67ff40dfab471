"""Answers wait for the disk together: one commit for all requests of a moment."""

import asyncio
import logging
from collections.abc import Sequence

from lastblock.serve.problems import ProblemError, unavailable
from lastblock.store.group_commit import WhenWritten
from lastblock.store.store import Store
from lastblock.support.errors import StoreError

_log = logging.getLogger(__name__)

MANY = 5_000
"""How many events may wait before answers wait for them, whatever the durability."""


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
        self._ready: list[WhenWritten] = []
        self._gathering: list[WhenWritten] = []
        self._writing: list[WhenWritten] = []

    def check(self) -> None:
        """Raise a `ProblemError` unless the store takes events now; call this before each change.

        The store itself would wait for the disk, and all requests with it.
        """
        problem = self._store.problem
        if problem is not None:
            raise unavailable(f"the last events could not be written: {problem}")

    def when_written(self, function: WhenWritten) -> None:
        """Call a function when all events so far are written, or cannot be: it gets the error.

        The events may be written after all: who sends the same request again, with the same key,
        gets the same answer. A service that answers at once waits only if the disk is far behind.
        """
        if not self._does_wait and self._store.backlog.events < MANY:
            self._ready.append(function)
            if len(self._ready) == 1:
                # After the other requests of this moment. Sending all answers in a row takes far
                # less time than reading a request, sending its answer, reading the next one.
                asyncio.get_running_loop().call_soon(self._answer)
            return
        self._gathering.append(function)
        if len(self._gathering) == 1 and not self._writing:
            loop = asyncio.get_running_loop()
            loop.call_soon(self._write, loop)  # after the other requests of this moment

    def _answer(self) -> None:
        """Send the answers that need not wait."""
        ready, self._ready = self._ready, []
        tell_all(ready, None)

    async def written(self) -> None:
        """Wait until all events so far are written, or raise a `ProblemError`."""
        mine: asyncio.Future[None] = asyncio.get_running_loop().create_future()

        def told(error: StoreError | None) -> None:
            if mine.done():  # cancelled
                return
            if error is None:
                mine.set_result(None)
            else:
                mine.set_exception(not_written(error))

        self.when_written(told)
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
        tell_all(done, error)


def tell_all(functions: Sequence[WhenWritten], error: StoreError | None) -> None:
    """Call functions that wait for the disk."""
    for told in functions:
        try:
            told(error)
        except Exception:  # or the others would wait for ever
            _log.exception("a defect: an answer could not be sent")


def not_written(error: StoreError) -> ProblemError:
    """Return the problem of a request whose events could not be written yet."""
    return unavailable(f"the events could not be written yet: {error}")
