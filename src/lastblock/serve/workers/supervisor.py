"""The supervisor: it listens, starts the owner and the fronts, and starts again who ends."""

import asyncio
import contextlib
import logging
import os
import shutil
import socket
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Final

from lastblock.serve.listening import bound
from lastblock.serve.server import SIGNALS, url_of
from lastblock.serve.settings import SettingError, Settings
from lastblock.serve.workers.channel import Channel, Word, order
from lastblock.serve.workers.processes import can_run, command
from lastblock.support.errors import StoreError

_log = logging.getLogger(__name__)

FIRST: Final = 0.05
LONGEST: Final = 5.0
"""Seconds before a process that ended is started again: at first, and at most."""

HEALTHY: Final = 10.0
"""Seconds after which a process that ends counts as one that had worked."""

GRACE: Final = 5.0
"""Seconds that a process has to end beyond the time that its requests have."""


class Worker:
    """A process that is started again whenever it ends.

    Parameters
    ----------
    role
        "front" or "owner".
    service
        The supervisor.
    """

    def __init__(self, role: str, service: "Supervisor") -> None:
        self.role, self._service = role, service
        self.is_open, self.is_ready = asyncio.Event(), asyncio.Event()
        self.failure = ""
        """Why it could not begin."""
        self._process: asyncio.subprocess.Process | None = None
        self._channel: Channel | None = None
        self._is_ending = False

    async def keep(self) -> None:
        """Start the process, and start it again until `end` is called."""
        pause = FIRST
        while not self._is_ending:
            began = time.monotonic()
            try:
                status = await self._once()
            except OSError as error:  # no memory or descriptors are left, say
                status = 0
                _log.error("the %s could not be started: %s", self.role, error)
            if self._is_ending:
                return
            if status > 0 and not self._service.is_announced:  # the next one would do the same
                self.failure = self.failure or f"the {self.role} ended with status {status}"
                return
            pause = FIRST if time.monotonic() - began > HEALTHY else min(2.0 * pause, LONGEST)
            self._service.count_restart(self)
            await asyncio.sleep(pause)

    async def _once(self) -> int:
        """Run the process once, and return its status."""
        service = self._service
        ours, theirs = socket.socketpair()
        listener = service.listener if self.role == "front" else None
        try:
            more = [] if listener is None else [listener.fileno()]
            self._process = await asyncio.create_subprocess_exec(
                *command(self.role, theirs.fileno()), pass_fds=(theirs.fileno(), *more)
            )
        finally:
            theirs.close()
        self._channel = await Channel.open(ours)
        self._channel.tell(
            order(
                service.settings,
                service.path,
                service.url,
                restarts=service.restarts,
                listener=None if listener is None else listener.fileno(),
            )
        )
        self.failure = ""
        if self._is_ending:  # it was said meanwhile
            self.tell("end")
        async for word in self._channel.words():
            if word.kind == "failed":
                self.failure = word.text
            elif word.kind == "open":
                self.is_open.set()
            elif word.kind == "ready":
                if self.role == "owner":
                    service.greeting = word.text
                self.is_ready.set()
        status = await self._process.wait()
        self._channel.close()
        self.is_ready.clear()
        if not self._is_ending and (status < 0 or service.is_announced):
            _log.warning(
                "the %s, process %d, has ended (%s); another one is started",
                self.role,
                self._process.pid,
                self.failure or (f"signal {-status}" if status < 0 else f"status {status}"),
            )
        return status

    def tell(self, kind: str) -> None:
        """Send a word to the process, if it runs."""
        if self._channel is not None:
            self._channel.tell(Word(kind))

    def end(self) -> None:
        """End the process in order, and do not start it again."""
        self._is_ending = True
        self.tell("end")

    def kill(self) -> None:
        """End the process at once."""
        self._is_ending = True
        if self._process is not None and self._process.returncode is None:
            with contextlib.suppress(ProcessLookupError):
                self._process.kill()


