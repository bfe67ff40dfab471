"""All bandits of the store: those that this process has open, and those of others."""

import asyncio
import json
import logging
import time
from collections.abc import AsyncIterator, Callable, Collection, Mapping, Sequence
from contextlib import asynccontextmanager, suppress
from typing import Any, NamedTuple

import msgspec

from lastblock.live.bandit import Bandit
from lastblock.live.labels import Label
from lastblock.serve.commits import Commits
from lastblock.serve.forwarding import ElsewhereError, Peers
from lastblock.serve.groups import (
    Hosted,
    asked_before,
    check_control,
    check_match,
    check_new,
    check_plain,
    check_root,
    check_window,
    floors_of,
    floors_of_new,
    follow,
    hosted_of,
    make_member,
    notes_of_change,
    notes_of_new,
    read_floors,
    read_notes,
    set_floors,
    unit_of,
    with_floor,
)
from lastblock.serve.messages import ChangedArm, ChangedBandit, NewArm, NewBandit, NewDecision
from lastblock.serve.policies import read_policy
from lastblock.serve.problems import ProblemError, unavailable
from lastblock.store.documents import BANDITS, Found, members_of, parent_of
from lastblock.store.reading import About
from lastblock.store.storage import DamagedError
from lastblock.store.store import TOGETHER, Store
from lastblock.support.errors import BanditInUseError, StoreError
from lastblock.support.spelling import nearest

_log = logging.getLogger(__name__)

BEHIND = 100
"""The number of events that are repeated at a start as quickly as a snapshot is read."""


