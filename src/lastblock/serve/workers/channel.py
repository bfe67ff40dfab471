"""What the supervisor and its processes tell each other: lines of JSON over a pair of sockets.

The first line says everything that a process needs, so that secrets are neither in its arguments
nor in its environment. The end of the channel tells a process that the supervisor is gone.
"""

import asyncio
import socket
from collections.abc import AsyncIterator
from dataclasses import asdict
from typing import Any

import msgspec

from lastblock.serve.settings import Settings

LONGEST = 1 << 20
"""Bytes of a line, at most."""


class Order(msgspec.Struct):
    """The first line to a process."""

    settings: dict[str, Any]
    path: str
    """The owner's Unix socket, in a folder that only this user can enter."""
    url: str
    """Where clients reach the service."""
    restarts: int = 0
    """How many processes had to be started again so far."""
    listener: int | None = None
    """The file descriptor at which a front accepts connections."""

    def read(self) -> Settings:
        """Return the settings."""
        values: dict[str, Any] = {
            name: tuple(value) if isinstance(value, list) else value
            for name, value in self.settings.items()
        }
        return Settings(**values)


class Word(msgspec.Struct, omit_defaults=True):
    """A later line, of either side."""

    kind: str
    """To a process: "drain", "end" or "restarted". From one: "open", "ready" or "failed"."""
    text: str = ""


def order(settings: Settings, path: str, url: str, **more: Any) -> Order:
    """Return the first line to a process."""
    return Order(asdict(settings), path, url, **more)


class Channel:
    """One end of a channel; `open` makes it."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._reader, self._writer = reader, writer

    @classmethod
    async def open(cls, end: socket.socket) -> "Channel":
        """Return the channel on a socket, which then belongs to it."""
        end.setblocking(False)
        return cls(*await asyncio.open_connection(sock=end, limit=LONGEST))

    def tell(self, message: Order | Word) -> None:
        """Send a line; do nothing if the other side is gone."""
        if not self._writer.is_closing():
            self._writer.write(msgspec.json.encode(message) + b"\n")

    async def order(self) -> Order:
        """Return the first line."""
        return msgspec.json.decode(await self._reader.readuntil(b"\n"), type=Order)

    async def words(self) -> AsyncIterator[Word]:
        """Yield later lines, until the other side is gone."""
        while True:
            try:
                line = await self._reader.readuntil(b"\n")
            except (asyncio.IncompleteReadError, OSError):
                return
            yield msgspec.json.decode(line, type=Word)

    def close(self) -> None:
        """End the channel."""
        self._writer.close()
