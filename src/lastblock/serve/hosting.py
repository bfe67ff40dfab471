"""The bandits that this process has open, with what the service notes about each."""

import asyncio
import json
import time
from collections.abc import Sequence
from contextlib import suppress
from datetime import UTC, datetime
from typing import Any, Final

import msgspec

from lastblock.live.bandit import Bandit
from lastblock.live.labels import Label
from lastblock.live.view import desk_of
from lastblock.serve.commits import Commits
from lastblock.serve.messages import ChangedBandit, NewArm, NewBandit
from lastblock.serve.policies import read_policy
from lastblock.serve.problems import ProblemError, unavailable
from lastblock.store.store import Store
from lastblock.support.checks import line
from lastblock.support.errors import BanditInUseError, StoreError

COLLECTION: Final = "bandits"
_NOTHING = msgspec.Raw(b"null")


class Hosted:
    """A bandit with its notes: a description, whether it is paused, what its arms hand back.

    Parameters
    ----------
    name
        The name of the bandit.
    bandit
        The open bandit.
    notes
        Its document.
    version
        The version of that document; 0 if there is none.
    """

    def __init__(self, name: str, bandit: Bandit[Any], notes: dict[str, Any], version: int) -> None:
        self.name, self.bandit = name, bandit
        self.is_gone = False
        self.stamp = 0
        """Another number after each decision, reward or other event."""
        self.decisions: dict[Label, int] = {}
        self.rewards: dict[Label, int] = {}
        self.reward_sums: dict[Label, float] = {}
        self.take(notes, version)

    def take(self, notes: dict[str, Any], version: int) -> None:
        """Use these notes from now on."""
        self.notes, self.version = notes, version
        self.paused = bool(notes.get("paused"))
        self.payloads: dict[Label, msgspec.Raw] = {
            json.loads(label): msgspec.Raw(msgspec.json.encode(payload))
            for label, payload in notes.get("payloads", {}).items()
            if payload is not None
        }

    @property
    def etag(self) -> str:
        """A text that is another one after each change of the notes or the arms."""
        return f'"{self.born:x}-{self.version}"'

    @property
    def born(self) -> int:
        """When the bandit was created, in microseconds since 1970; 0 if it was made elsewhere."""
        return int(self.notes.get("born", 0))

    @property
    def waiting(self) -> int:
        """How many decisions wait for their reward."""
        return len(desk_of(self.bandit).out)

    def arm_of(self, id: int) -> Label:
        """Return the arm of a decision that is out, or raise an `UnknownDecisionError`."""
        desk = desk_of(self.bandit)
        with desk.lock:
            _, arm = desk.find(id)
            label: Label = desk.label(arm)
            return label

    def check_rewards(self, ids: Sequence[int], rewards: Sequence[float]) -> None:
        """Raise an error if `tell_many` would."""
        desk = desk_of(self.bandit)
        with desk.lock:
            desk.find_each(ids)
            for reward in rewards:
                desk.check_reward(reward)

    def payload(self, label: Label) -> msgspec.Raw:
        """Return what an arm hands back, as JSON."""
        return self.payloads.get(label, _NOTHING)

    def count_decision(self, arm: Label) -> None:
        """Count a decision, for the metrics."""
        self.stamp += 1
        self.decisions[arm] = self.decisions.get(arm, 0) + 1

    def count_reward(self, arm: Label, reward: float) -> None:
        """Count a reward, for the metrics."""
        self.stamp += 1
        self.rewards[arm] = self.rewards.get(arm, 0) + 1
        self.reward_sums[arm] = self.reward_sums.get(arm, 0.0) + reward

    def find_arm(self, text: str) -> Label:
        """Return the label that an address names, or raise a `ProblemError`."""
        arms = self.bandit.arms
        if text in arms:
            return text
        with suppress(ValueError):
            if int(text) in arms:
                return int(text)
        raise ProblemError("not-found", f"bandit {self.name!r} has no arm {text!r}")


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
        self._by_birth: dict[int, Hosted] = {}
        self.is_ready = False
        self.why_not = "starting"
        self._changing = asyncio.Lock()  # for all that is not a decision or a reward

    async def open(self) -> None:
        """Open all bandits and compile what they need."""
        names = await asyncio.to_thread(self.store.names)
        notes = await asyncio.to_thread(self.store.documents.all, COLLECTION)
        for place, name in enumerate(names):
            self.why_not = f"opening bandit {place + 1} of {len(names)}"
            with suppress(BanditInUseError):  # asked for, it will be tried again
                found = notes.get(name)
                bandit = await asyncio.to_thread(self._opened, name)
                value, version = (found.value, found.version) if found else ({}, 0)
                self.bandits[name] = Hosted(name, bandit, value, version)
        self.is_ready, self.why_not = True, ""

    def _opened(self, name: str) -> Bandit[Any]:
        bandit = self.store.bandit(name)
        bandit.compile()
        return bandit

    def here(self, name: str) -> Hosted:
        """Return a bandit that is open here, or raise a `ProblemError`; it never waits."""
        found = self.bandits.get(name)
        if found is None:
            raise ProblemError("not-found", f"there is no bandit {name!r}")
        return found

    async def get(self, name: str) -> Hosted:
        """Return a bandit, and open it if need be."""
        found = self.bandits.get(name)
        if found is not None:
            return found
        async with self._changing:
            found = self.bandits.get(name)
            if found is not None:
                return found
            return await asyncio.to_thread(self._find, name)

    def _find(self, name: str) -> Hosted:
        if name not in self.store.names():
            raise ProblemError("not-found", f"there is no bandit {name!r}")
        try:
            bandit = self._opened(name)
        except BanditInUseError as error:
            raise unavailable(str(error)) from None
        found = self.store.documents.all(COLLECTION).get(name)
        hosted = Hosted(name, bandit, *((found.value, found.version) if found else ({}, 0)))
        self.bandits[name] = hosted
        return hosted

    def born(self, moment: int) -> Hosted | None:
        """Return the bandit that was created then; None if it is not here."""
        found = self._by_birth.get(moment)
        if found is None or found.is_gone:
            self._by_birth = {each.born: each for each in self.bandits.values()}
            found = self._by_birth.get(moment)
        return found

    async def create(self, new: NewBandit) -> Hosted:
        """Create a bandit."""
        arms = [NewArm(label=arm) if isinstance(arm, str | int) else arm for arm in new.arms]
        labels = [arm.label for arm in arms]
        policy = read_policy(new.policy)
        line(new.name, "name")
        floors = {arm.label: arm.floor for arm in arms if arm.floor is not None}
        if floors and new.floor is not None:
            raise ProblemError("invalid", "give a floor for every arm or for single ones, not both")
        notes = {
            "born": time.time_ns() // 1000,
            "created": datetime.now(UTC).isoformat(timespec="seconds"),
            "description": new.description,
            "payloads": {json.dumps(arm.label): arm.payload for arm in arms},
        }

        def make() -> Hosted:
            if new.name in self.store.names():
                raise ProblemError("conflict", f"there is a bandit {new.name!r}; take another name")
            bandit = self.store.create(
                new.name,
                policy,
                labels,
                seed=new.seed,
                floor=floors or new.floor,
                room=new.room,
            )
            version = self.store.documents.put(COLLECTION, new.name, notes)
            return Hosted(new.name, bandit, notes, version or 0)

        async with self._changing:
            hosted = await asyncio.to_thread(make)
            self.bandits[new.name] = hosted
            return hosted

    async def change(self, hosted: Hosted, change: ChangedBandit, match: str | None) -> None:
        """Change the notes of a bandit, if it has the ETag `match`."""
        async with self._changing:
            self.check_match(hosted, match)
            given = {
                name: value
                for name in change.__struct_fields__
                if (value := getattr(change, name)) is not msgspec.UNSET
            }
            await self._note(hosted, {**hosted.notes, **given})

    async def _note(self, hosted: Hosted, notes: dict[str, Any]) -> None:
        """Write the notes of a bandit, unless somebody else has changed them."""
        written = await asyncio.to_thread(
            self.store.documents.put, COLLECTION, hosted.name, notes, expected=hosted.version
        )
        if written is None:
            raise unavailable(f"bandit {hosted.name!r} is being changed elsewhere; try again")
        hosted.take(notes, written)

    async def set_payload(
        self, hosted: Hosted, label: Label, payload: Any, match: str | None
    ) -> None:
        """Change what an arm hands back."""
        async with self._changing:
            self.check_match(hosted, match)
            payloads = {**hosted.notes.get("payloads", {}), json.dumps(label): payload}
            await self._note(hosted, {**hosted.notes, "payloads": payloads})

    async def add_arm(self, hosted: Hosted, arm: NewArm, match: str | None) -> None:
        """Add an arm."""
        async with self._changing:
            self.check_match(hosted, match)
            if arm.floor is not None:
                raise ProblemError(
                    "invalid", "an arm that is added later cannot have its own floor"
                )
            if arm.label in hosted.bandit.arms:
                raise ProblemError("conflict", f"arm {arm.label!r} exists, or has been retired")
            self.commits.check()
            payloads = {**hosted.notes.get("payloads", {}), json.dumps(arm.label): arm.payload}
            await self._note(hosted, {**hosted.notes, "payloads": payloads})
            hosted.bandit.add_arm(arm.label)
            hosted.stamp += 1
            await self.commits.written()

    async def retire_arm(self, hosted: Hosted, label: Label, match: str | None) -> None:
        """Retire an arm for good."""
        async with self._changing:
            self.check_match(hosted, match)
            self.commits.check()
            if hosted.bandit.arms[label] == "retired":
                return  # as it was asked for
            hosted.bandit.retire_arm(label)
            hosted.stamp += 1
            await self._note(hosted, hosted.notes)
            await self.commits.written()

    async def delete(self, hosted: Hosted, match: str | None) -> None:
        """Delete a bandit with all its events."""

        def remove() -> None:
            self.store.documents.drop(COLLECTION, hosted.name)
            self.store.delete(hosted.name)

        async with self._changing:
            self.check_match(hosted, match)
            self.bandits.pop(hosted.name, None)
            hosted.is_gone = True
            try:
                await asyncio.to_thread(remove)
            except StoreError:
                hosted.is_gone = False
                self.bandits[hosted.name] = hosted
                raise

    def check_match(self, hosted: Hosted, match: str | None) -> None:
        """Raise a `ProblemError` if a bandit has changed since the client read it."""
        if match is not None and match != "*" and hosted.etag not in _etags(match):
            raise ProblemError(
                "changed-meanwhile",
                f"bandit {hosted.name!r} has changed since you read it; read it again",
                {"ETag": hosted.etag},
            )

    async def close(self) -> None:
        """Write everything and let others have the bandits."""
        self.is_ready, self.why_not = False, "stopping"
        await asyncio.to_thread(self.store.close)


def _etags(header: str) -> Sequence[str]:
    return [part.strip() for part in header.split(",")]
