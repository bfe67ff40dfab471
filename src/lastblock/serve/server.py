"""Run the service: open the store, listen, and end in order."""

import asyncio
import contextlib
import gc
import logging
import os
import signal
import socket
import stat
import sys
from collections.abc import Awaitable, Callable, Coroutine, Sequence
from functools import partial
from pathlib import Path
from types import FrameType
from typing import Any, Final

from granian.constants import HTTPModes, Interfaces, SSLProtocols
from granian.http import HTTP1Settings
from granian.log import LogLevels
from granian.net import SocketHolder
from granian.server import embed
from granian.utils.proxies import _Forwarders, wrap_asgi_with_proxy_headers

import lastblock
from lastblock.serve import http
from lastblock.serve.alerts import AT_ONCE, Alerts, Watcher
from lastblock.serve.app import App
from lastblock.serve.commits import Commits
from lastblock.serve.forwarding import Forwarder, address_for
from lastblock.serve.groups import Hosted
from lastblock.serve.hosted_bandits import Host
from lastblock.serve.keys import Keys
from lastblock.serve.limits import ConnectionLimit, Limits
from lastblock.serve.settings import SettingError, Settings, check_certificate
from lastblock.serve.state import State
from lastblock.store.storage import TakenOverError
from lastblock.store.store import Store
from lastblock.support.errors import StoreError

_log = logging.getLogger(__name__)

REFRESH: Final = 2.0
"""Seconds after which the server reads the keys again, which other programs may have changed."""

EXPIRE: Final = 1.0
"""Seconds between two looks at which decisions have waited too long."""

AGAIN: Final = 1.0
"""Seconds after which work in the background begins again if a defect has ended it."""

SWITCH: Final = 0.0005
"""Seconds after which Python lets another thread run. The thread that writes events needs the
interpreter several times for each group, and by Python's own setting of 5 ms it would wait for it
longer than for the disk."""

SNAPSHOT_EVERY: Final = 1000
"""Events between two snapshots of a bandit. With each, the database notes which decisions since the
one before have no reward yet, and whoever waits for its group waits for that, too."""

FINISH: Final = 8
"""Seconds that requests have to finish at the end; Docker kills a container after ten."""

MOST_CONNECTIONS: Final = 768
"""How many connections are open; more wait. A process may often have 1024 files open."""

UNREAD: Final = 6.0
"""The wait for a client that reads no answers, as a multiple of the wait for a head."""

COUNT: Final = 0.5
"""Seconds between two looks at how many connections each address has."""

BACKLOG: Final = 2048
"""How many connections may wait until the server takes them."""


def open_service(settings: Settings) -> State:
    """Open the store, and return the parts of a service on it; its bandits are not open yet.

    Raises
    ------
    SettingError
        If everybody could reach the service and there are no keys.
    StoreError
        If the store cannot be opened.
    """
    # Answers wait for the group in which their events are, see `Commits`: the store itself need
    # not make each call wait.
    store = Store(
        settings.store,
        durability="never" if settings.durability == "never" else "interval",
        keep_events=settings.keep_events,
        snapshot_every=SNAPSHOT_EVERY,
    )
    try:
        keys = Keys(store.documents)
        if not settings.insecure and not settings.is_local and not len(keys):
            raise SettingError(
                f"other machines can reach {settings.host}, and {store.label} has no keys yet; "
                "make one first: lastblock keys create STORE --scope admin (or let everybody in: "
                "--insecure)"
            )
        commits = Commits(store, does_wait=settings.durability == "always")
        limits = Limits(settings.rate_limit)
        alerts = Alerts(store.documents, settings.alert_url, settings.alert_secret)
        state = State(settings, Host(store, commits), keys, limits, alerts)
        if store.holder:
            state.forwarder = Forwarder(store.holder, settings.root_path)
        return state
    except BaseException:
        store.close()
        raise


