"""A bandit at a glance: a few figures that take a millisecond to read, whatever it has learnt."""

import json
import math
import threading
import time
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, NamedTuple
from urllib.parse import urlsplit

import numpy as np
import numpy.typing as npt

from lastblock.core.restarts import begins_again
from lastblock.core.reward_stats import Told
from lastblock.live.bandit import desk_of
from lastblock.live.changes import Change, last_change
from lastblock.live.labels import Label
from lastblock.live.mean_rewards import MeanAndInterval, are_coins
from lastblock.serve.groups import Hosted
from lastblock.serve.guardrails import compare
from lastblock.serve.messages import Uplift
from lastblock.serve.uplift import earned_in, mean_reward, rewards_of_arms, uplift
from lastblock.store.reading import About
from lastblock.store.store import Store
from lastblock.support.errors import StoreError

MOST_LOGGED = 100_000
"""So many events of a log are read for the traffic of the last hour."""

MANY = 20
"""So many decisions without any reward are worth a word."""


class Glance(NamedTuple):
    """What the list of bandits shows of one."""

    name: str
    description: str
    policy: str
    paused: bool
    decisions: int
    waiting: int | None
    """How many rewards are waited for; None if another process knows."""
    reward: MeanAndInterval
    """The mean reward of all arms together: what the traffic earns."""
    is_share: bool
    """Whether all rewards are 0 or 1."""
    has_rewards: bool
    """Whether any has come, even if the policy learns it at the end of the window."""
    leader: Label | None
    leader_place: int
    """The place of the leader among all arms, which decides its colour."""
    change: Change[Any] | None


def glance(hosted: Hosted) -> Glance:
    """Read the figures of a bandit; counts and rewards are those of its segments, too."""
    segments = list(hosted.segments.values())
    reward = mean_reward(hosted)
    counted = [each.bandit.asked for each in (*segments, hosted.holdout) if each is not None]
    waiting_there = sum(each.waiting for each in hosted.members[1:])
    desk = desk_of(hosted.bandit)
    with desk.lock:
        live = desk.live
        own = rewards_of_arms(hosted)  # the active arms first
        place = None if begins_again(live.s) else live.notes.leader
        change = last_change(live.s, desk.active)
        leader = None if place is None else desk.active[place]
        if place is None:
            leader = _best(dict(zip(desk.active, own, strict=False)))
        labels = desk.labels
        decisions, waiting, policy = desk.asked, hosted.waiting, str(live.policy)
        at = -1 if leader is None else labels.index(leader)
    return Glance(
        hosted.name,
        hosted.notes.get("description", ""),
        policy,
        hosted.paused,
        decisions + sum(counted),
        waiting + waiting_there,
        reward,
        are_coins(earned_in(hosted)),
        bool(
            reward.rewards or any(desk_of(each.bandit).ledger.deferred for each in hosted.members)
        ),
        leader,
        at,
        change,
    )


def glance_from_outside(name: str, notes: dict[str, Any], about: About | None) -> Glance:
    """Return the few figures of a bandit that another process has open."""
    return Glance(
        name,
        notes.get("description", ""),
        "?" if about is None else about.policy,
        bool(notes.get("paused")),
        0 if about is None else about.decisions,
        None,
        MeanAndInterval(0, None, -math.inf, math.inf),
        False,
        False,
        None,
        -1,
        None,
    )


def _best(told: dict[Label, Told]) -> Label | None:
    """Return the arm with the largest mean; it stands for the leader of a policy without one."""
    means = {arm: each.mean for arm, each in told.items() if each.pulls}
    return max(means, key=means.__getitem__) if means else None


