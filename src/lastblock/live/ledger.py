"""What a bandit knows of its decisions besides arm and probability: times, rewards so far, keys."""

from collections.abc import Iterable
from datetime import datetime
from typing import Any, Literal, TypeAlias, get_args

import numpy as np
import numpy.typing as npt

from lastblock.core.reward_stats import Told, note_reward
from lastblock.engine.events import ASK, Event
from lastblock.kernels.exact_sums import LARGEST_REWARD
from lastblock.kernels.jit import plain
from lastblock.live.decisions import utc
from lastblock.live.memory import DAY, ENDINGS, MOST, Ended, Item, Memory, check_key, check_payload
from lastblock.support.checks import at_least, number, whole
from lastblock.support.errors import short

Rewards: TypeAlias = Literal["first", "sum", "max", "last"]
RULES = get_args(Rewards)


Rows = npt.NDArray[np.float64]
NOTHING = Told(0, 0.0, 0.0)

LARGEST_GUARDED = 1e100
"""The values of a guardrail are smaller: their squares must be finite."""


def check_rule(rewards: Any) -> Rewards | None:
    """Return how a bandit collects rewards, or raise a ValueError."""
    if rewards is None:
        return None
    for rule in RULES:
        if isinstance(rewards, str) and rewards == rule:
            found: Rewards = rule
            return found
    words = ", ".join(map(repr, RULES))
    raise ValueError(f"rewards={short(rewards)} must be one of {words}, or None for one reward")


def combined(rule: Rewards, before: float | None, reward: float) -> float:
    """Return what the rewards of a decision come to after one more.

    Parameters
    ----------
    rule
        "first": the first one counts; "sum", "max" or "last" of all.
    before
        What they came to before; None before the first reward.
    reward
        One more.
    """
    if before is None or rule == "last":
        return reward
    if rule == "sum":
        return before + reward
    return max(before, reward) if rule == "max" else before