def bound(settings: Settings) -> socket.socket:
    """Return a socket at the address, or raise a `SettingError` that says why there is none."""
    if settings.uds:
        return _bound_path(settings.uds)
    host, port = settings.host, settings.port
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    try:
        listener = socket.create_server((host, port), family=family, backlog=BACKLOG)
        if hasattr(socket, "TCP_USER_TIMEOUT"):  # connections inherit it; Linux has it
            unread = int(1000 * UNREAD * http.PATIENCE)
            listener.setsockopt(socket.IPPROTO_TCP, socket.TCP_USER_TIMEOUT, unread)
        return listener
    except OSError as error:
        raise SettingError(
            f"cannot listen at {host}, port {port}: {error.strerror}; choose another --port or "
            "--host"
        ) from None


def _bound_path(path: str) -> socket.socket:
    """Return a Unix socket at a path; one that an earlier server has left is replaced."""
    if not hasattr(socket, "AF_UNIX"):
        raise SettingError(
            f"uds={path!r} needs Unix sockets, which this system does not have; choose a --port"
        )
    _check_left(path)
    made = socket.socket(socket.AF_UNIX)
    try:
        with contextlib.suppress(FileNotFoundError):
            if stat.S_ISSOCK(os.stat(path).st_mode):
                os.unlink(path)
        made.bind(path)
        os.chmod(path, 0o666)  # whoever enters the folder may connect
        made.listen(BACKLOG)
    except OSError as error:
        made.close()
        raise SettingError(f"cannot listen at {path}: {error.strerror or error}") from None
    return made


def _check_left(path: str) -> None:
    """Raise a `SettingError` if a server listens at a path still."""
    with contextlib.suppress(OSError), socket.socket(socket.AF_UNIX) as probe:
        probe.connect(path)
        raise SettingError(f"cannot listen at {path}: another server does; choose another --uds")


