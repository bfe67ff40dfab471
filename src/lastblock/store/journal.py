"""The journal of a store's bandit: it numbers the events and has them written."""

import json
import logging
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from lastblock.engine.events import KINDS, OBSERVE, TELL, Event
from lastblock.kernels.background import SoonCompiled
from lastblock.live import persistence as snapshot
from lastblock.live.bandit import Bandit, desk_of
from lastblock.live.clock import Clock
from lastblock.live.description import describe_desk
from lastblock.live.desk import Desk
from lastblock.live.event_replay import FEW, repeat_soon
from lastblock.live.tokens import BanditTokens
from lastblock.store.group_commit import Write
from lastblock.store.platforms import this_platform
from lastblock.store.recovery import Known, Recovered
from lastblock.store.storage import Row, Snapshot, TakenOverError
from lastblock.support.errors import StoreError

_log = logging.getLogger(__name__)

_encode = json.JSONEncoder(ensure_ascii=False).encode  # `json.dumps` would make one each time
_CODES = {kind: code for code, kind in enumerate(KINDS)} | {OBSERVE: TELL}
_ASKS = ("ask", "ask_among")

BLOCK = 65_536
"""How many ids a bandit reserves at a time if decisions are given before they are written. A crash
can lose decisions then, and none of the ids that are reserved is given again."""


class EventLog:
    """Numbers the events of one bandit, writes them, and now and then writes a snapshot.

    Parameters
    ----------
    number
        The number of the bandit in the storage.
    made
        The bandit, and the last event that it includes.
    snapshot_every
        The number of events after which to write a snapshot.
    write
        Writes rows and snapshots, all of them or none.
    recover
        Returns the bandit as the storage has it.
    check_owned
        Raises a `StoreError` if the bandit may not take decisions now; None if it always may.
    tokens
        Makes the tokens of the bandit's decisions.
    reserve
        Notes up to which id the bandit may give decisions; None if each is written before.
    reserved
        Up to which id it may give them now.
    """

    def __init__(
        self,
        number: int,
        made: Recovered,
        snapshot_every: int,
        write: Write,
        recover: Callable[[Known], Recovered],
        check_owned: Callable[[int], None] | None,
        tokens: BanditTokens,
        reserve: Callable[[Mapping[int, int]], None] | None,
        reserved: int,
    ) -> None:
        self.bandit, self.number = made.bandit, number
        self.event, self.saved = made.event, made.saved  # the last event, and that of the snapshot
        self._since = made.since  # the next decision's id in the last snapshot
        self._chosen: list[int] | None = None  # later decisions among some arms; None if unknown
        self._sure = made.event  # up to this event the bandit certainly agrees with the log
        self._snapshot_every = snapshot_every
        self._write, self._recover, self._check_owned = write, recover, check_owned
        self._reserve, self._reserved = reserve, reserved
        self._reason: str | None = None
        self._repeated: SoonCompiled | None = None  # the loop that repeats events
        self._clock = Clock(made.time, made.event)
        desk = desk_of(self.bandit)
        desk.live.compile_soon()
        desk.clock, desk.tokens = self._clock, tokens
        desk.attach(self, self.reload)
        if made.reserved > self.next_id:
            with desk.lock:
                desk.skip_to(made.reserved)

    @property
    def next_id(self) -> int:
        """The id of the bandit's next decision."""
        return desk_of(self.bandit).next_id

    def __call__(self, events: Sequence[Event]) -> None:
        if self._reason is not None:
            raise StoreError(self._reason)
        if not events:  # a repeated request, which is answered by who owns the bandit
            self.confirm()
            return
        now = self._clock.last  # the desk has read the clock, since asks have noted their time
        if self._chosen is not None and (len(events) > 1 or events[0][0] == "ask_among"):
            self._chosen += [
                id for kind, id, _, _ in events if kind == "ask_among" and id is not None
            ]
        self._sure = before = self.event
        after = before + len(events)
        number = self.number
        rows: list[Row] = [
            (number, place, now, _CODES[kind], decision, arm, _kept(value))
            for place, (kind, decision, arm, value) in enumerate(events, before + 1)
        ]
        try:
            if self._check_owned is not None:
                self._check_owned(number)
            if self._reserve is not None and self.next_id > self._reserved:
                end = self.next_id + BLOCK
                self._reserve({number: end})
                self._reserved = end
            if after - self.saved < self._snapshot_every:
                self._write(rows, ())
            else:
                # The bandit has made asks already, and makes any other change afterwards.
                asks = sum(event[0] in _ASKS for event in events)
                self._save(rows, before + asks)
        except TakenOverError as error:
            self.end(str(error))
            raise
        self.event = self._clock.event = after
        if self._repeated is None and after - self.saved > FEW:
            # If a call fails now, many events are repeated, which would take long in plain Python.
            self._repeated = repeat_soon(desk_of(self.bandit).live)

    def confirm(self) -> None:
        """Raise a `StoreError` if the bandit may not take decisions now."""
        try:
            if self._check_owned is not None:
                self._check_owned(self.number)
        except TakenOverError as error:
            self.end(str(error))
            raise

    def save(self) -> None:
        """Write a snapshot of the bandit."""
        with self.bandit.locked():
            self.bandit.tell_many((), ())  # after an interrupt, this settles the bandit
            self._save((), self.event)

    def _save(self, rows: Sequence[Row], event: int) -> None:
        """Write rows, and a snapshot of the bandit, whose state is that after `event`."""
        snapshot = snapshot_of(self.bandit, self.number, event, self._since, self._chosen)
        self._write(rows, [snapshot])
        self.saved, self._since, self._chosen = event, snapshot.next_id, []

    def reload(self) -> Desk[Any]:
        """Return the desk as the storage has it, including events that wait to be written."""
        if self._reason is not None:
            raise StoreError(self._reason)
        try:
            made = self._recover(Known(self.bandit, self._sure))
        except TakenOverError as error:
            self.end(str(error))
            raise
        self.event, self.saved = made.event, made.saved
        self._clock.event, self._chosen = made.event, None
        _log.warning(
            "bandit number %d is as its log has it, after an error or an interrupt", self.number
        )
        return desk_of(made.bandit)

    @property
    def is_ended(self) -> bool:
        """Whether the bandit refuses all changes."""
        return self._reason is not None

    def end(self, reason: str) -> None:
        """Make the bandit refuse all changes from now on; `reason` is the message of its errors."""
        self._reason = reason  # this alone ends it, even if an interrupt stops the rest

        def refuse(_: Sequence[Event]) -> None:
            raise StoreError(reason)

        desk_of(self.bandit).attach(refuse, None)


