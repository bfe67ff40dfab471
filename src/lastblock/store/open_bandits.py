"""The part of a store that opens bandits: one, or many at once."""

import threading
from abc import abstractmethod
from collections.abc import Iterable, Mapping
from functools import partial
from typing import Any

from lastblock.live.bandit import Bandit
from lastblock.live.tokens import BanditTokens
from lastblock.live.view import desk_of
from lastblock.store.group_commit import Write
from lastblock.store.journal import EventLog
from lastblock.store.messages import number_of, open_elsewhere
from lastblock.store.opening import Queue
from lastblock.store.recovery import Known, Recovered, read_generations, recover
from lastblock.store.storage import Beginning, Storage
from lastblock.store.telling import TakesTokens

TOGETHER = 200
"""How many bandits are read and begun together when many are opened."""


class OpensBandits(TakesTokens):
    """The part of a store that opens bandits."""

    _storage: Storage
    _groups: Queue | None
    _write: Write
    _lock: "threading.RLock"
    _journals: dict[str, EventLog]
    _snapshot_every: int

    @abstractmethod
    def _check_open(self) -> None: ...

    def bandit(self, name: str) -> Bandit[Any]:
        """Open a bandit in the state in which it was left.

        Parameters
        ----------
        name
            The name of the bandit.

        Returns
        -------
        Bandit
            The same object at each call, until the bandit is released.

        Raises
        ------
        StoreError
            If there is no bandit of this name, or it is open elsewhere, or its data are damaged.
        """
        with self._lock:
            self._check_open()
            if self._is_usable(name):
                return self._journals[name].bandit
            return self._open(name, self._find(name, self._storage.names()))

    def bandits(self, names: Iterable[str]) -> dict[str, Bandit[Any]]:
        """Open several bandits at once, which takes less time than one after the other.

        Parameters
        ----------
        names
            The names of the bandits.

        Returns
        -------
        dict
            The bandits by name, without those that are open elsewhere.

        Raises
        ------
        StoreError
            If one of them does not exist, or its data are damaged.
        """
        with self._lock:
            self._check_open()
            known, given = self._storage.names(), list(dict.fromkeys(names))
            closed = {name: self._find(name, known) for name in given if not self._is_usable(name)}
            for part in range(0, len(closed), TOGETHER):
                self._open_each(dict(list(closed.items())[part : part + TOGETHER]))
            opened = self._journals
            return {name: opened[name].bandit for name in given if name in opened}

    def _is_usable(self, name: str) -> bool:
        journal = self._journals.get(name)
        if journal is not None and journal.is_ended:
            self.release(name)  # an earlier release was interrupted
        return name in self._journals

    def _own(self, name: str, found: int) -> None:
        owners = self._storage.own([found])
        if owners:
            raise open_elsewhere(self._storage.label, name, owners[found])

    def _open(self, name: str, found: int, new: Bandit[Any] | None = None) -> Bandit[Any]:
        try:
            self._own(name, found)
            if new is not None:
                self._attach(name, found, Recovered(new, 0, 0, 0))
                return new
            self._enter({name: self._recover(name, found)}, {name: found})
        except BaseException:
            self._storage.disown(found)
            raise
        return self._journals[name].bandit

    def _open_each(self, numbers: Mapping[str, int]) -> None:
        try:
            elsewhere = self._storage.own(list(numbers.values()))
            free = {name: found for name, found in numbers.items() if found not in elsewhere}
            waiting = [] if self._groups is None else self._groups.waiting()
            with self._storage.view() as view:
                view.read_ahead(list(free.values()))
                made = {name: recover(view, name, free[name], waiting) for name in free}
            self._enter(made, free)
        except BaseException:
            for name, found in numbers.items():
                if name not in self._journals:
                    self._storage.disown(found)
            raise

    def _enter(self, made: Mapping[str, Recovered], numbers: Mapping[str, int]) -> None:
        """Begin a new generation of each of these bandits, and open them."""
        beginnings = []
        for name, each in made.items():
            desk = desk_of(each.bandit)
            oldest = min(desk.out, default=desk.next_id)
            oldest = min(oldest, desk.ledger.memory.oldest(oldest))
            beginnings.append(Beginning(numbers[name], desk.next_id, oldest))
        begun = self._storage.begin(beginnings) if beginnings else []
        for (name, each), pairs in zip(made.items(), begun, strict=True):
            desk = desk_of(each.bandit)
            desk.enter(read_generations(self._storage.label, name, pairs, desk.next_id))
            self._attach(name, numbers[name], each)

    def _attach(self, name: str, found: int, made: Recovered) -> None:
        self._journals[name] = EventLog(
            found,
            made,
            self._snapshot_every,
            self._write,
            partial(self._recover, name, found),  # so the store lives as long as its bandits
            self._storage.check_owned if self._storage.is_remote else None,
            BanditTokens(self._tokens, found, name),
        )

    def _recover(self, name: str, found: int, known: Known | None = None) -> Recovered:
        waiting = [] if self._groups is None else self._groups.waiting()  # first, to miss none
        with self._storage.view(even_lost=known is not None) as view:
            return recover(view, name, found, waiting, known=known)

    def _find(self, name: str, names: Mapping[str, int]) -> int:
        return number_of(self._storage.label, name, names)
