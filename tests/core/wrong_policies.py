"""Policies, a detector and an arm family with a mistake each, for the tests of what is checked.

`Wrong` has all the mistakes that show at run time, chosen by its parameter, so that it is compiled
once. As a script, this file prints what each of them is told, for a process with the JIT off.
"""

import json
import math
from typing import Any, NamedTuple
from unittest import mock

import numpy as np

import lastblock as lb
from lastblock.kit import (
    Layout,
    Record,
    argmax,
    detector,
    enqueue,
    enqueue_all,
    family,
    kernel,
    policy,
    to_unit,
    unseen,
)

ARMS = 3
HORIZON = 40

MISTAKES = {  # the mistake: the method, and what the message must say
    "start queues nothing": ("start", "no arm is queued"),
    "start writes past a field": ("start", "index is out of bounds"),
    "start queues every arm twice": ("start", "more arms are queued than there is room for"),
    "plan queues nothing": ("plan", "no arm is queued"),
    "plan queues arm 7": ("plan", "arm 7 is queued, but there are 3 arms, 0 to 2"),
    "plan queues arm -1": ("plan", "arm -1 is queued, but there are 3 arms, 0 to 2"),
    "plan queues an arm twice": ("plan", "arm 1 is queued twice"),
    "plan reads far outside": ("plan", "index is out of bounds"),
    "plan compares nan": ("plan", "the index of arm 2 is not a number"),
    "plan writes into the queue": ("plan", "arm 9 is queued, but there are 3 arms, 0 to 2"),
    "plan sets the length of the queue": ("plan", "more arms are queued than there is room for"),
    "plan asks a kernel about arm 999999": ("plan", "index is out of bounds"),
    "observe writes past a field": ("observe", "index is out of bounds"),
    "observe writes before a field": ("observe", "index is out of bounds"),
    "observe raises": ("observe", "ValueError: the reward is odd"),
    "full reads outside": ("full", "index is out of bounds"),
}
NUMBERS = {mistake: number for number, mistake in enumerate(MISTAKES, start=1)}

LATE = 5
"""The round from which on `plan` and `observe` are wrong."""


@kernel
def helper(s: Record, place: int) -> float:
    """Read a field for `plan`, one call further down."""
    return float(s.sums[place])


@policy(optimistic=True)
class Wrong(NamedTuple):
    """A policy with one mistake, by its number; 0 for none."""

    mistake: int = 0

    def layout(self, arms: int, horizon: int | None) -> Layout:
        return [("sums", np.float64, (arms,)), ("index", np.float64, (arms,)), ("seen", np.int64)]

    def start(self, s: Record) -> None:
        s.seen = 0
        for k in range(s.arms):
            s.sums[k] = 0.0
            s.index[k] = 0.0
        if self.mistake != 1:
            enqueue_all(s)
        if self.mistake == 2:
            s.sums[s.sums.shape[0]] = 1.0
        if self.mistake == 3:
            enqueue_all(s)

    def plan(self, s: Record) -> None:
        mistake = self.mistake if s.round >= LATE else 0
        if mistake == 5:
            enqueue(s, 7)
        elif mistake == 6:
            enqueue(s, -1)
        elif mistake == 7:
            enqueue(s, 1)
            enqueue(s, 1)
        elif mistake == 8:
            s.seen = int(helper(s, s.arms + 10_000_000))
        elif mistake == 9:
            s.index[2] = math.nan
            enqueue(s, argmax(s, s.index))
        elif mistake == 10:
            s.queue[0] = 9
            s.queued = 1
        elif mistake == 11:
            s.queued = 50
        elif mistake == 12:
            s.index[0] = unseen(s, 999_999)
        elif mistake != 4:
            enqueue(s, argmax(s, s.index))

    def observe(self, s: Record, arm: int, reward: float) -> None:
        mistake = self.mistake if s.round >= LATE else 0
        if mistake == 13:
            s.sums[arm + 99_999_999] = reward
        elif mistake == 14:
            s.sums[int(arm) - 99] = reward
        elif mistake == 15:
            raise ValueError("the reward is odd")
        s.sums[arm] += reward
        s.seen += 1

    def full(self, s: Record, arm: int) -> bool:
        return bool(self.mistake == 16 and s.round >= LATE and s.sums[arm + 99_999] > 0.0)


@detector()
class WrongDetector(NamedTuple):
    """A detector whose `notice` (1) or `reset` (2) writes past a field; 0 for neither."""

    mistake: int = 0

    def layout(self, arms: int) -> Layout:
        return [
            ("size", np.int64),
            ("old", np.float64),
            ("new", np.float64),
            ("count", np.int64, (arms,)),
        ]

    def reset(self, d: Record) -> None:
        for k in range(d.count.shape[0]):
            d.count[k] = 0
        if self.mistake == 2:
            d.count[d.count.shape[0] + 1] = 0

    def notice(self, d: Record, arm: int, reward: float, age: int) -> bool:
        d.count[arm] += 1
        if self.mistake == 1 and age >= LATE:
            d.count[arm + 99_999] += 1
        return False


