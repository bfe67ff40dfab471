"""The processes that the supervisor starts: a front, or the owner."""

import asyncio
import contextlib
import logging
import os
import shutil
import signal
import socket
import sys
from pathlib import Path

import uvicorn

from lastblock.serve.server import (
    SWITCH,
    application,
    config_of,
    greeting,
    loop_factory,
    open_bandits,
    open_service,
    working,
)
from lastblock.serve.settings import SettingError, Settings
from lastblock.serve.state import State
from lastblock.serve.workers.channel import Channel, Order, Word
from lastblock.serve.workers.connections import connections_of
from lastblock.serve.workers.front import Front
from lastblock.serve.workers.owner import Offices
from lastblock.serve.workers.quickly import quickly
from lastblock.support.errors import StoreError

_log = logging.getLogger(__name__)


def main() -> None:
    """Run the process that the arguments name: what it is, and the descriptor of its channel."""
    role, number = sys.argv[1:]
    # A terminal and an init system send signals to all processes. The supervisor says in which
    # order they end, over the channel.
    for each in (signal.SIGINT, signal.SIGTERM):
        signal.signal(each, signal.SIG_IGN)
    work = {"front": _front, "owner": _owner}[role]

    async def run() -> None:
        channel = await Channel.open(socket.socket(fileno=int(number)))
        await work(await channel.order(), channel)

    sys.setswitchinterval(SWITCH)
    with asyncio.Runner(loop_factory=loop_factory()) as runner:
        runner.run(run())


class _FrontServer(uvicorn.Server):
    """A server that the supervisor ends, not a signal."""

    @contextlib.contextmanager
    def capture_signals(self):  # type: ignore[no-untyped-def]  # uvicorn's own is a generator
        yield

    def stop(self) -> None:
        """End in order; said twice, at once."""
        self.force_exit = self.should_exit
        self.should_exit = True


async def _front(order: Order, channel: Channel) -> None:
    """Speak HTTP until the supervisor says that it is enough, or is gone."""
    settings = order.read()
    assert order.listener is not None
    front = Front(settings, order.path)
    server = _FrontServer(config_of(settings, front, connections_of(front, settings)))

    async def listen() -> None:
        async for word in channel.words():
            if word.kind == "end":
                server.stop()
        os._exit(1)  # the supervisor was killed: its successor needs the address

    async def tell() -> None:
        await front.is_linked.wait()
        while not server.started:
            await asyncio.sleep(0.01)
        channel.tell(Word("ready"))

    async with asyncio.TaskGroup() as tasks:
        helpers = [tasks.create_task(each) for each in (front.work(), front.watch.look(), tell())]
        hears = tasks.create_task(listen())
        await server.serve([socket.socket(fileno=order.listener)])
        for each in (*helpers, hears):
            each.cancel()


async def _owner(order: Order, channel: Channel) -> None:
    """Own the bandits, until the supervisor says that it is enough, or is gone."""
    settings = order.read()
    try:
        state = open_service(settings)
        state.restarts = order.restarts
        owner = _Owner(state, order, channel)
        try:
            await owner.work()
        finally:
            await state.host.close()
    except (SettingError, StoreError) as error:
        channel.tell(Word("failed", str(error)))
        raise SystemExit(2) from None
    if owner.is_orphan:  # nobody else is left to do it
        shutil.rmtree(Path(order.path).parent, ignore_errors=True)


class _Owner:
    """The process that has the bandits."""

    def __init__(self, state: State, order: Order, channel: Channel) -> None:
        self._state, self._order, self._channel = state, order, channel
        self._app, around = application(state)
        self._offices = state.offices = Offices(around, quickly(self._app))
        self._end = asyncio.Event()
        self.is_orphan = False
        """Whether the supervisor is gone."""

    async def work(self) -> None:
        """Answer fronts until the end."""
        path, loop = Path(self._order.path), asyncio.get_running_loop()
        path.unlink(missing_ok=True)
        server = await loop.create_unix_server(self._offices.meet, str(path))
        self._channel.tell(Word("open"))
        hears = asyncio.ensure_future(self._listen())
        try:
            await working(self._state, self._app, self._opening(), self._serving(server))
        finally:
            hears.cancel()

    async def _listen(self) -> None:
        """Do what the supervisor says."""
        async for word in self._channel.words():
            if word.kind == "drain":
                self._state.is_stopping = True
            elif word.kind == "restarted":
                self._state.restarts += 1
            elif word.kind == "end":
                self._end.set()
        self.is_orphan = self._state.is_stopping = True
        self._end.set()

    async def _opening(self) -> None:
        try:
            await open_bandits(self._state, self._order.url)
            text = await asyncio.to_thread(greeting, self._state, self._order.url)
            self._channel.tell(Word("ready", text))
        except Exception:
            self._end.set()
            raise

    async def _serving(self, server: asyncio.Server) -> None:
        await self._end.wait()
        server.close()
        limit = self._state.settings.shutdown_timeout or None
        with contextlib.suppress(TimeoutError):
            await asyncio.wait_for(self._offices.quiet(), limit)


def command(role: str, channel: int) -> list[str]:
    """Return the command that starts a process."""
    return [sys.executable, "-m", "lastblock.serve.workers", role, str(channel)]


def can_run(settings: Settings) -> None:
    """Raise a `SettingError` where there can be no workers."""
    if sys.platform == "win32":
        raise SettingError("workers need Unix sockets, which this system does not have; leave them")