class Server(embed.Server):  # type: ignore[misc]  # granian has few types
    """granian in this process: it reads requests, and calls the application on this event loop.

    Parameters
    ----------
    app
        The application.
    listener
        Where to listen; the server closes it.
    """

    def __init__(self, app: App, listener: socket.socket) -> None:
        self.state, self._listener = app.state, listener
        # All copies block if one does, and `renew` makes one: the worker before it would wait in
        # `accept`, and the whole process for that worker.
        listener.setblocking(False)
        self._before: list[Any] = []  # workers that end with their last connection
        settings = app.state.settings
        self._port = 0 if settings.uds else listener.getsockname()[1]
        proxies = settings.forwarded_allow_ips
        super().__init__(
            wrap_asgi_with_proxy_headers(app, proxies) if proxies else app,
            interface=Interfaces.ASGINL,
            http=HTTPModes.http1,
            http1_settings=HTTP1Settings(
                header_read_timeout=int(1000 * http.PATIENCE), max_buffer_size=http.LARGEST_HEAD
            ),
            websockets=False,
            backlog=BACKLOG,
            backpressure=MOST_CONNECTIONS,
            log_level=LogLevels.error,
            log_dictconfig={"handlers": {}, "loggers": {}},  # to where all else is logged
        )
        self.workers_kill_timeout, self.respawn_interval = FINISH, 0.0
        self._read_certificate()

    @property
    def url(self) -> str:
        """The address under which clients reach the server."""
        settings = self.state.settings
        if settings.uds:
            return f"unix:{settings.uds}"
        scheme = "https" if settings.tls_cert else "http"
        host = f"[{settings.host}]" if ":" in settings.host else settings.host
        return f"{scheme}://{host}:{self._port}{settings.root_path}"

    def _read_certificate(self) -> None:
        settings = self.state.settings
        if settings.tls_cert:
            check_certificate(settings.tls_cert, settings.tls_key)
            files = Path(settings.tls_cert), Path(settings.tls_key)
            self.build_ssl_context(*files, None, SSLProtocols.tls12, None, [], False)

    def _init_shared_socket(self) -> None:
        """Listen at the socket that there is; granian closes this copy of it."""
        copy = self._listener.dup().detach()
        self._shd = SocketHolder(copy, bool(self.state.settings.uds), self.backlog)

    def renew(self) -> None:
        """Read the certificate again; open connections finish with the old one."""
        if self.state.is_stopping:
            return
        try:
            self._read_certificate()
        except SettingError as error:
            _log.warning("the server keeps its certificate: %s", error)
            return
        self._init_shared_socket()
        self.reload()

    async def _respawn_workers(
        self, workers: object, spawn_target: Any, target_loader: Any, delay: float = 0.0
    ) -> None:
        """Start a worker with the new certificate; the one before ends with its last connection.

        granian's own waits for it, and ends the server if it has a stream of events.
        """
        before = self.wrks[0]
        self._before = [*(each for each in self._before if not each._task.done()), before]
        new = self._spawn_worker(idx=0, target=spawn_target, callback_loader=target_loader)
        new.start()
        self.wrks[:] = [new]
        before.terminate()

    async def _stop_workers(self) -> None:
        """End all workers. Those from before a renewal have been told to.

        granian would tell them again, and with the third time the process would wait for ever.
        """
        joins = [each.join(self.workers_kill_timeout) for each in self._before]
        await asyncio.gather(super()._stop_workers(), *joins)

    def end(self) -> None:
        """Be not ready at once, and take no connections after the time to drain."""
        drain = 0.0 if self.state.is_stopping else self.state.settings.drain
        self.state.is_stopping = True
        asyncio.get_running_loop().call_later(drain, self.finish)

    def finish(self) -> None:
        """Take no more connections, and end when the requests under way are answered."""
        self._listener.close()
        self.stop()

    async def run(self) -> None:
        """Serve until `finish`, and not longer than `FINISH` after it."""
        counting = asyncio.ensure_future(always(self._count))
        try:
            with contextlib.suppress(TimeoutError):
                await self.serve()
        finally:
            counting.cancel()

    async def _count(self) -> None:
        """Bound the connections from each address."""
        settings = self.state.settings
        most = settings.connections_per_address
        limit = ConnectionLimit(self._port, most, _Forwarders(settings.forwarded_allow_ips))
        while True:
            if most and self._port:
                limit.cut()
            await asyncio.sleep(COUNT)


async def serve(settings: Settings, announce: Callable[[State, str], object]) -> None:
    """Serve until a signal comes.

    Parameters
    ----------
    settings
        All settings.
    announce
        Is called with the service and its address when it is ready.
    """
    listener = bound(settings)
    state = open_service(settings)
    try:
        app = App(state)
        server = Server(app, listener)
        if sys.platform != "win32":
            on_signal(signal.SIGTERM, server.end)
            on_signal(signal.SIGINT, server.end)
            on_signal(signal.SIGHUP, server.renew)
        await working(app, _open(state, server, announce), server.run())
    finally:
        await state.host.close()


def on_signal(number: int, action: Callable[[], object]) -> None:
    """Have the event loop that runs call a function when a signal comes.

    The loop's own way loses signals under load: it needs room in the pipe that wakes the loop.
    """
    loop = asyncio.get_running_loop()

    def note(number: int, frame: FrameType | None) -> None:
        if not loop.is_closed():
            loop.call_soon_threadsafe(action)

    signal.signal(number, note)