class Ledger:
    """Times and rewards of the decisions that are out, and what to remember of others.

    Parameters
    ----------
    rule
        How several rewards of a decision become one; None if it gets one reward.
    """

    def __init__(self, rule: Rewards | None = None) -> None:
        self.rule = rule
        self.memory = Memory()
        self.asked_at: dict[int, int] = {}
        """When each decision that is out was asked for; empty outside a store. In order."""
        self.activated: dict[int, int] = {}
        """When the clocks of some decisions that are out were started again."""
        self.parts: dict[int, float] = {}
        """What several rewards come to so far, of decisions that are out."""
        self.deferred: dict[int, Ended] = {}
        """How decisions ended that stay out: the policy learns their rewards when they expire."""
        self.guarded: dict[int, Told] = {}
        """The values of a guardrail, by the numbers of the arms."""

    def begun_at(self, decision: int) -> datetime | None:
        """Return the time from which the age of a decision counts; None outside a store."""
        begun = self.activated.get(decision, self.asked_at.get(decision))
        return None if begun is None else utc(begun)

    def ended(self, decision: int) -> Ended | None:
        """Return how a decision ended; None if it has not, or if that is not remembered."""
        return self.deferred.get(decision) or self.memory.ended(decision)

    def by_age(self, decisions: Iterable[int]) -> list[int]:
        """Return decisions that are out, sorted by the times from which their ages count."""
        asked, activated = self.asked_at, self.activated
        return sorted(decisions, key=lambda id: (activated.get(id, asked.get(id, 0)), id))

    def drop(self, decision: int) -> None:
        """Note that a decision is no longer out."""
        self.asked_at.pop(decision, None)
        if self.parts or self.deferred or self.activated:
            for dictionary in (self.parts, self.deferred, self.activated):
                dictionary.pop(decision, None)

    def keep_only(self, out: dict[int, int]) -> None:
        """Drop what there is of decisions that are not out."""
        for dictionary in (self.asked_at, self.parts, self.deferred, self.activated):
            for decision in dictionary.keys() - out.keys():
                del dictionary[decision]

    def take(self, note: Event, event: int, time: int, out: dict[int, int] | None = None) -> None:
        """Apply an event.

        Parameters
        ----------
        note
            The event.
        event, time
            Its number and its time; 0 outside a store.
        out
            The decisions that are out, if the event may be of one that has ended since.
        """
        kind, decision, arm, value = note
        if kind == "remember":
            self.memory.add(Item(event, time, value))
        elif kind == "configure":
            self.rule = value["rewards"]
            window, decisions = value["remember"]
            self.memory.limit(window, decisions, time)
        elif kind == "guard" and arm is not None:
            table = np.array([self.guarded.get(arm, NOTHING)])
            plain(note_reward)(table, 0, value[0])
            self.guarded[arm] = Told(int(table[0, 0]), *table[0, 1:].tolist())
        elif decision is None:
            return  # no bandit writes such an event
        elif kind == "activate":
            if out is None or decision in out:
                self.activated[decision] = time
        elif kind == "close":
            if out is None or decision in out:
                self.parts.pop(decision, None)
                self.deferred[decision] = Ended(*value)
        else:
            reward, key = value
            if (out is None or decision in out) and self.rule is not None:
                self.parts[decision] = combined(self.rule, self.parts.get(decision), reward)
            if key is not None:
                self.memory.add(Item(event, time, ["part", [reward, key], [decision]]))

    # Repeating past events, for a store.

    def replayed(self, run: Rows, times: Rows | None, first: int, out: dict[int, int]) -> None:
        """Note that asks, tells and forgets were repeated.

        Parameters
        ----------
        run
            The events, as `replay_events` takes them.
        times
            Their times; None if they are not known.
        first
            The number of the first decision that was asked for.
        out
            The decisions that are out now; the last ones are those asked for last.
        """
        if self.asked_at or self.parts or self.deferred or self.activated:
            for decision in run[(run[:, 0] != ASK) & (run[:, 1] < first), 1].tolist():
                self.drop(int(decision))
        if times is not None:
            asked = times[run[:, 0] == ASK]
            new = []
            for decision in reversed(out):
                if decision < first:
                    break
                new.append((decision, int(asked[decision - first])))
            self.asked_at.update(reversed(new))

    def settle(self, late: Rows, times: Rows, next_id: int) -> None:
        """Make the times agree with a log in which `next_id` decisions were asked for.

        They differ from the log by the rows of at most one call, `late`.
        """
        phantom = next_id
        while phantom in self.asked_at:
            del self.asked_at[phantom]
            phantom += 1
        for row, time in zip(late.tolist(), times.tolist(), strict=True):
            if row[0] == ASK:
                self.asked_at[int(row[1])] = int(time)
            else:
                self.drop(int(row[1]))

    def copy(self) -> "Ledger":
        """Return an independent ledger with the same contents."""
        other = Ledger(self.rule)
        other.memory = self.memory.copy()
        other.asked_at = dict(self.asked_at)
        other.activated = dict(self.activated)
        other.parts, other.guarded = dict(self.parts), dict(self.guarded)
        other.deferred = dict(self.deferred)
        return other

    def outside(self) -> "Ledger":
        """Return a ledger for a copy of the bandit outside its store: without times and memory."""
        other = Ledger(self.rule)
        other.memory = Memory(self.memory.window, self.memory.decisions)
        other.parts, other.deferred = dict(self.parts), dict(self.deferred)
        return other

    # As plain data.

    def describe(self, *, for_store: bool, in_store: bool) -> dict[str, Any]:
        """Return the ledger as plain data, without what is as in every new bandit.

        Parameters
        ----------
        for_store
            Whether it is for a snapshot in a store, which keeps times and memory itself.
        in_store
            Whether it is of a bandit in a store. What only such a bandit has, times and memory, is
            left out of a state that other bandits are to begin with.
        """
        about: dict[str, Any] = {}
        if self.rule is not None:
            about["rewards"] = self.rule
        if self.memory.limits != [DAY, MOST]:
            about["remember"] = self.memory.limits
        if self.parts:
            about["parts"] = [list(pair) for pair in sorted(self.parts.items())]
        if self.deferred:
            about["deferred"] = [[id, *ended] for id, ended in sorted(self.deferred.items())]
        if self.guarded:
            about["guarded"] = [[arm, *told] for arm, told in sorted(self.guarded.items())]
        if for_store:
            if self.activated:
                about["activated"] = [list(pair) for pair in sorted(self.activated.items())]
        elif self.memory and not in_store:
            about["memory"] = self.memory.describe()
        return about

    def facts(self) -> list[Any]:
        """Return everything in the ledger, to compare with another one."""
        return [
            self.describe(for_store=True, in_store=True),
            sorted(self.asked_at.items()),
            self.memory.describe(),
        ]