class Traffic:
    """How many decisions each bandit has taken in each of the last minutes.

    Parameters
    ----------
    store
        The store with the bandits' logs, which know what came before this process.
    minutes
        How many minutes to remember: a ring of this size for each bandit.
    """

    def __init__(self, store: Store, minutes: int = 60) -> None:
        self._store, self.minutes = store, minutes
        self._lock = threading.Lock()
        self._rings: dict[tuple[str, int], _Ring] = {}

    def note(self, bandits: Iterable[Hosted]) -> None:
        """Count what has come; call it every minute, with all bandits."""
        with self._lock:
            here = {(hosted.name, hosted.number): hosted for hosted in bandits}
            for hosted in here.values():
                self._counted(hosted)
            for key in self._rings.keys() - here.keys():
                del self._rings[key]

    def of(self, hosted: Hosted) -> list[int]:
        """Return the decisions of each of the last minutes, the present one at the end.

        It may read the log, once for each bandit.
        """
        total = np.zeros(self.minutes, np.int64)
        for each in hosted.members:
            with self._lock:
                ring = self._counted(each)
            if not ring.has_past:
                ring.has_past = True
                past = self._logged(each.name, ring.minute)
                with self._lock:
                    np.maximum(ring.counts, past, out=ring.counts)
            total += np.roll(ring.counts, -(ring.minute + 1) % self.minutes)
        return [int(each) for each in total]

    def _counted(self, hosted: Hosted) -> "_Ring":
        """Return the counts of a bandit up to this moment."""
        asked, minute = hosted.bandit.asked, int(time.time() // 60.0)
        ring = self._rings.get((hosted.name, hosted.number))
        if ring is None:
            counts = np.zeros(self.minutes, np.int64)
            ring = _Ring(counts, minute, 0 if hosted.is_new else asked, hosted.is_new)
            self._rings[hosted.name, hosted.number] = ring
        for passed in range(max(ring.minute + 1, minute - self.minutes + 1), minute + 1):
            ring.counts[passed % self.minutes] = 0
        ring.minute = max(ring.minute, minute)
        ring.counts[ring.minute % self.minutes] += asked - ring.asked
        ring.asked = asked
        return ring

    def _logged(self, name: str, minute: int) -> npt.NDArray[np.int64]:
        """Return the decisions of the last minutes that are in the log."""
        counts = np.zeros(self.minutes, np.int64)
        try:
            found = self._store.tally(name, length=lambda _: 60_000_000, most=MOST_LOGGED)
        except StoreError:  # it was deleted a moment ago, or the database is away
            return counts
        for each in found.tallies:
            if minute - self.minutes < each.stretch <= minute:
                counts[each.stretch % self.minutes] += each.asked
        return counts


@dataclass
class _Ring:
    """The traffic of one bandit."""

    counts: npt.NDArray[np.int64]
    minute: int
    """The last minute, since 1970."""
    asked: int
    """The decisions that are counted."""
    has_past: bool
    """Whether the counts have what the log knows of the time before this process."""


class Health(NamedTuple):
    """How a bandit is, in a word."""

    word: str
    kind: str
    """How the word looks: "good", "bad" or "soft"."""


ELSEWHERE = Health("open elsewhere", "soft")
"""Another process has the bandit open, and answers for it."""

DAMAGED = Health("damaged", "bad")
"""The bandit cannot be opened."""


def health(seen: Glance, *, is_silent: bool, problem: str | None) -> Health:
    """Return how a bandit is; `problem` says why events cannot be written, if so."""
    if problem is not None:
        return Health("not written", "bad")
    if seen.paused:
        return Health("paused", "soft")
    if not seen.decisions:
        return Health("no traffic yet", "soft")
    if is_silent:
        return Health("rewards have stopped", "bad")
    if (seen.waiting or 0) >= MANY and not seen.has_rewards:
        return Health("no rewards yet", "soft")
    return Health("healthy", "good")


MOST_SEGMENTS = 50
"""How many segments the page of a bandit lists: those with most decisions."""


class GuardRow(NamedTuple):
    """An arm by the guardrail's values."""

    arm: Label
    values: int
    mean: float | None
    sure: float
    is_control: bool
    is_free: bool
    """Whether somebody has resumed it, so that it is guarded no longer."""


class Safety(NamedTuple):
    """All of it; None or empty for what a bandit does not have."""

    parent: str | None
    """The bandit to which this one belongs."""
    role: str
    """What it is to that one, in words."""
    uplift: Uplift | None
    control: Label | None
    share: float | None
    guardrail: dict[str, Any] | None
    guarded: list[GuardRow]
    segments: list[Glance]
    more_segments: int


def safety(hosted: Hosted) -> Safety:
    """Return what is known of a bandit's safety; it takes milliseconds."""
    notes = hosted.family.notes
    holdout, guardrail = notes.get("holdout"), notes.get("guardrail")
    is_root = hosted.parent is None
    segments = sorted(hosted.segments.values(), key=lambda each: -each.bandit.asked)
    return Safety(
        None if hosted.parent is None else hosted.parent.name,
        _role(hosted),
        uplift_of(hosted),
        holdout["control"] if isinstance(holdout, dict) and is_root else None,
        holdout["share"] if isinstance(holdout, dict) and is_root else None,
        guardrail if is_root or hosted.segment is not None else None,
        _guarded(hosted),
        [glance(each) for each in segments[:MOST_SEGMENTS]],
        max(0, len(segments) - MOST_SEGMENTS),
    )


def uplift_of(hosted: Hosted) -> Uplift | None:
    """Return what the policy has earned beyond the holdout; None if there is none."""
    return None if hosted.holdout is None else uplift(hosted)


def _role(hosted: Hosted) -> str:
    if hosted.parent is None:
        return ""
    if hosted.segment is not None:
        return f"the segment {hosted.segment}"
    return "the holdout"


def _guarded(hosted: Hosted) -> list[GuardRow]:
    found = compare(hosted)
    if found is None:
        return []
    free = hosted.family.notes.get("unguarded", ())
    return [
        GuardRow(
            each.arm,
            each.values,
            each.mean,
            each.sure,
            each.arm == found.control,
            json.dumps(each.arm) in free,
        )
        for each in found.arms
    ]


def webhook(url: str) -> str:
    """Return where alerts go, without what may be a secret in the address; empty for nowhere."""
    if not url:
        return ""
    parts = urlsplit(url)
    host = parts.netloc.rpartition("@")[2]
    return f"{parts.scheme}://{host}" + ("/…" if parts.path.strip("/") or parts.query else "")
