"""What a live bandit shows to its users."""

import os
from abc import ABC, abstractmethod
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, Generic

from lastblock.core.protocol import Policy
from lastblock.live import persistence as snapshot
from lastblock.live.changes import Change, changes_of
from lastblock.live.decisions import Pending
from lastblock.live.description import describe_desk
from lastblock.live.explanation import Explanation
from lastblock.live.journalled import JournalledDesk
from lastblock.live.labels import ACTIVE, PAUSED, RETIRED, ArmState, L
from lastblock.support import files
from lastblock.support.intervals import check_confidence

if TYPE_CHECKING:
    from lastblock.live.summary import Summary
    from lastblock.live.verdict import BestArmVerdict


class BanditView(ABC, Generic[L]):
    """The part of a live bandit that changes nothing."""

    _desk: JournalledDesk[L]

    @property
    def policy(self) -> Policy:
        """The policy that decides."""
        return self._desk.live.policy

    @property
    def arms(self) -> Mapping[L, ArmState]:
        """The state of every arm, "active", "paused" or "retired", by label."""
        desk = self._desk
        with desk.lock:
            states: dict[L, ArmState] = dict.fromkeys(desk.labels, ACTIVE)
            states.update(dict.fromkeys(desk.paused, PAUSED))
            states.update(dict.fromkeys(desk.retired, RETIRED))
            return states

    @property
    def pulls(self) -> Mapping[L, int]:
        """How many rewards each arm has had, including retired arms."""
        with self._desk.lock:
            return self._desk.pulls()

    @property
    def floor(self) -> Mapping[L, float]:
        """The least share of decisions for each active arm that has one."""
        desk = self._desk
        with desk.lock:
            shares = zip(desk.active, desk.live.notes.floor.tolist(), strict=False)
            return {label: share for label, share in shares if share > 0.0}

    @property
    def asked(self) -> int:
        """How many decisions have been asked for.

        This is also the id of the next decision, unless crashes have lost ids of a store's bandit.
        """
        return self._desk.asked

    @property
    def pending(self) -> tuple[Pending[L], ...]:
        """The decisions that wait for their reward, oldest first."""
        with self._desk.lock:
            return self._desk.pending()

    @property
    def changes(self) -> tuple[Change[L], ...]:
        """The last changes of the world that the policy has noticed: at most eight, oldest first.

        Only policies that restart notice changes, such as `AdaptiveLBSDA` and `Restarting`.
        """
        with self._desk.lock:
            return changes_of(self._desk.live.s, self._desk.active)

    @property
    def state_size(self) -> int:
        """The size of the policy's state in bytes."""
        return int(self._desk.live.states.dtype.itemsize)

    def explain(self) -> Explanation[L]:
        """Explain the last round: who led, which arms were compared, and why they were pulled.

        Returns
        -------
        Explanation
            The reasons as data; `print` it to read them in words.
        """
        with self._desk.lock:
            return self._desk.explain()

    def summary(
        self, *, confidence: float = 0.95, bounds: tuple[float, float] | None = None
    ) -> "Summary[L]":
        """Summarise the bandit: which arm is best, how sure that is, and the means of all arms.

        Parameters
        ----------
        confidence
            The confidence of the intervals, and of the statement which arms may be best.
        bounds
            The smallest and the largest possible reward. With them the intervals of rewards that
            are not just 0 and 1 are exact instead of approximate.

        Returns
        -------
        Summary
            The figures as data; `print` it to read them as a table.

        Raises
        ------
        ValueError
            If `confidence` does not lie between 0 and 1, or a reward lies outside of `bounds`.
        """
        from lastblock.live.best_arm import check_bounds  # noqa: PLC0415  # slow to import
        from lastblock.live.summary import summarise  # noqa: PLC0415  # slow to import

        confidence, limits = check_confidence(confidence), check_bounds(bounds)
        with self._desk.lock:
            found = self._desk.gather(confidence)
        return summarise(found, limits)  # it takes milliseconds, so others may go on

    def verdict(
        self, confidence: float = 0.95, *, bounds: tuple[float, float] | None = None
    ) -> "BestArmVerdict[L]":
        """Say whether the best arm is known at a confidence, so that you can stop.

        It holds under every policy, however often you ask: if you stop as soon as `stop` is true,
        `best` is not the best arm with a probability of at most 1 − `confidence`. It assumes that
        no arm's mean changes.

        Parameters
        ----------
        confidence
            How sure you want to be.
        bounds
            The smallest and the largest possible reward. Without them, the verdict is exact for
            rewards of 0 and 1 and for policies that take rewards between two numbers, and
            approximate for others.

        Returns
        -------
        BestArmVerdict
            The verdict as data; `print` it to read it as a sentence.

        Raises
        ------
        ValueError
            If `confidence` does not lie between 0 and 1, if a reward lies outside of `bounds`, or
            if a fleet took the rewards and does not keep enough of them.
        """
        from lastblock.live.best_arm import check_bounds  # noqa: PLC0415  # slow to import
        from lastblock.live.verdict import verdict_of  # noqa: PLC0415  # slow to import

        confidence, limits = check_confidence(confidence), check_bounds(bounds)
        with self._desk.lock:
            found = self._desk.gather(confidence)
        return verdict_of(found, limits)

    def locked(self) -> Any:
        """Return the lock that every call takes.

        Within ``with bandit.locked():`` no other thread changes the bandit between your calls.

        Returns
        -------
        context manager
            A re-entrant lock.
        """
        return self._desk.lock

    def to_bytes(self) -> bytes:
        """Return the whole bandit as bytes, with a version and a checksum.

        Returns
        -------
        bytes
            `Bandit.from_bytes` makes a bandit of them that continues bit for bit.
        """
        with self._desk.lock:
            desk = self._desk
            return snapshot.pack(describe_desk(desk), desk.live.to_bytes())

    def to_json(self) -> str:
        """Return the whole bandit as JSON text.

        Returns
        -------
        str
            The description of the bandit, and its record in base64; `Bandit.from_json` reads it.
        """
        with self._desk.lock:
            desk = self._desk
            return snapshot.to_text(describe_desk(desk), desk.live.to_bytes())

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the bandit to a file; `Bandit.load` reads it.

        Parameters
        ----------
        path
            The file. An existing file is replaced only after the new one is written completely.
        """
        files.write(Path(path), self.to_bytes())

    def __repr__(self) -> str:
        return f"<Bandit {self.policy}: {self.pulls}, {len(self._desk.out)} out>"

    @abstractmethod
    def copy(self) -> "BanditView[L]":
        """Return an independent, ordinary bandit in the same state."""

    def __copy__(self) -> "BanditView[L]":
        return self.copy()

    def __deepcopy__(self, memo: object) -> "BanditView[L]":
        return self.copy()


def desk_of(bandit: BanditView[L]) -> JournalledDesk[L]:
    """Return the desk of a bandit, to which a store attaches its journal."""
    return bandit._desk
