"""Hide arms from a policy while it takes one decision, and bring them back afterwards.

Policies know nothing but `s.arms` arms in a row. So we make a second record in which the entries of
the hidden arms stand behind those of the others, beyond `s.arms`, exactly as if the arms had been
retired: they are in no queue, nobody leads, and the policy's method `resized` has been called. The
policy takes its decision there. What this has changed is then copied back into the first record,
entry by entry, so that the hidden arms keep everything they had. Arms of a round that are hidden
when their turn comes stay in the round, in their order, before the others.

Nothing here is compiled; the decision itself is taken by the kernel that always takes it.
"""

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from lastblock.core.layout import ARM, INDEX, LINE, NOBODY
from lastblock.core.protocol import Policy, States, replanned, resized

Bytes = npt.NDArray[np.uint8]
Places = npt.NDArray[np.int64]


class _Queue(NamedTuple):
    """Where a record, or one inside it, has its round: the offsets of its fields."""

    queue: int
    queued: int
    taken: int
    arms: int
    round: int


class _Arms(NamedTuple):
    """A field that holds numbers of arms."""

    offset: int
    size: int
    is_line: bool
    is_for_each_arm: bool


class RecordMap:
    """Where a layout has entries of arms, numbers of arms, and rounds.

    Parameters
    ----------
    policy
        The policy.
    dtype
        The layout.
    wider
        The layout with room for one more arm.
    """

    def __init__(self, policy: Policy, dtype: np.dtype[Any], wider: np.dtype[Any]) -> None:
        self._policy = policy
        self._room = int(dtype["queue"].shape[0])
        self._arms: list[_Arms] = []
        self._queues: list[_Queue] = []
        self._blocks: list[tuple[int, int, int]] = []  # offset, rows, bytes of a row
        self._special: list[tuple[int, int]] = []  # offset, bytes: what we do not copy back as is
        self._scan(dtype, wider, 0)
        parts = sorted([(offset, rows * size, size) for offset, rows, size in self._blocks])
        self._starts = np.array([offset for offset, _, _ in parts], np.int64)
        self._ends = self._starts + [size for _, size, _ in parts]
        self._widths = np.array([width for _, _, width in parts], np.int64)

    def _scan(self, dtype: np.dtype[Any], wider: np.dtype[Any], begin: int) -> None:
        fields: Any = dtype.fields
        if "queue" in fields:
            header = {name: begin + fields[name][1] for name in _Queue._fields}
            self._queues.append(_Queue(**header))
            self._special += [(header["queued"], 4), (header["taken"], 4), (header["arms"], 8)]
        for name in dtype.names or ():
            kind, offset = fields[name][0], begin + fields[name][1]
            if kind.names:
                self._scan(kind, wider[name], offset)
                continue
            if name == "queue":
                self._special.append((offset, kind.itemsize))
                continue
            is_for_each_arm = bool(kind.shape) and kind.shape != wider[name].shape
            is_line = _holds(kind, LINE)
            if is_line or _holds(kind, ARM):
                self._special.append((offset, kind.itemsize))
                self._arms.append(_Arms(offset, kind.itemsize // 4, is_line, is_for_each_arm))
            if is_for_each_arm and not is_line and kind.itemsize > 0:
                rows = int(kind.shape[0])
                self._blocks.append((offset, rows, kind.itemsize // rows))

    def hide(self, states: States, absent: Sequence[int]) -> States:
        """Return the record without these arms, whose entries it has beyond the others."""
        arms = int(states[0]["arms"])
        if getattr(self._policy, "resized", None) is None:
            return self._moved(states, arms, absent)
        for arm in sorted(absent, reverse=True):  # one by one, as `resized` expects it
            before, states = states, self._moved(states, arms, [arm])
            resized(self._policy, states[0], before[0], arm)
            arms -= 1
        return states

    def _order(self, arms: int, absent: Sequence[int]) -> Places:
        """Return which arm of the whole record each arm of the other one is."""
        kept = [k for k in range(arms) if k not in set(absent)]
        return np.array([*kept, *sorted(absent), *range(arms, self._room)], np.int64)

    def _moved(self, states: States, arms: int, absent: Sequence[int]) -> States:
        order = self._order(arms, absent)
        number = np.full(self._room + 1, NOBODY, INDEX)
        stay = arms - len(absent)
        number[order[:stay]] = np.arange(stay)
        place = np.argsort(order)
        new = states.copy()
        old_bytes, new_bytes = states.view(np.uint8), new.view(np.uint8)
        for offset, rows, size in self._blocks:
            end = offset + rows * size
            rows_of_old = old_bytes[offset:end].reshape(rows, size)
            new_bytes[offset:end].reshape(rows, size)[:] = rows_of_old[order]
        for field in self._arms:
            values = _numbers(new_bytes, field)
            if field.is_line:
                line = values[:arms].tolist()
                hidden = set(absent)
                values[:arms] = [int(place[k]) for k in line if k not in hidden] + [
                    int(place[k]) for k in line if k in hidden
                ]
            else:
                values[:] = number[np.minimum(values, self._room)]
        for level in self._queues:
            queue, queued, taken = _round(new_bytes, level, self._room)
            handed_out = [int(k) for k in number[queue[:taken]] if k != NOBODY]
            waiting = [int(k) for k in number[queue[taken:queued]] if k != NOBODY]
            _write_round(new_bytes, level, self._room, handed_out, waiting)
            _word(new_bytes, level.arms)[0] = stay
        return new

    def bring_back(
        self, old: States, before: States, after: States, absent: Sequence[int]
    ) -> States:
        """Return the whole record `old` with what a decision has changed in the other record.

        Parameters
        ----------
        old
            The record with all its arms.
        before, after
            The record that `hide` returned, before and after the decision.
        absent
            The arms that it hides.
        """
        arms = int(old[0]["arms"])
        stay = arms - len(absent)
        order = self._order(arms, absent)
        back = np.append(order[:stay], np.full(self._room - stay + 1, NOBODY)).astype(INDEX)
        new = old.copy()
        was, now, whole = before.view(np.uint8), after.view(np.uint8), new.view(np.uint8)
        differs = was != now
        for offset, size in self._special:
            differs[offset : offset + size] = False
        places = np.flatnonzero(differs)
        whole[self._sources(places, order)] = now[places]
        for field in self._arms:
            self._bring_arms_back(field, whole, was, now, back, order, stay, arms)
        for level in self._queues:
            self._bring_round_back(level, whole, was, now, back, set(absent))
        if new[0]["round"] != old[0]["round"]:
            replanned(self._policy, new[0], after[0], order[:stay])
        return new

    def _sources(self, places: Places, order: Places) -> Places:
        """Return where the whole record has the bytes that the other one has at these places."""
        block = np.searchsorted(self._starts, places, side="right") - 1
        inside = (block >= 0) & (places < self._ends[block])
        local, width = places - self._starts[block], self._widths[block]
        moved = self._starts[block] + order[np.where(inside, local // width, 0)] * width
        return np.where(inside, moved + local % width, places)

    def _bring_arms_back(
        self,
        field: _Arms,
        whole: Bytes,
        was: Bytes,
        now: Bytes,
        back: npt.NDArray[np.uint32],
        order: Places,
        stay: int,
        arms: int,
    ) -> None:
        old, before, after = (_numbers(record, field) for record in (whole, was, now))
        if field.is_line:
            if (before[:stay] != after[:stay]).any():
                hidden = set(order[stay:arms].tolist())
                last = [k for k in old[:arms].tolist() if k in hidden]
                old[:arms] = [*back[after[:stay]].tolist(), *last]
            return
        changed = np.flatnonzero(before != after)
        values = back[np.minimum(after[changed], self._room)]
        old[order[changed] if field.is_for_each_arm else changed] = values

    def _bring_round_back(
        self,
        level: _Queue,
        whole: Bytes,
        was: Bytes,
        now: Bytes,
        back: npt.NDArray[np.uint32],
        absent: set[int],
    ) -> None:
        """Write the round of the other record; arms that wait and are absent come first in it."""
        room = self._room
        queue, queued, taken = _round(whole, level, room)
        before, queued_before, taken_before = _round(was, level, room)
        after, queued_after, taken_after = _round(now, level, room)
        is_same = (
            _word(was, level.round)[0] == _word(now, level.round)[0]
            and queued_before == queued_after
            and taken_before <= taken_after
            and bool((before[:queued_before] == after[:queued_after]).all())
        )
        waiting = queue[taken:queued].tolist()
        if is_same:
            new = back[after[taken_before:taken_after]].tolist()
            handed_out = [*queue[:taken].tolist(), *new]
            waiting = [k for k in waiting if k not in new]
        else:
            handed_out = back[after[:taken_after]].tolist()
            has_begun_again = _word(now, level.round)[0] == 1
            postponed = [] if has_begun_again else [k for k in waiting if k in absent]
            waiting = [*postponed, *back[after[taken_after:queued_after]].tolist()]
        _write_round(whole, level, room, handed_out, waiting)


def take_out_of_turn(states: States, arm: int) -> tuple[States, bool]:
    """Return the record after `arm` was taken, and whether it had its turn in the round.

    An arm of the round is taken out of its turn; the others wait. Any other arm is an extra pull.
    """
    new = states.copy()
    s = new[0]
    taken, queued = int(s["taken"]), int(s["queued"])
    waiting = s["queue"][taken:queued].tolist()
    s["out"][arm] += 1
    if arm in waiting:
        waiting.remove(arm)
        s["queue"][taken:queued] = [arm, *waiting]
        s["taken"] = taken + 1
        return new, True
    return new, False


def _numbers(record: Bytes, field: _Arms) -> npt.NDArray[np.uint32]:
    values: npt.NDArray[np.uint32] = record[field.offset : field.offset + 4 * field.size].view(
        INDEX
    )
    return values


def _word(record: Bytes, offset: int) -> npt.NDArray[np.int64]:
    word: npt.NDArray[np.int64] = record[offset : offset + 8].view(np.int64)
    return word


def _round(record: Bytes, level: _Queue, room: int) -> tuple[npt.NDArray[np.uint32], int, int]:
    """Return the queue of a round, how many arms it has, and how many were handed out."""
    queue = record[level.queue : level.queue + 4 * room].view(INDEX)
    queued = record[level.queued : level.queued + 4].view(INDEX)
    taken = record[level.taken : level.taken + 4].view(INDEX)
    return queue, int(queued[0]), int(taken[0])


def _write_round(
    record: Bytes, level: _Queue, room: int, handed_out: list[int], waiting: list[int]
) -> None:
    arms = [*handed_out, *waiting]
    queue = record[level.queue : level.queue + 4 * room].view(INDEX)
    queue[:] = 0
    queue[: len(arms)] = arms
    record[level.queued : level.queued + 4].view(INDEX)[0] = len(arms)
    record[level.taken : level.taken + 4].view(INDEX)[0] = len(handed_out)


def _holds(kind: np.dtype[Any], marker: np.dtype[Any]) -> bool:
    return kind.base.metadata is not None and kind.base.metadata == marker.metadata
