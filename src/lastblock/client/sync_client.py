"""The client for programs without asyncio."""

import ssl
from collections.abc import Sequence
from typing import Any, Unpack, overload

from lastblock.client import requests
from lastblock.client.messages import RewardResult, ServedDecision, ServiceError
from lastblock.client.options import CreateOptions, DecideOptions
from lastblock.client.requests import Call, Service


class Client:
    """A client of ``lastblock serve``. Threads may share it: each call has a connection.

    Parameters
    ----------
    url
        The address of the service, such as ``http://localhost:8000``.
    key
        Your key.
    timeout
        The most seconds that a call may take, all attempts together.
    retries
        How often to try again if the service does not answer, or answers that it cannot now. All
        attempts have the same key, so that a request has its effect once.
    context
        Whose certificates to trust at an https address; by default those that Python trusts.

    Examples
    --------
    >>> client = Client("http://localhost:1", timeout=0.2)
    >>> decision = client.decide("button", fallback="red")
    >>> decision.arm, decision.is_fallback
    ('red', True)
    >>> client.reward(decision, 1.0)
    False
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

    @overload
    def decide(
        self,
        bandit: str,
        *,
        fallback: str | int | None = None,
        key: str | None = None,
        why: bool = False,
        **options: Unpack[DecideOptions],
    ) -> ServedDecision: ...
    @overload
    def decide(
        self,
        bandit: str,
        n: int,
        *,
        fallback: str | int | None = None,
        key: str | None = None,
        why: bool = False,
        **options: Unpack[DecideOptions],
    ) -> list[ServedDecision]: ...
    def decide(
        self,
        bandit: str,
        n: int | None = None,
        *,
        fallback: str | int | None = None,
        key: str | None = None,
        why: bool = False,
        **options: Unpack[DecideOptions],
    ) -> ServedDecision | list[ServedDecision]:
        """Ask which arm to use.

        Parameters
        ----------
        bandit
            The name of the bandit.
        n
            The number of decisions; without it, one.
        fallback
            The arm to use if the service does not answer in time, or answers that it cannot now
            (408, 429, or 500 and above) or that the bandit is paused; without it that is an error.
            It must be an arm that `among` and `without` allow.
        key
            A text of your own for this request; by default a random one for each call.
        why
            Whether to ask for the reason in words.
        options
            More fields of the request, by the names of the HTTP API: ``among``, ``without``,
            ``segment``, ``unit``, ``distinct``.

        Returns
        -------
        ServedDecision or list of ServedDecision
            The decision; with `n`, a list, even if n = 1.

        Raises
        ------
        ServiceError
            If the service refuses the request (no key, no such bandit), also with a `fallback`; or
            if it does not decide now and there is no `fallback`.
        TypeError
            If there is no option of that name.
        ValueError
            If `fallback` is an arm that you exclude, or `among` or `without` is not a list.
        """
        call = requests.decide(bandit, n, options, fallback=fallback, key=key, why=why)
        try:
            made = requests.decisions_of(self._service.call(call), n)
        except ServiceError as error:
            made = requests.fallen_back(fallback, n, error)
        return made[0] if n is None else made

    def reward(
        self,
        decision: ServedDecision | str,
        reward: float,
        *,
        key: str | None = None,
        guardrail: float | None = None,
    ) -> bool:
        """Tell the reward of a decision.

        Parameters
        ----------
        decision
            The decision, or its token.
        reward
            A finite number.
        key
            For bandits that collect several rewards: a text of your own for this one.
        guardrail
            The value of the guardrail, if the bandit has one.

        Returns
        -------
        bool
            Whether it was told: False for a fallback.

        Raises
        ------
        ServiceError
            If the service refuses it, or does not answer in time.
        ValueError
            If `reward` or `guardrail` is not a finite number. Nothing has been sent then.
        """
        call = requests.reward(decision, reward, key, guardrail)
        if call is not None:
            self._service.call(call)
        return call is not None

    def reward_many(
        self,
        rewards: Sequence[tuple[ServedDecision | str, float]],
        *,
        key: str | None = None,
        atomic: bool = False,
    ) -> list[RewardResult]:
        """Tell the rewards of several decisions.

        Parameters
        ----------
        rewards
            Pairs of a decision, or its token, and its reward. Those of fallbacks are not sent.
        key
            For bandits that collect several rewards: a text of your own for these.
        atomic
            Whether the service takes all of them, or none if it refuses one.

        Returns
        -------
        list of RewardResult
            What became of each, in the same order. Rewards that are refused are also told to the
            logger ``lastblock.client``. What is refused with 503 has been sent again, and may be
            taken later.

        Raises
        ------
        ServiceError
            If the service does not answer in time; with `atomic`, if it refuses one of them. Send
            them again with the same key then: those that were taken count once.
        ValueError
            If a reward is not a finite number. Nothing has been sent then.
        """
        call = requests.rewards(rewards, key, atomic=atomic)
        answer = None if call is None else self._service.call(call)
        return requests.results_of(answer, rewards)

    def observe(
        self,
        bandit: str,
        observations: Sequence[tuple[str | int, float]],
        *,
        key: str | None = None,
    ) -> None:
        """Let a bandit learn from decisions that somebody else has taken: from all, or none.

        Parameters
        ----------
        bandit
            The name of the bandit.
        observations
            Pairs of the label of an arm and its reward.
        key
            A text of your own for these; by default a random one for each call. All attempts have
            the same, so that they count once.

        Raises
        ------
        ServiceError
            If the service refuses them, or does not answer in time.
        ValueError
            If a reward is not a finite number. Nothing has been sent then.
        """
        self._service.call(requests.observations(bandit, observations, key))

    def create(
        self, name: str, arms: Sequence[Any], **options: Unpack[CreateOptions]
    ) -> dict[str, Any]:
        """Create a bandit; this needs an admin key.

        Parameters
        ----------
        name
            A new name.
        arms
            Labels, or dictionaries with ``label``, ``payload`` and ``floor``.
        options
            More fields, by the names of the HTTP API: ``policy``, ``floor``, ``seed``, ``room``,
            ``description``, ``reward_window``, ``default_reward``, ``aggregation``, ``segments``,
            ``alert_after``, ``holdout``, ``guardrail``.

        Returns
        -------
        dict
            The bandit as it is now.

        Raises
        ------
        ServiceError
            If the service refuses it, or does not answer in time.
        TypeError
            If there is no option of that name.
        ValueError
            If `arms` is not a list, or a number is not finite.
        """
        made: dict[str, Any] = self._service.call(requests.create(name, arms, options))
        return made

    def bandit(self, name: str) -> dict[str, Any]:
        """Return a bandit as it is now.

        Parameters
        ----------
        name
            The name of the bandit.
        """
        found: dict[str, Any] = self._service.call(Call("GET", requests.bandit_path(name)))
        return found

    def summary(self, name: str) -> dict[str, Any]:
        """Return which arm of a bandit is best, how sure that is, and the means of all arms.

        Parameters
        ----------
        name
            The name of the bandit.
        """
        found: dict[str, Any] = self._service.call(
            Call("GET", requests.bandit_path(name, "summary"))
        )
        return found

    def close(self) -> None:
        """Close all connections; the next call opens another one."""
        self._service.close()

    def __enter__(self) -> "Client":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()