class Host:
    """All bandits of a store, as far as nobody else has them.

    Parameters
    ----------
    store
        The store; it belongs to the host, which closes it.
    commits
        What to wait for before a change is acknowledged.
    """

    def __init__(self, store: Store, commits: Commits) -> None:
        self.store, self.commits = store, commits
        self.bandits: dict[str, Hosted] = {}
        self.damaged: dict[str, str] = {}
        """Why bandits cannot be opened, by their names."""
        self._mend_at = 0.0
        self._by_number: dict[int, Hosted] = {}
        self.is_ready = False
        self.why_not = "starting"
        self.peers = Peers(store) if store.holder else None  # other servers on the same database
        self._changing = asyncio.Lock()  # for all that is not a decision or a reward

    async def open(self) -> None:
        """Open all bandits that are not damaged, and compile what they need."""
        names = await asyncio.to_thread(self.store.names)
        notes, damaged = await asyncio.to_thread(read_notes, self.store)
        self._note_damage({name: damaged[name] for name in names if name in damaged})
        parents = {name: parent_of(name, notes.get(name)) for name in names if name not in damaged}
        await self._open_each([name for name in parents if parents[name] is None], notes)
        # Whoever has the bandit to which others belong opens them.
        members = [name for name, parent in parents.items() if parent in self.bandits]
        await self._open_each(members, notes)
        for hosted in list(self.bandits.values()):
            await self._hold_out(hosted)  # a crash may have come before it was made
        self.is_ready, self.why_not = True, ""

    async def _open_each(self, names: Sequence[str], notes: Mapping[str, Found]) -> None:
        """Open bandits, but not those that others have: asked for, they will be tried again."""
        for place in range(0, len(names), TOGETHER):
            self.why_not = f"opening bandit {place + 1} of {len(names)}"
            opened = await asyncio.to_thread(self._opened, names[place : place + TOGETHER])
            for name, bandit in opened.items():
                self._take_in(name, bandit, notes.get(name))

    def _opened(self, names: Sequence[str]) -> dict[str, Bandit[Any]]:
        """Open bandits, and note which of them are damaged."""
        try:
            opened = self.store.bandits(names)
        except DamagedError as error:
            self._note_damage(error.reasons)
            opened = self.store.bandits([name for name in names if name not in error.reasons])
        for bandit in opened.values():
            bandit.compile()
        return opened

    def damage(self, reaches: Callable[[str], bool]) -> dict[str, str]:
        """Return why bandits are damaged, by name: those of which the caller may know."""
        return {
            name: reason
            for name, reason in self.damaged.copy().items()
            if reaches(name) or reaches(name.partition("@")[0])
        }

    def _note_damage(self, reasons: Mapping[str, str]) -> None:
        for name, reason in reasons.items():
            if self.damaged.get(name) != reason:
                _log.error("a bandit is damaged, and is not served: %s", reason)
            self.damaged[name] = reason

    def _take_in(self, name: str, bandit: Bandit[Any], found: Found | None) -> None:
        """Keep an open bandit, and join it to the one to which it belongs."""
        hosted = hosted_of(name, bandit, found)
        parent = self.bandits.get(parent_of(name, found) or "")
        self.bandits[name] = hosted
        self.damaged.pop(name, None)
        hosted.join(parent)
        if parent is not None:
            follow(parent, hosted)

    def lose(self, numbers: Collection[int]) -> None:
        """Note that another owner has taken some bandits: who asks for one opens it again."""
        for name, hosted in list(self.bandits.items()):
            if hosted.number in numbers:
                del self.bandits[name]
                hosted.leave()

    async def get(self, name: str, reaches: Callable[[str], bool] = bool) -> Hosted:
        """Return a bandit, and open it if need be; raise an `ElsewhereError` if others have it.

        An error suggests only names that the caller reaches; without `reaches`, all.
        """
        if found := self._known(name):
            return found
        async with self._changing:
            found = self._known(name)
            if found is None:
                found = await asyncio.to_thread(self._find, name, reaches)
                await self._hold_out(found.family)  # its owner may have died before it was made
            return found

    def _known(self, name: str) -> Hosted | None:
        found = self.bandits.get(name)
        if found is None and self.peers is not None:
            self.peers.check(name)
        if found is None:
            self._check(name)
        return found

    def _check(self, *names: str) -> None:
        """Raise a `DamagedError` if one of these bandits is damaged."""
        for name in names:
            if name in self.damaged:
                raise DamagedError({name: self.damaged[name]})

    async def adopt(self, name: str) -> None:
        """Open a bandit that no server has any more, but none of a damaged one."""
        if name.partition("@")[0] not in self.damaged:
            await self.get(name)

    def _find(
        self, name: str, reaches: Callable[[str], bool], *, even_damaged: bool = False
    ) -> Hosted:
        """Open a bandit with all that belong to it; `even_damaged` ones may have been mended."""
        if name not in (names := self.store.names()):
            near = nearest(name, [each for each in names if reaches(each.partition("@")[0])])
            hint = f"; did you mean {near!r}?" if near else ""
            raise ProblemError("not-found", f"there is no bandit {name!r}{hint}")
        notes, damaged = read_notes(self.store)
        top = parent_of(name, notes.get(name)) or name
        try:  # all that belong together, the parent first, so that one process has them
            for each in members_of(top, names, notes):
                if each in self.bandits or each not in names:
                    continue
                try:
                    if not even_damaged:
                        self._check(each)
                    if each in damaged:
                        raise DamagedError({each: damaged[each]})
                    self.store.bandit(each)  # or an error that says who has it
                    self._take_in(each, self._opened([each])[each], notes.get(each))
                except DamagedError as error:
                    self._note_damage(error.reasons)
                    if each in (top, name):
                        raise
        except BanditInUseError as error:
            if self.peers is not None:
                self.peers.find(name)
            raise unavailable(str(error)) from None
        return self.bandits[name]

    async def mend(self) -> None:
        """Open damaged bandits again that have been repaired; call this often.

        Attempts take a twentieth of the time at most, however long a log is.
        """
        if not self.damaged or time.monotonic() < self._mend_at:
            return
        began = time.monotonic()
        for name in sorted(self.damaged.copy()):  # a bandit comes before its segments
            async with self._changing:
                try:
                    found = await asyncio.to_thread(self._find, name, bool, even_damaged=True)
                    await self._hold_out(found.family)
                except DamagedError:
                    continue
                except (ProblemError, ElsewhereError):
                    pass  # it is gone, or others have it
                self.damaged.pop(name, None)
        ended = time.monotonic()
        self._mend_at = ended + 20.0 * (ended - began)

    async def _make(self, root: Hosted, name: str, notes: dict[str, Any]) -> None:
        """Make a bandit that belongs to another one."""
        made = await asyncio.to_thread(make_member, self.store, root, name, notes)
        self.bandits[name] = made
        made.join(root)

    async def segment(self, hosted: Hosted, segment: str) -> Hosted:
        """Return the bandit of a segment, made if it is new; the pooled one if there are many."""
        most = hosted.notes.get("segments")
        if most is None:
            raise ProblemError(
                "invalid",
                f"bandit {hosted.name!r} has no segments; allow some with "
                '{"segments": 100}, or leave the segment out',
            )
        name = f"{hosted.name}@{check_plain(segment, 'segment')}"
        found = self.bandits.get(name)
        if found is not None and hosted.segments.get(name) is found:
            return found
        if len(hosted.segments) >= most:
            return hosted
        async with self._changing:
            found = self.bandits.get(name)
            self._check(name)
            if found is None and len(hosted.segments) < most:
                notes = {"parent": hosted.name, "segment": segment}
                await self._make(hosted, name, notes)
            return hosted.segments.get(name, hosted)

    async def decider(self, hosted: Hosted, wanted: NewDecision, key: str | None) -> Hosted:
        """Return who decides: the bandit itself, that of a segment, or that of the holdout.

        A request that is sent again with its key goes to whoever has answered it before.
        """
        if wanted.segment is None and hosted.is_alone:
            return hosted
        is_held = hosted.has_holdout and hosted.holds_out(unit_of(hosted, wanted))
        before = asked_before(hosted, key)
        if before is not None:
            return before
        if is_held:
            return hosted.holdout or await self._holdout_of(hosted)
        return hosted if wanted.segment is None else await self.segment(hosted, wanted.segment)

    async def _hold_out(self, hosted: Hosted) -> None:
        """Make the bandit of a holdout, if there is to be one and there is none."""
        name = f"{hosted.name}@@holdout"
        if hosted.has_holdout and hosted.holdout is None and name not in self.damaged:
            try:
                await self._make(hosted, name, {"parent": hosted.name, "holdout": True})
            except ProblemError as error:  # one is there, without a document that says what it is
                self._note_damage({name: error.detail})

    async def _holdout_of(self, hosted: Hosted) -> Hosted:
        """Return the holdout of a bandit, which may be on its way, or raise an error."""
        async with self._changing:
            if hosted.holdout is None:
                self._check(f"{hosted.name}@@holdout")
                raise unavailable(f"the holdout of bandit {hosted.name!r} is not open")
            return hosted.holdout

    async def numbered(self, number: int) -> Hosted | None:
        """Return the bandit with this number in the store; None if there is none any more."""
        found = self._by_number.get(number)
        if found is not None and not found.is_gone:
            return found
        self._by_number = {each.number: each for each in self.bandits.values()}
        if number not in self._by_number:
            name = None if self.peers is None else self.peers.name_of(number)
            name = name or await asyncio.to_thread(self.store.name_of, number)
            return None if name is None else await self.get(name)
        return self._by_number[number]

    async def create(self, new: NewBandit) -> Hosted:
        """Create a bandit."""
        arms = [NewArm(label=arm) if isinstance(arm, str | int) else arm for arm in new.arms]
        labels = [arm.label for arm in arms]
        policy = read_policy(new.policy)
        check_plain(new.name, "name")
        floor = floors_of_new(new, arms)
        notes = notes_of_new(new, arms)
        check_window(notes, policy)

        def make() -> Hosted:
            if new.name in self.store.names():
                raise ProblemError("conflict", f"there is a bandit {new.name!r}; take another name")
            bandit = self.store.create(
                new.name,
                policy,
                labels,
                seed=new.seed,
                floor=floor,
                room=new.room,
                rewards=new.aggregation,
            )
            version = self.store.documents.put(BANDITS, new.name, notes)
            return Hosted(new.name, bandit, notes, version or 0)

        check_new(notes, labels)
        async with self._changing:
            hosted = await asyncio.to_thread(make)
            hosted.is_new = True
            self.bandits[new.name] = hosted
            await self._hold_out(hosted)
            return hosted

    @asynccontextmanager
    async def _changing_of(self, hosted: Hosted, match: str | None) -> AsyncIterator[None]:
        """Change a bandit that has the ETag `match`, and wait until that is written."""
        async with self._changing:
            check_match(hosted, match)
            check_root(hosted)
            since = self.commits.check()
            yield
            await self.commits.written(since)

    async def change(self, hosted: Hosted, change: ChangedBandit, match: str | None) -> None:
        """Change the notes of a bandit, if it has the ETag `match`."""
        async with self._changing_of(hosted, match):
            notes = {**hosted.notes, **notes_of_change(hosted, change)}
            rule = notes.pop("aggregation", hosted.bandit.rewards)
            floor = floors_of(hosted.bandit)
            if "floor" in notes:
                floor = read_floors(hosted, notes.pop("floor"))
            check_window(notes, hosted.bandit.policy)
            if notes != hosted.notes or rule == hosted.bandit.rewards:
                await self._note(hosted, notes)
            for each in hosted.members:
                each.bandit.configure(rewards=rule)
            set_floors(hosted, floor)

    async def _note(self, hosted: Hosted, notes: dict[str, Any]) -> None:
        """Write the notes of a bandit, unless somebody else has changed them."""
        written = await asyncio.to_thread(
            self.store.documents.put, BANDITS, hosted.name, notes, expected=hosted.version
        )
        if written is None:  # for another attempt, since the database may have gone back
            found, damaged = await asyncio.to_thread(read_notes, self.store)
            if hosted.name in damaged:
                raise DamagedError({hosted.name: damaged[hosted.name]})
            now = found.get(hosted.name, Found(0, {}))
            hosted.take(now.value, now.version)
            raise unavailable(f"bandit {hosted.name!r} was changed elsewhere; try again")
        hosted.take(notes, written)

    async def change_arm(
        self, hosted: Hosted, label: Label, change: ChangedArm, match: str | None
    ) -> None:
        """Change what an arm hands back, pause it, or resume it."""
        async with self._changing_of(hosted, match):
            state = hosted.bandit.arms[label]
            if change.paused is not msgspec.UNSET and state == "retired":
                raise ProblemError("conflict", f"arm {label!r} has been retired")
            if change.paused is True:
                check_control(hosted, label)
            floors = floors_of(hosted.bandit)
            if change.floor is not msgspec.UNSET:
                floors = with_floor(hosted, label, change.floor)
            notes = hosted.notes
            if change.payload is not msgspec.UNSET:
                payloads = {**notes.get("payloads", {}), json.dumps(label): change.payload}
                notes = {**notes, "payloads": payloads}
            if change.paused is False:  # somebody knows better than the guardrail
                free = {*notes.get("unguarded", ()), json.dumps(label)}
                notes = {**notes, "unguarded": sorted(free)}
            await self._note(hosted, notes)
            for each in hosted.members:
                state = each.bandit.arms[label]
                if change.paused is True and state == "active":
                    each.bandit.pause_arm(label)
                elif change.paused is False and state == "paused":
                    each.bandit.resume_arm(label)
                each.stamp += 1
            set_floors(hosted, floors)

    async def add_arm(self, hosted: Hosted, arm: NewArm, match: str | None) -> None:
        """Add an arm."""
        async with self._changing_of(hosted, match):
            if str(arm.label) in map(str, hosted.bandit.arms):
                raise ProblemError("conflict", f"arm {arm.label!r} exists, or has been retired")
            floors = None if arm.floor is None else with_floor(hosted, arm.label, arm.floor)
            payloads = {**hosted.notes.get("payloads", {}), json.dumps(arm.label): arm.payload}
            await self._note(hosted, {**hosted.notes, "payloads": payloads})
            for each in hosted.members:
                each.bandit.add_arm(arm.label)
                each.stamp += 1
            if floors is not None:
                set_floors(hosted, floors)

    async def retire_arm(self, hosted: Hosted, label: Label, match: str | None) -> None:
        """Retire an arm for good."""
        async with self._changing_of(hosted, match):
            if hosted.bandit.arms[label] == "retired":
                return  # as it was asked for
            check_control(hosted, label)
            for each in hosted.members:
                if each.bandit.arms.get(label, "retired") != "retired":
                    each.bandit.retire_arm(label)
                    each.stamp += 1
            await self._note(hosted, hosted.notes)

    async def delete(self, name: str, match: str | None) -> None:
        """Delete a bandit with all that belong to it and all their events, damaged or not."""

        def remove(name: str) -> None:
            self.store.delete(name)
            self.damaged.pop(name, None)
            with suppress(StoreError):  # a document without a bandit does no harm
                self.store.documents.drop(BANDITS, name)

        async with self._changing:
            hosted = self.bandits.get(name)
            if hosted is not None:
                check_match(hosted, match)
                if hosted.is_holdout:
                    check_root(hosted)
            elif "*" not in (match or "*"):
                raise ProblemError("changed-meanwhile", f"bandit {name!r} is damaged, without ETag")
            names = await asyncio.to_thread(self.store.names)
            notes, _ = await asyncio.to_thread(read_notes, self.store)
            for each in reversed(members_of(name, names, notes)):
                gone = self.bandits.pop(each, None)
                if gone is not None:
                    gone.leave()
                try:
                    if each in names:
                        await asyncio.to_thread(remove, each)
                except StoreError:
                    if gone is not None:
                        gone.is_gone = False
                        gone.join(gone.parent)
                        self.bandits[each] = gone
                    raise
            if "@" in name and (parent := self.bandits.get(name.partition("@")[0])) is not None:
                await self._hold_out(parent)  # of which a damaged one may have been deleted

    async def close(self) -> None:
        """Write everything, and snapshots for a quick start, and let others have the bandits."""
        self.is_ready, self.why_not = False, "stopping"
        with suppress(StoreError):  # closing says what is wrong
            await asyncio.to_thread(self.store.snapshot_all, behind=BEHIND)
        await asyncio.to_thread(self.store.close)


