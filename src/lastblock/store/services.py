"""The part of a store on which services build: documents, and word that events are written."""

from abc import ABC, abstractmethod
from collections.abc import Callable

from lastblock.store.documents import Documents
from lastblock.store.group_commit import Backlog, Groups
from lastblock.store.opening import Queue
from lastblock.store.storage import BanditHolder, Storage
from lastblock.support.errors import StoreError


class CarriesServices(ABC):
    """The part of a store on which services build."""

    _storage: Storage
    _groups: Queue | None

    @abstractmethod
    def _check_open(self) -> None: ...

    @property
    def label(self) -> str:
        """The name of the store in messages: its path, or its URL without a password."""
        return self._storage.label

    def when_written(self, function: Callable[[StoreError | None], object]) -> None:
        """Have all events so far written now, without waiting, and call a function afterwards.

        A server answers its clients then. Many calls may share one write.

        Parameters
        ----------
        function
            It gets None when all events so far are written, or a `StoreError` if they could not be;
            the store then tries again by itself. Another thread may call it, and waits for it.
        """
        self._check_open()
        if isinstance(self._groups, Groups):
            self._groups.when_written(function)
        else:
            function(None)  # each call has written its own events

    @property
    def backlog(self) -> Backlog:
        """The events that wait to be written, and why they do if writing has failed."""
        if isinstance(self._groups, Groups):
            return Backlog(len(self._groups), self._groups.problem)
        return Backlog(0, None)

    @property
    def problem(self) -> str | None:
        """Why the last events could not be written; None if they could, or wait."""
        return self._groups.problem if isinstance(self._groups, Groups) else None

    @property
    def holder(self) -> str:
        """The name of this store among those that share a server; empty for a file."""
        return self._storage.holder

    def holders(self) -> dict[str, BanditHolder]:
        """Return which store has each bandit, by the bandit's name.

        Returns
        -------
        dict
            The number of each bandit, and its holder, as `holder` has it: empty for a bandit that
            nobody has now. A file cannot tell, and returns nothing.
        """
        self._check_open()
        return self._storage.holders()

    def check_owned(self, number: int) -> None:
        """Raise a `StoreError` if another store may have a bandit that is open here.

        A file's bandits are this store's as long as they are open; on a server, leases end.

        Parameters
        ----------
        number
            The number of the bandit.
        """
        self._storage.check_owned(number)

    @property
    def documents(self) -> Documents:
        """Small JSON documents beside the bandits, for programs that build on the store."""
        return Documents(self._storage)
