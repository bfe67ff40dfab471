"""MASTER: instances of many lengths of one policy, and a restart when they differ (2021)."""

import math
from typing import Annotated, Any, NamedTuple

import numpy as np

from lastblock.core.describing import explain_next, held
from lastblock.core.protocol import NOTHING_HELD, Held, Layout, Policy, Reason, Record, resized
from lastblock.core.rounds import clear_fields, enqueue
from lastblock.kernels.streams import expand, next_word, uniform
from lastblock.kit import COUNT, FLAG, Range, check_round, kernel, plain, policy, record_of, within
from lastblock.policies.ucb1 import UCB1
from lastblock.support.checks import number, whole

ORDERS = 17
"""Instances are 1, 2, 4 … 2¹⁶ decisions long, and so are blocks."""


@kernel
def instance(s: Record, order: int) -> Any:
    """Return the record of the instance that is 2^order decisions long.

    Fields have names, and compiled code cannot compute a name.
    """
    if order < 8:
        if order < 4:
            if order < 2:
                return s.order0 if order == 0 else s.order1
            return s.order2 if order == 2 else s.order3
        if order < 6:
            return s.order4 if order == 4 else s.order5
        return s.order6 if order == 6 else s.order7
    if order < 12:
        if order < 10:
            return s.order8 if order == 8 else s.order9
        return s.order10 if order == 10 else s.order11
    if order < 14:
        return s.order12 if order == 12 else s.order13
    if order == 14:
        return s.order14
    return s.order15 if order == 15 else s.order16


@kernel
def share(s: Record, inner: Record) -> None:
    """Tell an instance how many decisions are out, and how many are lost."""
    for k in range(s.out.shape[0]):
        inner.out[k] = s.out[k]
        inner.stale[k] = s.stale[k]
        inner.lost[k] = s.lost[k]


@kernel
def anew(s: Record, inner: Record) -> Record:
    """Return the record of an instance, prepared for `start`, with a random stream of its own."""
    expand(inner.stream, next_word(s.stream))
    inner.round = 1
    inner.arms = s.arms
    inner.queued = 0
    inner.taken = 0
    inner.end = 0
    for k in range(inner.queue.shape[0]):
        inner.queue[k] = 0
    share(s, inner)
    clear_fields(inner)
    return inner


@kernel
def next_round(s: Record, inner: Record) -> Record:
    """Return the record of an instance, prepared for `plan`."""
    inner.round += 1
    inner.taken = inner.queued
    inner.queued = 0
    share(s, inner)
    return inner


@kernel
def mean_regret(n: float, arms: int, level: float) -> float:
    """Return ρ(n) = √(K L / n) + K L / n, a bound of the mean regret of n decisions."""
    share = arms * level / n
    return math.sqrt(share) + share


@kernel
def shortest(s: Record) -> int:
    """Return the order of the shortest instance that is running: the active one."""
    order = 0
    while s.runs[order] == 0 and order < s.block:
        order += 1
    return order


@kernel
def begin_block(s: Record, order: int) -> None:
    """Begin a block of 2^order decisions, with no instance yet."""
    s.block = order
    s.since = s.round - 1
    s.lowest = 1.0
    s.excess = 0.0
    s.seen = 0
    for m in range(s.runs.shape[0]):
        s.runs[m] = 0
        s.gain[m] = 0.0
        s.rewards[m] = 0
    for k in range(s.by.shape[0]):
        s.by[k] = order


@kernel
def has_risen(s: Record, level: float, rise: float) -> bool:
    """Return whether an instance that ends now had more reward than was promised (test 1)."""
    age = s.round - s.since
    for m in range(s.block + 1):
        if s.runs[m] and s.rewards[m] > 0 and age & ((1 << m) - 1) == 0:
            n = s.rewards[m]
            if s.gain[m] / n >= s.lowest + rise * mean_regret(n, s.arms, level):
                return True
    return False


@kernel
def has_fallen(s: Record, level: float, fall: float) -> bool:
    """Return whether rewards in this block are too far below the promises (test 2)."""
    return bool(s.excess / s.seen >= fall * mean_regret(s.seen, s.arms, level))


