"""How the bandits of a store are made, or found if they are there already."""

import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from typing import Any, overload

from lastblock.core.protocol import Policy
from lastblock.core.registry import describe, require_policy
from lastblock.kernels.streams import Seed
from lastblock.live.bandit import Bandit
from lastblock.live.labels import L, check_labels
from lastblock.live.ledger import Rewards
from lastblock.live.memory import Remember
from lastblock.support.checks import line, number
from lastblock.support.errors import BanditInUseError, StoreError

_PAUSE = 0.05
"""Seconds between two attempts to open a bandit that somebody else has."""


class CreatesBandits(ABC):
    """The part of a store that makes new bandits."""

    @property
    @abstractmethod
    def _label(self) -> str:
        """The name of the store in messages."""

    @abstractmethod
    def _create(self, name: str, new: Callable[[], Bandit[Any]]) -> Bandit[Any]:
        """Add the bandit that `new` makes, or raise a `StoreError` if the name is taken."""

    @abstractmethod
    def _is_open(self, name: str) -> bool:
        """Return whether the bandit is open here."""

    @abstractmethod
    def bandit(self, name: str) -> Bandit[Any]: ...
    @abstractmethod
    def release(self, name: str) -> None: ...
    @abstractmethod
    def names(self) -> tuple[str, ...]: ...

    @overload
    def create(
        self,
        name: str,
        policy: Policy,
        arms: int,
        *,
        seed: Seed = None,
        floor: float | Mapping[int, float] | None = None,
        room: int | None = None,
        rewards: Rewards | None = None,
        remember: Remember | None = None,
    ) -> Bandit[int]: ...
    @overload
    def create(
        self,
        name: str,
        policy: Policy,
        arms: Sequence[L],
        *,
        seed: Seed = None,
        floor: float | Mapping[L, float] | None = None,
        room: int | None = None,
        rewards: Rewards | None = None,
        remember: Remember | None = None,
    ) -> Bandit[L]: ...
    def create(
        self,
        name: str,
        policy: Policy,
        arms: Sequence[Any] | int,
        *,
        seed: Seed = None,
        floor: float | Mapping[Any, float] | None = None,
        room: int | None = None,
        rewards: Rewards | None = None,
        remember: Remember | None = None,
    ) -> Bandit[Any]:
        """Create a bandit; it is on the disk when this returns.

        Parameters
        ----------
        name
            A new name: one line of text.
        policy, arms, seed, floor, room, rewards, remember
            As for `Bandit`.

        Returns
        -------
        Bandit
            The open bandit.

        Raises
        ------
        StoreError
            If the store has a bandit of this name.
        """
        line(name, "name")
        return self._create(
            name,
            lambda: Bandit(
                policy,
                arms,
                seed=seed,
                floor=floor,
                room=room,
                rewards=rewards,
                remember=remember,
            ),
        )

    @overload
    def get_or_create(
        self,
        name: str,
        policy: Policy,
        arms: int,
        *,
        seed: Seed = None,
        floor: float | Mapping[int, float] | None = None,
        room: int | None = None,
        rewards: Rewards | None = None,
        remember: Remember | None = None,
        wait: float = 0.0,
    ) -> Bandit[int]: ...
    @overload
    def get_or_create(
        self,
        name: str,
        policy: Policy,
        arms: Sequence[L],
        *,
        seed: Seed = None,
        floor: float | Mapping[L, float] | None = None,
        room: int | None = None,
        rewards: Rewards | None = None,
        remember: Remember | None = None,
        wait: float = 0.0,
    ) -> Bandit[L]: ...
    def get_or_create(
        self,
        name: str,
        policy: Policy,
        arms: Sequence[Any] | int,
        *,
        seed: Seed = None,
        floor: float | Mapping[Any, float] | None = None,
        room: int | None = None,
        rewards: Rewards | None = None,
        remember: Remember | None = None,
        wait: float = 0.0,
    ) -> Bandit[Any]:
        """Open a bandit, or create it if there is none of this name.

        Several processes may do this at once: one of them creates the bandit. It belongs to one
        process at a time, so the others get an error, or wait for it.

        Parameters
        ----------
        name
            The name of the bandit: one line of text.
        policy, arms
            As for `Bandit`. An existing bandit must have this policy and these arms; arms that it
            has had besides, and retired ones, are fine.
        seed, floor, room, rewards, remember
            As for `Bandit`, if the bandit is created; those of an existing one stay.
        wait
            The most seconds to wait while the bandit is open elsewhere, as in an old process that
            this one replaces.

        Returns
        -------
        Bandit
            The open bandit.

        Raises
        ------
        BanditInUseError
            If the bandit is open elsewhere.
        StoreError
            If the existing bandit has another policy, or lacks an arm.
        """
        line(name, "name")
        require_policy(policy)
        labels = check_labels(arms)
        until = time.monotonic() + number(wait, "wait")
        while True:
            exists = name in self.names()
            try:
                if exists:
                    return self._found(name, policy, labels)
                return self.create(
                    name,
                    policy,
                    arms,
                    seed=seed,
                    floor=floor,
                    room=room,
                    rewards=rewards,
                    remember=remember,
                )
            except BanditInUseError:
                if time.monotonic() >= until:
                    raise
                time.sleep(_PAUSE)
            except StoreError:
                if (name in self.names()) == exists:
                    raise
                # Another process has created the bandit meanwhile, or deleted it: try again.

    def _found(self, name: str, policy: Policy, labels: Sequence[Any]) -> Bandit[Any]:
        """Return an existing bandit, if it is the one that the user means."""
        was_open = self._is_open(name)
        bandit = self.bandit(name)
        missing = [label for label in labels if label not in bandit.arms]
        problem = None
        if describe(bandit.policy) != describe(policy):
            problem = f"has the policy {bandit.policy}, not {policy}; open it with bandit()"
        elif missing:
            problem = (
                f"has no arm {missing[0]!r}; open it with bandit(), then add_arm({missing[0]!r})"
            )
        if problem is None:
            return bandit
        if not was_open:
            self.release(name)
        raise StoreError(
            f"bandit {name!r} in {self._label} {problem}, or take another name for a new bandit"
        )
