"""The life of a record: it begins, plans a round, hands out its arms, takes their rewards back."""

from typing import Any

from numba import types
from numba.extending import overload

from lastblock.core.layout import LARGEST_COUNT, MOST_LOST, MOST_OUT, NOBODY
from lastblock.core.protocol import Policy, Record
from lastblock.kernels.fences import fence
from lastblock.kernels.jit import DISABLED, INLINE, kernel
from lastblock.kernels.record_memory import WORD
from lastblock.kernels.streams import POLICY, Stream, below, seed_stream


@kernel
def begin(policy: Policy, s: Record, arms: int, key: Stream, replication: int) -> None:
    """Prepare a record for its first decision.

    Whoever kills the process meanwhile leaves a record that says that it has not begun: `end` is
    written before everything else, and once more after it.
    """
    s.end = 1
    fence()
    seed_stream(s.stream, key, replication, POLICY)
    s.round = 1
    s.arms = arms
    s.queued = 0
    s.taken = 0
    for k in range(s.out.shape[0]):
        s.out[k] = 0
        s.stale[k] = 0
        s.lost[k] = 0
        s.queue[k] = 0
    for k in range(s.told.shape[0]):
        s.told[k] = 0
        s.unanswered[k] = 0
    policy.start(s)
    fence()
    s.end = 0


@kernel
def plan_if_due(policy: Policy, s: Record) -> bool:
    """When the round's arms are all out, plan a new round."""
    if s.taken != s.queued:
        return False
    s.round += 1
    if s.round & (s.round - 1) == 0:
        stop_waiting(s)
    s.queued = 0
    policy.plan(s)  # it still finds the last round in `s.queue[: s.taken]`
    s.taken = 0
    return True


@kernel
def stop_waiting(s: Record) -> None:
    """What is out counts no longer, lest an arm wait for ever for what will never come.

    That happens at rounds 2, 4, 8 …; a policy with a window may do it more often.
    """
    for k in range(s.arms):
        s.stale[k] = s.out[k]
        s.out[k] = 0


@kernel
def come_back(s: Record, arm: int) -> None:
    """A decision waits no longer. Nobody knows if it was stale; where most are, it was."""
    if s.stale[arm] > s.out[arm]:
        s.stale[arm] -= 1
    elif s.out[arm] > 0:
        s.out[arm] -= 1


@kernel
def take_arm(s: Record) -> int:
    """Hand out the next arm of the round."""
    arm: int = s.queue[s.taken]
    s.taken += 1
    if s.out.itemsize == WORD or s.out[arm] < MOST_LOST:
        s.out[arm] += 1
    if s.unanswered.shape[0] > 0:  # known at compile time
        if s.unanswered.itemsize == WORD or s.unanswered[arm] < MOST_OUT:
            s.unanswered[arm] += 1
    return arm


@kernel
def next_arm(policy: Policy, s: Record) -> int:
    """The next decision; when the round's arms are all out, plan a new round first."""
    plan_if_due(policy, s)
    return take_arm(s)


def leader_of(s: Record) -> Any:
    """The arm that leads, for a policy that has a leader (or wraps one that has); else NOBODY."""
    if "leader" in s.dtype.names:
        return s.leader
    return leader_of(s.inner) if "inner" in s.dtype.names else NOBODY


def _leader_of(s: Any) -> Any:
    """For kernels, which know the fields when they are compiled."""
    if not isinstance(s, types.Record):
        return None
    if "leader" in s.fields:
        return lambda s: s.leader
    if "inner" in s.fields:
        return lambda s: leader_of(s.inner)
    return lambda s: NOBODY


if not DISABLED:
    _overload: Any = overload
    _overload(leader_of, jit_options=INLINE, strict=False)(_leader_of)


@kernel
def reward_arm(policy: Policy, s: Record, arm: int, reward: float) -> None:
    """The reward of a decision that was out."""
    come_back(s, arm)
    s.lost[arm] = 0
    if s.told.shape[0] > 0:  # known at compile time
        count_up(s.told, arm)
        s.unanswered[arm] -= 1
    policy.observe(s, arm, reward)


@kernel
def count_up(counts: Any, arm: int) -> None:
    """Count one more. A counter of four bytes stops at its end; which kind it is costs nothing."""
    if counts.itemsize == WORD or counts[arm] < LARGEST_COUNT:
        counts[arm] += 1


@kernel
def lose_arm(s: Record, arm: int) -> None:
    """A decision that was out, and whose reward will never come."""
    come_back(s, arm)
    if s.lost[arm] < MOST_LOST:
        s.lost[arm] += 1
    if s.unanswered.shape[0] > 0:
        s.unanswered[arm] -= 1


@kernel
def enqueue(s: Record, arm: int) -> None:
    """Add an arm to the round."""
    s.queue[s.queued] = arm
    s.queued += 1


@kernel
def enqueue_all(s: Record) -> None:
    """Every arm once: the first round of nearly every policy."""
    for k in range(s.arms):
        enqueue(s, k)


@kernel
def shuffle(s: Record) -> None:
    """Put the round's arms in uniformly random order, so that no arm is favoured by its number."""
    for last in range(s.queued - 1, 0, -1):
        other = below(s.stream, last + 1)
        s.queue[last], s.queue[other] = s.queue[other], s.queue[last]