@policy(
    support="unit",
    examples=[{"policy": UCB1()}, {"policy": UCB1(), "level": 2.0, "rise": 1.0, "fall": 2.0}],
)
class Master(NamedTuple):
    """Instances of a policy of many lengths take turns; where they disagree, all begin again.

    Decisions come in blocks of 1, 2, 4 … An instance of the policy lasts for the whole block;
    others, of all shorter lengths, begin at random, and the shortest that runs decides and learns.
    Each index is a promise: no arm has a larger mean. If an instance gets much more reward than the
    smallest promise of the block, or all of them much less than was promised, the world has
    changed, and blocks begin again with 1. It need not know how often the world changes.

    Parameters
    ----------
    policy
        An optimistic policy, whose index is an upper bound of an arm's mean: UCB1, KLUCB, MOSS …
    level
        L in ρ(n) = √(K L / n) + K L / n, which stands for the mean regret of n decisions of the
        policy among K arms. An instance of length 2^m begins with probability ρ(block) / ρ(2^m).
    rise
        Begin again if the mean reward of a finished instance of n decisions exceeds the smallest
        promise by this multiple of ρ(n).
    fall
        Begin again if promises exceed rewards, in the mean of the n decisions of the block, by this
        multiple of ρ(n).

    Examples
    --------
    >>> import lastblock as lb
    >>> lb.Master(lb.KLUCB(), level=5.0).rise
    9.0

    References
    ----------
    Wei & Luo. Non-stationary Reinforcement Learning without Prior Knowledge: An Optimal Black-box
    Approach. COLT 2021.
    """

    policy: Policy
    level: Annotated[float, Range(above=0.0, most=1e6)] = 20.0
    rise: Annotated[float, Range(above=0.0, most=1e9)] = 9.0
    fall: Annotated[float, Range(above=0.0, most=1e9)] = 3.0

    @classmethod
    def tuned(cls, policy: Policy, *, horizon: int, delta: float | None = None) -> "Master":
        """Return MASTER with the constants of its paper: L = log(T/δ), 9 c and 3 c.

        c is 6 (1 + log₂ T) log(T/δ), and δ = 1/T if it is not given. With these no change is found
        within any horizon of practical length.
        """
        horizon = whole(horizon, "horizon")
        if horizon < 2:
            raise ValueError(f"horizon={horizon} must be at least 2 steps")
        delta = 1.0 / horizon if delta is None else number(delta, "delta")
        if not 0.0 < delta < 1.0:
            raise ValueError(f"delta={delta} must lie between 0 and 1")
        level = math.log(horizon / delta)
        factor = 6.0 * (1.0 + math.log2(horizon)) * level
        return cls(policy, level, 9.0 * factor, 3.0 * factor)

    def validate(self) -> None:
        wrapped: Any = self.policy
        if not getattr(wrapped, "optimistic", False):
            raise ValueError(
                f"Master: {self.policy} has no index that is an upper bound of an arm's mean; wrap "
                "an optimistic policy, such as UCB1() or KLUCB()"
            )
        if wrapped.grows:
            raise ValueError(
                f"Master: {self.policy} keeps every reward, and {ORDERS} of them would not fit; "
                "wrap a policy whose state has a fixed size, such as UCB1()"
            )

    def layout(self, arms: int, horizon: int | None) -> Layout:
        inner = record_of(self.policy, arms, horizon)
        if (
            "index" not in (inner.names or ())
            or inner["index"].base.kind != "f"
            or inner["index"].shape[:1] < (arms,)
        ):
            raise ValueError(
                f"Master: {self.policy} is declared optimistic, so its layout must have a field "
                '"index" of floats with room for all arms'
            )
        return [
            ("since", COUNT),  # the decision before the block
            ("block", within(np.int64, 0, ORDERS - 1)),  # its length is 2 to this power
            ("due", FLAG),  # whether blocks begin again with the next decision
            ("restarts", COUNT),
            ("seen", COUNT),  # the rewards in the block …
            ("excess", np.float64),  # … and by how much they are below the promises
            ("lowest", np.float64),  # the smallest promise in the block
            ("runs", FLAG, (ORDERS,)),  # whether an instance of this order is running …
            ("rewards", COUNT, (ORDERS,)),  # … how many rewards there were since it began …
            ("gain", np.float64, (ORDERS,)),  # … and their sum
            ("by", within(np.int64, 0, ORDERS - 1), (arms,)),  # who chose the arm last
            ("promise", np.float64, (arms,)),  # and what it promised
            *((f"order{m}", inner) for m in range(ORDERS)),
        ]

    def start(self, s: Record) -> None:
        for k in range(s.by.shape[0]):
            s.promise[k] = 1.0
        for m in range(ORDERS):
            instance(s, m).end = 0  # no method of the policy is running
        wrapped: Any = self.policy
        for m in range(1, ORDERS):  # all hold sound numbers, also before their turn
            wrapped.start(anew(s, instance(s, m)))
            check_round(instance(s, m))
        begin_block(s, 0)
        self.plan(s)

    # One arm at a time, so that round r is decision r.

    def plan(self, s: Record) -> None:
        if s.due:
            s.due = 0
            begin_block(s, 0)
        elif s.round - s.since > 1 << s.block:
            begin_block(s, min(s.block + 1, ORDERS - 1))

        # Instances whose time has come.
        wrapped: Any = self.policy
        age = s.round - 1 - s.since
        whole = mean_regret(float(1 << s.block), s.arms, self.level)
        for step in range(s.block + 1):
            m = s.block - step
            length = 1 << m
            if age & (length - 1) == 0:
                chance = whole / mean_regret(float(length), s.arms, self.level)
                s.runs[m] = 1 if step == 0 else uniform(s.stream) < chance
                for k in range(s.by.shape[0]):
                    if s.by[k] == m:
                        s.by[k] = s.block  # late rewards of an instance that has ended
                if s.runs[m]:
                    s.gain[m] = 0.0
                    s.rewards[m] = 0
                    wrapped.start(anew(s, instance(s, m)))
                    check_round(instance(s, m))

        # The shortest one that is running chooses an arm.
        active = shortest(s)
        inner = instance(s, active)
        if inner.taken == inner.queued:
            self.policy.plan(next_round(s, inner))
            inner.taken = 0
            check_round(inner)
        arm = inner.queue[inner.taken]
        inner.taken += 1
        promise = 1.0
        if inner.round > 1:
            promise = min(1.0, max(0.0, inner.index[arm]))
        s.by[arm] = active
        s.promise[arm] = promise
        s.lowest = min(s.lowest, promise)
        enqueue(s, arm)

    def observe(self, s: Record, arm: int, reward: float) -> None:
        inner = instance(s, s.by[arm])
        share(s, inner)
        self.policy.observe(inner, arm, reward)
        for m in range(s.block + 1):
            if s.runs[m]:
                s.gain[m] += reward
                s.rewards[m] += 1
        s.seen += 1
        s.excess += s.promise[arm] - reward
        if not s.due:
            if has_risen(s, self.level, self.rise) or has_fallen(s, self.level, self.fall):
                s.due = 1
                s.restarts += 1

    def resized(self, s: Record, before: Record, arm: int) -> None:
        for m in range(ORDERS):
            resized(self.policy, s[f"order{m}"], before[f"order{m}"], arm)

    def held(self, s: Record, arm: int) -> Held | None:
        if s.due:
            return NOTHING_HELD
        size = total = 0.0
        for m in range(ORDERS):
            found = held(self.policy, s[f"order{m}"], arm) if s.runs[m] else NOTHING_HELD
            if found is None or found.size is None or (found.size > 0 and found.total is None):
                return Held(None)
            size += found.size
            total += found.total or 0.0
        return Held(size, total)

    def explain(self, s: Record) -> Reason:
        return explain_next(self.policy, s[f"order{plain(shortest)(s)}"])