class Supervisor:
    """All processes of a service with workers.

    Parameters
    ----------
    settings
        The settings of the service.
    listener
        The socket at which all fronts accept connections.
    folder
        A folder that only this user can enter.
    """

    def __init__(self, settings: Settings, listener: socket.socket, folder: str) -> None:
        self.settings, self.listener = settings, listener
        self.path = str(Path(folder) / "owner.sock")
        if len(os.fsencode(self.path)) > 100:
            raise SettingError(
                f"the path {self.path!r} is too long for a Unix socket; set TMPDIR to a shorter one"
            )
        self.url = url_of(settings, listener)
        self.greeting = ""
        self.is_announced = False
        self.restarts = 0
        self.owner = Worker("owner", self)
        self.fronts = [Worker("front", self) for _ in range(settings.workers)]
        self._stops = asyncio.Event()
        self._signals = 0

    def count_restart(self, worker: Worker) -> None:
        """Count a process that has ended."""
        self.restarts += 1
        if worker is not self.owner:
            self.owner.tell("restarted")

    def stop(self) -> None:
        """End everything in order; said twice, requests do not get their time."""
        self._signals += 1
        self._stops.set()
        if self._signals > 1:
            for front in self.fronts:
                front.tell("end")

    async def run(self, announce: Callable[[str], object]) -> None:
        """Serve until `stop` is called; see `serve`."""
        owning = asyncio.create_task(self.owner.keep())
        opens = asyncio.create_task(self.owner.is_open.wait())
        stops = asyncio.create_task(self._stops.wait())
        await asyncio.wait([owning, opens, stops], return_when=asyncio.FIRST_COMPLETED)
        opens.cancel()
        fronting = [] if owning.done() else [asyncio.create_task(f.keep()) for f in self.fronts]
        greets = asyncio.ensure_future(self._greet(announce))
        try:
            await asyncio.wait([owning, *fronting, stops], return_when=asyncio.FIRST_COMPLETED)
            if stops.done():
                _log.info("stopping: not ready any more")
                self.owner.tell("drain")
                await asyncio.sleep(self.settings.drain)
        finally:
            greets.cancel()
            self.listener.close()
            await self._end(self.fronts, fronting)
            await self._end([self.owner], [owning])
            stops.cancel()
        for worker in (self.owner, *self.fronts):
            if worker.failure:
                raise StoreError(worker.failure)

    async def _greet(self, announce: Callable[[str], object]) -> None:
        for worker in (self.owner, *self.fronts):
            await worker.is_ready.wait()
        self.is_announced = True
        announce(self.greeting)

    async def _end(self, workers: "list[Worker]", tasks: "list[asyncio.Task[None]]") -> None:
        for worker in workers:
            worker.end()
        # uvicorn reads a time of 0 as "for ever".
        seconds = self.settings.shutdown_timeout or float("inf")
        limit = None if seconds == float("inf") else seconds + GRACE
        if tasks:
            await asyncio.wait(tasks, timeout=limit)
        for worker in workers:
            worker.kill()
        await asyncio.gather(*tasks)


async def _supervise(settings: Settings, announce: Callable[[str], object]) -> None:
    listener = bound(settings)
    folder = tempfile.mkdtemp(prefix="lastblock-")  # only this user can enter it
    try:
        service = Supervisor(settings, listener, folder)
        loop = asyncio.get_running_loop()
        for number in SIGNALS:
            loop.add_signal_handler(number, service.stop)
        await service.run(announce)
    finally:
        listener.close()
        shutil.rmtree(folder, ignore_errors=True)
        if settings.uds:
            Path(settings.uds).unlink(missing_ok=True)


def run(settings: Settings, announce: Callable[[str], object]) -> None:
    """Serve with workers until a signal comes.

    Parameters
    ----------
    settings
        All settings.
    announce
        Is called with what to print when the service is ready.

    Raises
    ------
    SettingError, StoreError
        If the service cannot begin with these settings, or end; the message says why.
    """
    can_run(settings)
    asyncio.run(_supervise(settings, announce))
