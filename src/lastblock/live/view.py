"""What every live bandit shows, be it on its own or one of a fleet."""

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Generic

from lastblock.core.protocol import Policy
from lastblock.live import persistence as snapshot
from lastblock.live.changes import Change, changes_of
from lastblock.live.decisions import Pending
from lastblock.live.description import describe_desk
from lastblock.live.explanation import Explanation
from lastblock.live.journalled import JournalledDesk
from lastblock.live.labels import ACTIVE, RETIRED, ArmState, L
from lastblock.live.summary import Summary
from lastblock.support import files


class BanditView(Generic[L]):
    """The part of a live bandit that changes nothing."""

    _desk: JournalledDesk[L]

    @property
    def policy(self) -> Policy:
        """The policy that decides."""
        return self._desk.live.policy

    @property
    def arms(self) -> Mapping[L, ArmState]:
        """Every arm there ever was, and whether it is "active" or "retired"."""
        desk = self._desk
        with desk.lock:
            return {label: RETIRED if label in desk.retired else ACTIVE for label in desk.labels}

    @property
    def pulls(self) -> Mapping[L, int]:
        """How many rewards each arm has had."""
        with self._desk.lock:
            self._desk.refresh()
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

        The next one has this id, except in a store, where ids also say how often the bandit was
        opened.
        """
        return self._desk.next_id

    @property
    def pending(self) -> tuple[Pending[L], ...]:
        """Decisions without a reward yet, oldest first."""
        with self._desk.lock:
            return self._desk.pending()

    @property
    def changes(self) -> tuple[Change[L], ...]:
        """The last changes of the world that the policy has noticed, eight at most, oldest first.

        For policies that restart, such as `AdaptiveLBSDA` and `Restarting`; others notice none.
        """
        with self._desk.lock:
            return changes_of(self._desk.live.s, self._desk.active)

    @property
    def state_size(self) -> int:
        """The size of the state in bytes."""
        return int(self._desk.live.states.dtype.itemsize)

    def explain(self) -> Explanation[L]:
        """Return why the last round was what it was: in words (`print` it) and in data."""
        with self._desk.lock:
            self._desk.refresh()
            return self._desk.explain()

    def summary(self) -> Summary[L]:
        """Return where the bandit stands: pulls, means, the leader; in words and in data."""
        with self._desk.lock:
            self._desk.refresh()
            return self._desk.summary()

    def locked(self) -> Any:
        """Return the lock that every call takes: within ``with bandit.locked():`` nobody gets
        between your calls."""
        return self._desk.lock

    def _whole(self) -> JournalledDesk[L]:
        """Return the desk of an ordinary bandit in this state."""
        return self._desk

    def to_bytes(self) -> bytes:
        """Return the whole bandit, versioned and checksummed.

        `Bandit.from_bytes` goes on with it bit for bit.
        """
        with self._desk.lock:
            desk = self._whole()
            return snapshot.pack(describe_desk(desk), desk.live.to_bytes())

    def to_json(self) -> str:
        """Return the same as text, for `Bandit.from_json`; the record within it is base64."""
        with self._desk.lock:
            desk = self._whole()
            return snapshot.to_text(describe_desk(desk), desk.live.to_bytes())

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the bandit to a file, all or nothing; `Bandit.load` goes on with it."""
        files.write(Path(path), self.to_bytes())

    def __repr__(self) -> str:
        return f"<Bandit {self.policy}: {self.pulls}, {len(self._desk.out)} out>"