def snapshot_of(
    bandit: Bandit[Any],
    number: int,
    event: int,
    since: int = 0,
    chosen: Sequence[int] | None = None,
) -> Snapshot:
    """Return a snapshot of a bandit, with the decisions that are out and not stored by other means.

    Parameters
    ----------
    bandit, number, event
        The bandit, its number in the storage, and the last event that it includes.
    since
        Earlier decisions are in the storage already; all of them may be many.
    chosen
        Those decisions from `since` on that were made among some arms; None if any may be. The
        storage finds the others in the events.
    """
    desk = desk_of(bandit)
    with desk.lock:
        remembers = desk.ledger.memory.since
        kept = event + 1 if remembers is None else remembers
        about = {
            **describe_desk(desk, with_out=False),
            "event": event,
            "platform": this_platform(),
            "time": 0 if desk.clock is None else desk.clock.last,
            "remembers": kept,
        }
        body = snapshot.pack(about, desk.live.to_bytes())
        policy, layout = json.dumps(about["policy"]), about["layout"]
        out = desk.out_among(range(since, desk.next_id) if chosen is None else chosen)
        return Snapshot(number, event, desk.next_id, policy, layout, body, since, out, kept)


def _kept(value: Any) -> Any:
    """Return the value of an event as the storage keeps it: a float, None, or JSON."""
    if type(value) is float or value is None:
        return value
    return _encode(value)