async def working(
    app: App, opening: Coroutine[Any, Any, None], serving: Coroutine[Any, Any, None]
) -> None:
    """Serve, with all that a service does in the background.

    Parameters
    ----------
    app
        The application.
    opening
        Opens the bandits; if it raises an error, it has `serving` end, and the error is raised.
    serving
        Answers requests until the service is to end.
    """
    state = app.state
    watcher, peers = Watcher(state.host, state.alerts), state.host.peers
    works: list[Callable[[], Awaitable[None]]] = [
        partial(_refresh, state),
        partial(_expire, state),
        app.dashboard.look,
        state.alerts.work,
        watcher.work,
    ]
    if peers is not None:
        works.append(partial(peers.work, state.host.adopt, state.host.lose))
    helpers = [asyncio.ensure_future(each) for each in (opening, *map(always, works))]
    try:
        await serving
    finally:
        for helper in helpers:
            helper.cancel()
        done = await asyncio.gather(*helpers, return_exceptions=True)
    if isinstance(done[0], Exception):
        raise done[0]
    if state.forwarder is not None:
        await state.forwarder.close()
    with contextlib.suppress(StoreError):  # what happened in the last second
        if peers is not None:
            await asyncio.to_thread(peers.withdraw)
        await watcher.look()
        await state.alerts.keep()


async def always(work: Callable[[], Awaitable[None]]) -> None:
    """Do some work that never ends by itself; begin it again if a defect ends it."""
    while True:
        try:
            await work()
        except Exception:
            _log.exception("a defect: work in the background ended; it begins again")
        await asyncio.sleep(AGAIN)


async def _open(state: State, server: Server, announce: Callable[[State, str], object]) -> None:
    """Open the bandits while the server answers already that it is not ready."""
    try:
        if state.host.peers is not None:
            where = await asyncio.to_thread(address_for, state.settings, server.url)
            await asyncio.to_thread(state.host.peers.publish, where)
        await state.host.open()
        # Python need never look again for garbage among what there is now. With the compiler that
        # are 200 000 objects: a look takes 0.1 s, in which no request is answered.
        gc.collect()
        gc.freeze()
        announce(state, server.url)
    except Exception:
        server.finish()
        raise


async def _refresh(state: State) -> None:
    while True:
        await asyncio.sleep(REFRESH)
        try:
            await asyncio.to_thread(state.keys.refresh)
            await state.host.mend()
        except StoreError as error:
            _log.warning("cannot look after keys and damaged bandits: %s", error)


async def _expire(state: State) -> None:
    """End the wait for rewards that are too late, again and again."""
    while True:
        await asyncio.sleep(EXPIRE)
        try:
            hosted = list(state.host.bandits.values())
            for place in range(0, len(hosted), AT_ONCE):
                expire(state, hosted[place : place + AT_ONCE])
                await asyncio.sleep(0)  # for the requests that wait
        except TakenOverError as error:
            state.host.lose(error.bandits)
        except StoreError as error:
            _log.warning("decisions could not be expired yet: %s", error)


def expire(state: State, some: Sequence[Hosted]) -> int:
    """End the wait for rewards that are too late, of some bandits; return how many."""
    if not state.host.is_ready or state.host.store.backlog.problem is not None:
        return 0
    expired = 0
    for each in some:
        try:
            expired += 0 if each.is_gone else each.expire()
        except StoreError:
            raise
        except ValueError as error:  # those of other bandits must not wait for it
            _log.warning("decisions of bandit %r cannot be expired: %s", each.name, error)
    return expired


def run(settings: Settings, announce: Callable[[State, str], object]) -> None:
    """Serve until a signal comes; see `serve`."""
    sys.setswitchinterval(SWITCH)
    asyncio.run(serve(settings, announce))


def greeting(state: State, url: str) -> str:
    """Return what to print when the server is ready; it makes the first key if there is none."""
    lines = [f"lastblock {lastblock.__version__} serves {state.host.store.label} at {url}"]
    if state.settings.insecure:
        lines.append("without keys: whoever reaches it may do everything")
    elif not len(state.keys):
        text, _ = state.keys.create(["admin"], name="first")
        lines.append(f"the first admin key, shown this once: {text}")
    lines.append(f"dashboard: {url}/dashboard")
    lines.append(f"description of the API: {url}/openapi.json")
    return "\n".join(lines)