@family()
class WrongArm(NamedTuple):
    """Uniform rewards; `draw` reads outside its table (1) or returns nan (2), 1.5 (3)."""

    mistake: int = 0

    @property
    def mean(self) -> float:
        return 0.5

    def parameters(self) -> tuple[float, ...]:
        return (float(self.mistake),)

    def support(self) -> tuple[float, float]:
        return 0.0, 1.0

    @staticmethod
    def draw(
        a: float, b: float, c: float, d: float, table: Any, at: int, word: Any, scratch: Any
    ) -> float:
        if a == 1.0:
            return float(table[at + 99_999_999])
        if a == 2.0:
            return math.nan
        if a == 3.0:
            return 1.5
        return to_unit(word)


ENVIRONMENT = lb.Stationary([lb.Bernoulli(0.5)] * ARMS)


def told(run: Any, *arguments: Any, **keywords: Any) -> str | None:
    """Return the message of the PolicyError that a call raises; None if it raises nothing."""
    try:
        run(*arguments, **keywords)
    except lb.PolicyError as error:
        return str(error)
    return None


def simulated(policy: Any, environment: Any = ENVIRONMENT) -> str | None:
    """Return what a simulation says of a policy or an environment."""
    return told(lb.simulate, policy, environment, horizon=HORIZON, seed=1)


def live(policy: Any, *, compiled: bool = True) -> tuple[str | None, bool]:
    """Return what a live bandit says of a policy, and whether its state is as it was then."""
    made: list[Any] = []
    message = told(lambda: made.append(lb.Bandit(policy, ARMS, seed=1, compiled=compiled)))
    if message is not None:
        return message, True
    bandit = made[0]
    for _ in range(HORIZON):
        before = bandit.to_bytes()
        decision: list[Any] = []
        message = told(lambda got=decision: got.append(bandit.ask()))
        if message is not None:
            return message, bandit.to_bytes() == before
        before = bandit.to_bytes()
        message = told(bandit.tell, decision[0], 1.0)
        if message is not None:
            return message, bandit.to_bytes() == before
    return None, True


def replayed(policy: Any) -> str | None:
    """Return what a replay of a log says of a policy."""
    rng = np.random.default_rng(1)
    log = {"arm": rng.integers(0, ARMS, 300), "reward": rng.random(300)}
    return told(lb.Replay(log, arm="arm", reward="reward").evaluate, policy, seed=1)


def in_fleet(policy: Any) -> str | None:
    """Return what a fleet says of a policy."""

    def play() -> None:
        fleet = lb.Fleet(policy, arms=ARMS, size=10, seed=1)
        ids = np.array([3, 7])
        for _ in range(HORIZON):
            fleet.tell(ids, fleet.ask(ids), np.ones(2))

    return told(play)


def all_messages() -> dict[str, list[Any]]:
    """Return what a simulation, a live bandit and a fleet say of each mistake, and if undone."""
    found: dict[str, list[Any]] = {}
    for mistake, number in NUMBERS.items():
        message, undone = live(Wrong(number))
        found[mistake] = [simulated(Wrong(number)), message, in_fleet(Wrong(number)), undone]
    for number in (0, 1, 2):
        watched = lb.Restarting(lb.UCB1(), WrongDetector(number))
        found[f"detector {number}"] = [simulated(watched)]
    for number in (0, 1, 2, 3):
        arms = lb.Stationary([lb.Bernoulli(0.5), WrongArm(number)])
        found[f"arm {number}"] = [simulated(lb.Thompson(), arms)]
    inside = lb.Binarized(Wrong(NUMBERS["plan queues nothing"]))
    found["inside"] = [simulated(inside)]
    return found


def messages_of_master() -> dict[str, Any]:
    """Return what a simulation of MASTER says of some mistakes of the policy inside."""
    mistakes = "start queues nothing", "plan queues arm 7", "observe raises"
    return {mistake: simulated(lb.Master(Wrong(NUMBERS[mistake]))) for mistake in mistakes}


def own_policies_differ() -> list[str]:
    """Return the policies of the package that decide otherwise when they are checked."""
    differing = []
    with mock.patch.dict(lb.POLICIES):
        for name, cls in list(lb.POLICIES.items()):
            if cls.__module__.startswith("lastblock."):
                twin = type(f"Checked{name}", (cls,), {"__module__": __name__, "__slots__": ()})
                checked: Any = policy(grows=cls.grows, oracle=cls.oracle)(twin)
                arms = lb.Piecewise({0: [lb.Bernoulli(0.4), lb.Bernoulli(0.5), lb.Bernoulli(0.6)]})
                for example in cls.examples():
                    plays = [
                        lb.trace(made, arms, horizon=150, seed=1)
                        for made in (example, checked(*example))
                    ]
                    if plays[0].arms.tolist() != plays[1].arms.tolist():
                        differing.append(repr(example))
    return differing


if __name__ == "__main__":
    print(json.dumps([all_messages(), {w: replayed(Wrong(n)) for w, n in NUMBERS.items()}]))
    print(json.dumps(own_policies_differ()))
    print(json.dumps(messages_of_master()))