def check_note(note: Event, next_id: int, arms: int) -> None:
    """Raise a ValueError, or one of the errors `UNREADABLE`, if no bandit wrote an event.

    Parameters
    ----------
    note
        The event.
    next_id, arms
        The number of the next decision; the number of arms, including retired ones.
    """
    kind, decision, arm, value = note
    if kind == "remember":
        check_payload(value, next_id, arms)
    elif kind == "configure":
        check_rule(value["rewards"])
        for limit in value["remember"]:
            at_least(0, limit, "remember")
    elif kind == "guard":
        _check_arm(arm, arms)
        check_guarded(*value)
    else:
        _known(decision, next_id)
        if kind == "close":
            _check_ended(*value)
        elif kind == "partial":
            reward, key = value
            _check_reward(reward)
            if key is not None:
                check_key(key)


def restore_ledger(about: Any, next_id: int, arms: int) -> Ledger:
    """Return the ledger of a description, or raise a ValueError.

    Parameters
    ----------
    about
        What `Ledger.describe` returned.
    next_id
        The number of the next decision.
    arms
        The number of arms, including retired ones.
    """
    if not isinstance(about, dict):
        raise ValueError(f"the ledger is {short(about)}, not a description")
    ledger = Ledger(check_rule(about.get("rewards")))
    window, decisions = about.get("remember", [DAY, MOST])
    ledger.memory = Memory(whole(window, "remember"), whole(decisions, "remember"))
    for id, value in about.get("parts", []):
        if _known(id, next_id) in ledger.parts:
            raise ValueError(f"the rewards of decision {id} do not add up")
        ledger.parts[id] = _check_reward(value)
    for id, outcome, value in about.get("deferred", []):
        ledger.deferred[_known(id, next_id)] = _check_ended(outcome, value)
    ledger.activated = {
        _known(id, next_id): whole(time, "activated") for id, time in about.get("activated", [])
    }
    for arm, pulls, *numbers in about.get("guarded", []):
        mean, spread, low, high = (number(each, "guarded") for each in numbers)
        _check_arm(arm, arms)
        ledger.guarded[arm] = Told(at_least(1, pulls, "guarded"), mean, spread, low, high)
    recall(ledger, about.get("memory", []), next_id, arms)
    return ledger


def _check_reward(reward: Any) -> float:
    value = number(reward, "reward")
    if not abs(value) < LARGEST_REWARD:
        raise ValueError(f"reward={short(reward)} is too large")
    return value


def _check_ended(outcome: Any, reward: Any) -> Ended:
    if outcome not in ENDINGS[:2]:
        raise ValueError(f"{short(outcome)} is no way to get a reward")
    return Ended(outcome, _check_reward(reward))


def check_guarded(value: Any) -> float:
    """Return a value of a guardrail, or raise a ValueError."""
    found = number(value, "guardrail")
    if not abs(found) < LARGEST_GUARDED:
        raise ValueError(f"guardrail={short(value)} must lie between ±{LARGEST_GUARDED:g}")
    return found


def _check_arm(arm: Any, arms: int) -> None:
    if not 0 <= whole(arm, "arm") < arms:
        raise ValueError(f"arm {short(arm)} does not exist")


def recall(ledger: Ledger, items: Iterable[Any], next_id: int, arms: int) -> None:
    """Add items to a memory, each an event, a time and what to remember; drop none."""
    for event, time, payload in items:
        found = check_payload(payload, next_id, arms)
        if type(event) is not int or type(time) is not int:
            raise ValueError(f"event {short(event)} at {short(time)} must be whole numbers")
        ledger.memory.recall(Item(event, time, found))


def _known(id: Any, next_id: int) -> int:
    if not 0 <= whole(id, "decision") < next_id:
        raise ValueError(f"decision {short(id)} was never asked for")
    return int(id)
