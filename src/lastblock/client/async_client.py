"""The client for programs with asyncio."""

import asyncio
import ssl
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any, Final, Unpack, overload

from lastblock.client import requests
from lastblock.client.messages import RewardResult, ServedDecision, ServiceError
from lastblock.client.options import CreateOptions, DecideOptions
from lastblock.client.requests import Call, Service, unreachable

THREADS: Final = 32
"""How many calls can be under way at once."""


class AsyncClient:
    """A client of ``lastblock serve`` for asyncio; `Client` explains parameters and methods.

    Calls run in threads of its own, at most 32 at once. Further calls wait for one of them, within
    their `timeout`. Cancelling a call that has begun does not take it back: the service may still
    answer it, and its thread is busy until then, or until the call's time is over.

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
        self._service = Service(url, key, timeout=timeout, retries=retries, context=context)
        self._threads = ThreadPoolExecutor(THREADS)

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
        self,
        rewards: Sequence[tuple[ServedDecision | str, float]],
        *,
        key: str | None = None,
        atomic: bool = False,
    ) -> list[RewardResult]:
        """Tell the rewards of several decisions; see `Client.reward_many`."""
        call = requests.rewards(rewards, key, atomic=atomic)
        answer = None if call is None else await self._call(call)
        return requests.results_of(answer, rewards)

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
        """Wait for calls under way, and close all connections; the next call opens another one."""
        threads, self._threads = self._threads, ThreadPoolExecutor(THREADS)
        await asyncio.to_thread(threads.shutdown)
        self._service.close()

    async def __aenter__(self) -> "AsyncClient":
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()

    async def _call(self, call: Call) -> Any:
        try:
            async with asyncio.timeout(self._service.timeout):  # waiting for a thread counts, too
                loop = asyncio.get_running_loop()
                return await loop.run_in_executor(self._threads, self._service.call, call)
        except TimeoutError as error:
            raise unreachable(error, self._service.address) from error
