"""The part of a live bandit that compiles it, copies it, and restores it from a saved state."""

import os
from typing import TYPE_CHECKING, Any, cast

from lastblock.live import persistence as snapshot
from lastblock.live.applying import AppliesEvents
from lastblock.live.description import restore_desk
from lastblock.live.journalled import JournalledDesk
from lastblock.live.labels import L
from lastblock.support import files
from lastblock.support.errors import StateFileError, short

if TYPE_CHECKING:
    from lastblock.live.bandit import Bandit


class Restorable(AppliesEvents[L]):
    """The part of a live bandit that compiles it, copies it, and restores it."""

    @property
    def is_compiled(self) -> bool:
        """Whether it runs compiled code by now; until then it decides in plain Python."""
        return self._desk.live.is_compiled

    def compile(self) -> None:
        """Wait until the code for this bandit is compiled, or loaded from the cache.

        Nothing else waits for that: it happens in the background, and `ask` and `tell` take about a
        millisecond meanwhile instead of a microsecond.

        Raises
        ------
        Exception
            What numba raises if your own policy cannot be compiled.
        """
        self._desk.live.compile()  # without the lock, so that other threads can go on

    def copy(self) -> "Bandit[L]":
        """Return an independent bandit in the same state.

        Returns
        -------
        Bandit
            It makes the same decisions after the same rewards, until one of the two is reseeded.
        """
        desk = self._desk
        with desk.lock:
            copied = JournalledDesk(desk.live.copy(), desk.labels, desk.floor_of_all)
            desk.copy_to(copied)
            if desk.clock is not None:
                copied.ledger = desk.ledger.outside()
            copied.enter(desk.generations)
            return self._on(copied)

    def __reduce__(self) -> tuple[Any, ...]:
        return self.__class__.from_bytes, (self.to_bytes(),)

    @classmethod
    def from_bytes(cls, data: bytes) -> "Bandit[Any]":
        """Return the bandit that `to_bytes` wrote; it continues bit for bit.

        Parameters
        ----------
        data
            What `to_bytes` returned.

        Raises
        ------
        StateFileError
            If `data` is damaged, or is not the state of a bandit that this version can read.
        """
        return cls._ready(restore_desk(*snapshot.unpack(_as_bytes(data))))

    @classmethod
    def from_json(cls, text: str) -> "Bandit[Any]":
        """Return the bandit that `to_json` wrote; errors are those of `from_bytes`.

        Parameters
        ----------
        text
            What `to_json` returned.
        """
        return cls._ready(restore_desk(*snapshot.from_text(text)))

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> "Bandit[Any]":
        """Return the bandit that `save` wrote to a file; errors are those of `from_bytes`.

        Parameters
        ----------
        path
            The file.

        Raises
        ------
        OSError
            If the file cannot be read.
        """
        return cls.from_bytes(files.read(path, "give the name of a file that save() wrote"))

    @classmethod
    def _ready(cls, desk: JournalledDesk[Any]) -> "Bandit[Any]":
        """Return a bandit that works on a new desk; have its kernels compiled."""
        desk.live.compile_soon()
        return cls._on(desk)

    @classmethod
    def _on(cls, desk: JournalledDesk[L]) -> "Bandit[L]":
        """Return a bandit that works on an existing desk."""
        bandit = cast("Bandit[L]", cls.__new__(cls))
        bandit._desk = desk
        return bandit


def _as_bytes(data: Any) -> bytes:
    """Return the bytes of any buffer; `bytes` alone would take a number for a length."""
    if isinstance(data, bytes):
        return data
    try:
        return bytes(memoryview(data))
    except TypeError:
        raise StateFileError(
            f"{short(data)} is not bytes; give what to_bytes() returned, or text to from_json()"
        ) from None
