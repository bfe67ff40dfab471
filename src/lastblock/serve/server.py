"""Run the service: open the store, listen, and end in order."""

import asyncio
import contextlib
import gc
import logging
import signal
import sys
from collections.abc import Awaitable, Callable, Coroutine, Iterator, MutableMapping, Sequence
from functools import partial
from typing import Any, Final

import uvicorn
from starlette.middleware.cors import CORSMiddleware

import lastblock
from lastblock.serve.alerts import Alerts
from lastblock.serve.app import App
from lastblock.serve.commits import Commits
from lastblock.serve.forwarding import Forwarder
from lastblock.serve.hosted import Hosted
from lastblock.serve.hosting import Host
from lastblock.serve.keys import Keys
from lastblock.serve.limits import Limits
from lastblock.serve.listening import bound
from lastblock.serve.peers import address_for
from lastblock.serve.quick import protocol_for
from lastblock.serve.settings import SettingError, Settings
from lastblock.serve.state import State
from lastblock.serve.watching import AT_ONCE, Watcher
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

SIGNALS = (signal.SIGTERM, signal.SIGINT)


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


class Server(uvicorn.Server):
    """A server that says where it listens, and whose end is ours to order.

    Parameters
    ----------
    config
        The settings of uvicorn.
    state
        The service.
    """

    def __init__(self, config: uvicorn.Config, state: State) -> None:
        super().__init__(config)
        self._state = state
        self.listens = asyncio.Event()

    @contextlib.contextmanager
    def capture_signals(self) -> Iterator[None]:
        """Leave signals to `run`: uvicorn would raise them again before the store is closed."""
        yield

    async def startup(self, sockets: Any = None) -> None:
        """Listen."""
        await super().startup(sockets)
        self.listens.set()

    def address(self) -> str:
        """Return the address under which clients reach the server."""
        return url_of(self._state.settings, self.servers[0].sockets[0])

    def stop(self) -> None:
        """End: not ready at once, no new connections after the time to drain."""
        if self._state.is_stopping:
            self.force_exit = True
            return
        self._state.is_stopping = True
        drain = self._state.settings.drain
        _log.info("stopping: not ready any more, the last new connection in %g s", drain)
        asyncio.get_running_loop().call_later(drain, setattr, self, "should_exit", True)


def url_of(settings: Settings, listener: Any) -> str:
    """Return the address under which clients reach a service that listens at a socket."""
    if settings.uds:
        return f"unix:{settings.uds}"
    port = listener.getsockname()[1]
    scheme = "https" if settings.tls_cert else "http"
    host = f"[{settings.host}]" if ":" in settings.host else settings.host
    return f"{scheme}://{host}:{port}{settings.root_path}"


def application(state: State) -> tuple[App, Any]:
    """Return the API, and the ASGI application around it."""
    app = App(state)
    if not state.settings.cors:
        return app, app
    around: Callable[[MutableMapping[str, Any], Any, Any], Awaitable[None]] = CORSMiddleware(
        app,
        allow_origins=state.settings.cors,
        allow_methods=["GET", "POST", "PUT", "PATCH", "DELETE"],
        allow_headers=["Authorization", "Content-Type", "Idempotency-Key", "If-Match"],
        expose_headers=["ETag", "Location", "Retry-After"],
    )
    return app, around


async def serve(settings: Settings, announce: Callable[[State, str], object]) -> None:
    """Serve until a signal comes.

    Parameters
    ----------
    settings
        All settings.
    announce
        Is called with the service and its address when it is ready.
    """
    sockets = [bound(settings)]
    state = open_service(settings)
    try:
        app, around = application(state)
        server = Server(config_of(settings, around, protocol_for(app)), state)
        loop = asyncio.get_running_loop()
        for number in SIGNALS:
            with contextlib.suppress(NotImplementedError):  # Windows has no such handlers
                loop.add_signal_handler(number, server.stop)
        await working(state, app, _open(state, server, announce), server.serve(sockets))
    finally:
        await state.host.close()


async def working(
    state: State,
    app: App,
    opening: Coroutine[Any, Any, None],
    serving: Coroutine[Any, Any, None],
) -> None:
    """Serve, with all that a service does in the background.

    Parameters
    ----------
    state, app
        The service.
    opening
        Opens the bandits; if it raises an error, it has `serving` end, and the error is raised.
    serving
        Answers requests until the service is to end.
    """
    watcher, peers = Watcher(state.host, state.alerts), state.host.peers
    works: list[Callable[[], Awaitable[None]]] = [
        app.watch.look,
        partial(_refresh, state),
        partial(_expire, state),
        app.dashboard.look,
        state.alerts.work,
        watcher.work,
    ]
    if peers is not None:
        works.append(partial(peers.work, state.host.get, state.host.lose))
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
        await server.listens.wait()
        await open_bandits(state, server.address())
        announce(state, server.address())
    except Exception:
        server.should_exit = True
        raise


def freeze() -> None:
    """Let Python never look again for garbage among what there is when the server is ready.

    With the compiler that are 200 000 objects, and a look at all of them takes 0.1 s, in which no
    request is answered.
    """
    gc.collect()
    gc.freeze()


async def open_bandits(state: State, url: str) -> None:
    """Open all bandits that nobody else has, and tell others where this server is."""
    if state.host.peers is not None:
        where = await asyncio.to_thread(address_for, state.settings, url)
        await asyncio.to_thread(state.host.peers.publish, where)
    await state.host.open()
    freeze()


async def _refresh(state: State) -> None:
    while True:
        await asyncio.sleep(REFRESH)
        try:
            await asyncio.to_thread(state.keys.refresh)
        except StoreError as error:
            _log.warning("the keys could not be read again: %s", error)


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


def expire(state: State, some: Sequence[Hosted] | None = None) -> int:
    """End the wait for rewards that are too late, of some bandits or all; return how many."""
    if not state.host.is_ready or state.host.store.problem is not None:
        return 0
    expired = 0
    for each in list(state.host.bandits.values()) if some is None else some:
        try:
            expired += 0 if each.is_gone else each.expire()
        except StoreError:
            raise
        except ValueError as error:  # those of other bandits must not wait for it
            _log.warning("decisions of bandit %r cannot be expired: %s", each.name, error)
    return expired


def config_of(settings: Settings, app: Any, protocol: type[asyncio.Protocol]) -> uvicorn.Config:
    """Return the settings of uvicorn."""
    return uvicorn.Config(
        app,
        http=protocol,
        host=settings.host,
        port=settings.port,
        uds=settings.uds or None,
        root_path=settings.root_path,
        log_level=settings.log_level,
        access_log=settings.access_log,
        ssl_certfile=settings.tls_cert or None,
        ssl_keyfile=settings.tls_key or None,
        timeout_graceful_shutdown=int(settings.shutdown_timeout) or None,
        proxy_headers=bool(settings.forwarded_allow_ips),
        forwarded_allow_ips=settings.forwarded_allow_ips or None,
        lifespan="off",
        server_header=False,
        ws="none",
    )


def run(settings: Settings, announce: Callable[[State, str], object]) -> None:
    """Serve until a signal comes; see `serve`."""
    sys.setswitchinterval(SWITCH)
    with asyncio.Runner(loop_factory=loop_factory()) as runner:
        runner.run(serve(settings, announce))


def loop_factory() -> Callable[[], asyncio.AbstractEventLoop] | None:
    """Return what makes the event loop of a service; None for Python's own."""
    if sys.platform == "win32":
        return None
    import uvloop  # noqa: PLC0415  # not on Windows

    return uvloop.new_event_loop


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
