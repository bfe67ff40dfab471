"""Several servers on one database: which of them has which bandit, and where it is reached.

Each server writes its address into the database, under the name that its leases have. Who gets a
request for a bandit of another one looks there, and forwards it.
"""

import asyncio
import ipaddress
import logging
import socket
import time
from collections.abc import Awaitable, Callable, Collection
from contextlib import suppress
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, Final
from urllib.parse import urlsplit

from lastblock.serve.problems import ProblemError
from lastblock.serve.settings import LOOPBACK, Settings
from lastblock.store.store import Store
from lastblock.support.errors import StoreError

_log = logging.getLogger(__name__)

COLLECTION: Final = "servers"

LOOK: Final = 2.0
"""Seconds between two looks at who has which bandit."""

FRESH: Final = 3.0 * LOOK
"""Seconds for which the answer of such a look is used."""

FORGET: Final = timedelta(days=1)
"""How long the address of a server is kept that has ended without withdrawing it."""

AGAIN: Final = 3600.0
"""Seconds after which a server writes its address again, so that others keep it."""


class ElsewhereError(Exception):
    """Raised when another server has a bandit: a request about it is forwarded there.

    Parameters
    ----------
    name
        The bandit.
    url
        Where that server is reached.
    """

    def __init__(self, name: str, url: str) -> None:
        super().__init__(f"bandit {name!r} is at {url}")
        self.name, self.url = name, url


class Peers:
    """The servers that share a database, as this one knows them.

    Parameters
    ----------
    store
        The store.
    """

    def __init__(self, store: Store) -> None:
        self._store, self.me = store, store.holder
        self.url = ""
        """Where others reach this server; empty before `publish`, or if they cannot."""
        self._written = 0.0  # when our address was written
        self._where: dict[str, str] = {}  # the address of the server that has a bandit, by its name
        self._names: dict[int, str] = {}
        self._until = 0.0  # until when these are used
        self._free: dict[str, float] = {}  # since when nobody has had a bandit

    def publish(self, url: str) -> None:
        """Let others know where to reach this server, until `withdraw`."""
        self.url = url
        if url:
            value = {"url": url, "machine": _machine(), "time": _now().isoformat()}
            self._store.documents.put(COLLECTION, self.me, value)
            self._written = time.monotonic()

    def withdraw(self) -> None:
        """Let nobody forward to this server any more."""
        if self.url:
            self._store.documents.drop(COLLECTION, self.me)

    def check(self, name: str) -> None:
        """Raise an `ElsewhereError` if another server has a bandit, as far as we know."""
        url = self._where.get(name)
        if url is not None and time.monotonic() < self._until:
            raise ElsewhereError(name, url)

    def find(self, name: str) -> None:
        """Look who has a bandit, and raise an `ElsewhereError` if another server can be reached."""
        self.refresh()
        self.check(name)

    def name_of(self, number: int) -> str | None:
        """Return the name of the bandit with a number, if another server has it."""
        return self._names.get(number) if time.monotonic() < self._until else None

    def forget(self, url: str) -> None:
        """Ask the database again before another request goes to an address."""
        self._where = {name: each for name, each in self._where.items() if each != url}

    def refresh(self) -> set[str]:
        """Look who has which bandit; return those that nobody has had for a while."""
        began = time.monotonic()
        urls = self._read()
        held = self._store.holders()
        self._where = {
            name: urls[each.holder]
            for name, each in held.items()
            if each.holder != self.me and each.holder in urls
        }
        self._names = {held[name].number: name for name in self._where}
        self._until = began + FRESH
        # Who creates or deletes a bandit leaves it alone for a moment.
        self._free = {
            name: self._free.get(name, began) for name, each in held.items() if not each.holder
        }
        return {name for name, since in self._free.items() if began - since >= LOOK / 2}

    def _read(self) -> dict[str, str]:
        """Return the addresses of all other servers that can be reached from here, by holder."""
        found, machine, urls = self._store.documents.all(COLLECTION), _machine(), {}
        for holder, (_, value) in found.items():
            url = value["url"]
            if holder == self.me or url == self.url:
                continue  # this server, or what was here before it
            if is_loopback(urlsplit(url).hostname or "") and value["machine"] != machine:
                continue
            urls[holder] = url
            if datetime.fromisoformat(value["time"]) < _now() - FORGET:
                self._store.documents.drop(COLLECTION, holder)
        if self.url and (self.me not in found or time.monotonic() > self._written + AGAIN):
            self.publish(self.url)
        return urls

    async def work(
        self, get: Callable[[str], Awaitable[Any]], lose: Callable[[Collection[int]], object]
    ) -> None:
        """Look again and again, and take bandits that nobody has any more.

        Parameters
        ----------
        get
            Opens a bandit by its name.
        lose
            Is called with the numbers of bandits that other servers have.
        """
        while True:
            await asyncio.sleep(LOOK)
            try:
                free = await asyncio.to_thread(self.refresh)
                lose(self._names.keys())
                for name in sorted(free):
                    with suppress(ProblemError, ElsewhereError):
                        await get(name)
                        _log.info("bandit %r, which nobody had any more, is open here now", name)
            except StoreError as error:
                _log.warning("cannot look which servers there are: %s", error)


def address_for(settings: Settings, url: str) -> str:
    """Return the address under which other servers reach this one.

    Parameters
    ----------
    settings
        The settings of the service.
    url
        Where it listens.
    """
    if settings.advertise:
        return settings.advertise.rstrip("/")
    if settings.uds:
        return ""
    parts = urlsplit(url)
    if settings.host in ("0.0.0.0", "::"):
        here = _towards(urlsplit(settings.store).hostname or "")
        return parts._replace(netloc=f"{here}:{parts.port}").geturl()
    return url


def _towards(host: str) -> str:
    """Return the address of this machine in the network in which the database is."""
    try:
        (family, kind, _, _, address), *_ = socket.getaddrinfo(host, 5432, type=socket.SOCK_DGRAM)
        with socket.socket(family, kind) as probe:
            probe.connect(address)  # this sends nothing
            found: str = probe.getsockname()[0]
    except OSError:
        return socket.gethostname()
    return f"[{found}]" if ":" in found else found


def is_loopback(host: str) -> bool:
    """Return whether an address means the machine itself, on every machine."""
    try:
        return host in LOOPBACK or ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


def _machine() -> str:
    """Return what tells machines, and containers on one machine, apart."""
    try:
        boot = Path("/proc/sys/kernel/random/boot_id").read_text(encoding="ascii").strip()
    except OSError:
        boot = ""
    return f"{socket.gethostname()} {boot}"


def _now() -> datetime:
    return datetime.now(UTC)
