"""The client for programs with asyncio."""

import asyncio
import ssl
from collections.abc import Sequence
from contextlib import suppress
from typing import Any, TypeAlias, Unpack, overload

from lastblock.client import requests
from lastblock.client.messages import ServedDecision, ServiceError
from lastblock.client.options import CreateOptions, DecideOptions
from lastblock.client.requests import AGAIN, Attempts, Call, Requests, answer_of, unreachable

Pair: TypeAlias = tuple[asyncio.StreamReader, asyncio.StreamWriter]


class AsyncClient:
    """A client of ``lastblock serve`` for asyncio; `Client` explains parameters and methods.

    Parameters
    ----------
    url, key, timeout, retries, context
        As for `Client`.
    """

    def __init__(
        self,
        url: str,
        key: str | None = None,
        *,
        timeout: float = 1.0,
        retries: int = 2,
        context: ssl.SSLContext | None = None,
    ) -> None:
        self._requests = Requests(url, key, timeout=timeout, retries=retries)
        self._context = context
        self._idle: list[Pair] = []

    @overload
    async def decide(
        self,
        bandit: str,
        *,
        fallback: str | int | None = None,
        key: str | None = None,
        why: bool = False,
        **options: Unpack[DecideOptions],
    ) -> ServedDecision: ...
    @overload
    async def decide(
        self,
        bandit: str,
        n: int,
        *,
        fallback: str | int | None = None,
        key: str | None = None,
        why: bool = False,
        **options: Unpack[DecideOptions],
    ) -> list[ServedDecision]: ...
    async def decide(
        self,
        bandit: str,
        n: int | None = None,
        *,
        fallback: str | int | None = None,
        key: str | None = None,
        why: bool = False,
        **options: Unpack[DecideOptions],
    ) -> ServedDecision | list[ServedDecision]:
        """Ask which arm to use; see `Client.decide`."""
        call = requests.decide(bandit, n, options, fallback=fallback, key=key, why=why)
        try:
            made = requests.decisions_of(await self._call(call), n)
        except ServiceError as error:
            made = requests.fallen_back(fallback, n, error)
        return made[0] if n is None else made

    async def reward(
        self,
        decision: ServedDecision | str,
        reward: float,
        *,
        key: str | None = None,
        guardrail: float | None = None,
    ) -> bool:
        """Tell the reward of a decision; see `Client.reward`."""
        call = requests.reward(decision, reward, key, guardrail)
        if call is not None:
            await self._call(call)
        return call is not None

    async def reward_many(
        self, rewards: Sequence[tuple[ServedDecision | str, float]], *, key: str | None = None
    ) -> bool:
        """Tell the rewards of several decisions; see `Client.reward_many`."""
        call = requests.rewards(rewards, key)
        if call is not None:
            await self._call(call)
        return call is not None

    async def observe(
        self,
        bandit: str,
        observations: Sequence[tuple[str | int, float]],
        *,
        key: str | None = None,
    ) -> None:
        """Let a bandit learn from decisions of others; see `Client.observe`."""
        await self._call(requests.observations(bandit, observations, key))

    async def create(
        self, name: str, arms: Sequence[Any], **options: Unpack[CreateOptions]
    ) -> dict[str, Any]:
        """Create a bandit; see `Client.create`."""
        made: dict[str, Any] = await self._call(requests.create(name, arms, options))
        return made

    async def bandit(self, name: str) -> dict[str, Any]:
        """Return a bandit as it is now; see `Client.bandit`."""
        found: dict[str, Any] = await self._call(Call("GET", requests.bandit_path(name)))
        return found

    async def summary(self, name: str) -> dict[str, Any]:
        """Return which arm is best, and how sure that is; see `Client.summary`."""
        found: dict[str, Any] = await self._call(Call("GET", requests.bandit_path(name, "summary")))
        return found

    async def close(self) -> None:
        """Close all connections; the next call opens another one."""
        idle, self._idle = self._idle, []
        for _, writer in idle:
            writer.close()
        await asyncio.gather(*[_closed(writer) for _, writer in idle])

    async def __aenter__(self) -> "AsyncClient":
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()

    async def _call(self, call: Call) -> Any:
        attempts = Attempts(self._requests.retries, self._requests.timeout)
        text = self._text(call)
        while True:
            after = None
            failure: BaseException | None = None
            try:
                async with asyncio.timeout(attempts.seconds):
                    status, after, body = await self._send(text)
                if status not in AGAIN:
                    return answer_of(status, body)
            except (OSError, asyncio.IncompleteReadError, ValueError) as error:
                failure = error  # a TimeoutError is an OSError, too
            wait = attempts.pause(after)
            if wait is None:
                if failure is not None:
                    raise unreachable(failure, self._requests.address) from failure
                return answer_of(status, body)
            await asyncio.sleep(wait)

    async def _send(self, text: bytes) -> tuple[int, str | None, bytes]:
        pair = self._idle.pop() if self._idle else await self._connect()
        reader, writer = pair
        is_whole = False
        try:
            writer.write(text)
            await writer.drain()
            status, headers = await _head(reader)
            size = headers.get("content-length", "0")
            body = await reader.readexactly(int(size)) if status != 204 else b""
            is_whole = headers.get("connection", "").lower() != "close"
        finally:
            if is_whole:
                self._idle.append(pair)
            else:  # what comes later on this connection would answer another request
                writer.close()
        return status, headers.get("retry-after"), body

    async def _connect(self) -> Pair:
        address = self._requests.address
        context = self._context or ssl.create_default_context() if address.is_secure else None
        return await asyncio.open_connection(address.host, address.port, ssl=context)

    def _text(self, call: Call) -> bytes:
        address = self._requests.address
        headers = {
            "Host": f"{address.host}:{address.port}",
            "Content-Length": str(len(call.data)),
            **self._requests.headers(call),
        }
        lines = [f"{call.method} {self._requests.target(call)} HTTP/1.1"]
        lines += [f"{name}: {value}" for name, value in headers.items()]
        return "\r\n".join([*lines, "", ""]).encode("latin-1") + call.data


async def _head(reader: asyncio.StreamReader) -> tuple[int, dict[str, str]]:
    """Return the status and the headers of an answer."""
    text = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1")
    first, *lines = text.rstrip("\r\n").split("\r\n")
    pairs = [line.partition(":") for line in lines]
    return int(first.split()[1]), {name.strip().lower(): value.strip() for name, _, value in pairs}


async def _closed(writer: asyncio.StreamWriter) -> None:
    with suppress(OSError):
        await writer.wait_closed()