class Listed(NamedTuple):
    """A bandit of the store."""

    name: str
    hosted: Hosted | None
    """The open bandit; None if this process does not have it."""
    notes: dict[str, Any]
    """Its document."""
    damage: str | None
    """Why it cannot be opened; None if it can."""


def list_bandits(
    host: Host, reaches: Callable[[str], bool], *, with_members: bool = False
) -> list[Listed]:
    """Return the bandits of the store, by name; call it in a thread, since it reads the store.

    Parameters
    ----------
    host
        The bandits that this process has open.
    reaches
        Says of a name whether the caller may know of the bandit.
    with_members
        Whether segments, holdouts and the like are among them; damaged ones always are.
    """
    open_now = dict(host.bandits)
    try:
        found, _ = read_notes(host.store)
        names = {*host.store.names(), *open_now}
    except StoreError:  # the database is away: those that are open are known
        found, names = {}, {*open_now, *host.damaged.copy()}
    listed = []
    for name in sorted(names):
        hosted = open_now.get(name)
        parent = parent_of(name, found.get(name)) if hosted is None else _parent(hosted)
        damage = host.damaged.get(name)
        if (parent is None or with_members or damage) and reaches(parent or name):
            notes = hosted.notes if hosted else found[name].value if name in found else None
            listed.append(Listed(name, hosted, notes if isinstance(notes, dict) else {}, damage))
    return listed


def about_others(host: Host, shown: Sequence[Listed]) -> dict[str, About]:
    """Return what the store knows of the bandits that this process does not have open."""
    others = [each.name for each in shown if each.hosted is None]
    try:
        return host.store.about(others) if others else {}
    except StoreError:
        return {}


def _parent(hosted: Hosted) -> str | None:
    return None if hosted.parent is None else hosted.parent.name
