"""The steps in the life of a record: begin, plan a round, hand out its arms, take in rewards."""

from typing import Any

import numpy as np

from lastblock.core.checked import START, check_arm, check_round
from lastblock.core.layout import ENGINE_FIELDS, HEADER, NOBODY
from lastblock.core.protocol import Policy, Record
from lastblock.kernels.jit import in_kernels, kernel, kernel_of
from lastblock.kernels.record_memory import zeroing
from lastblock.kernels.streams import POLICY, Stream, below, seed_stream

clear_fields = zeroing(ENGINE_FIELDS)
"""Sets all fields that a policy declares to zero, except records: before its `start`."""


@kernel
def begin(policy: Any, s: Record, arms: int, key: Stream, replication: int) -> None:
    """Prepare a record for its first decision."""
    s.end = START
    _begin_header(s, arms, key, replication)
    clear_fields(s)
    policy.start(s)
    check_round(s)
    s.end = 0


@kernel_of(HEADER)
def _begin_header(s: Record, arms: int, key: Stream, replication: int) -> None:
    """Set the fields that every record has."""
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


@kernel
def plan_if_due(policy: Policy, s: Record) -> bool:
    """Plan a new round if all arms of the current one have been handed out."""
    if s.taken != s.queued:
        return False
    _open_round(s)
    policy.plan(s)  # it still finds the last round in `s.queue[: s.taken]`
    check_round(s)
    s.taken = 0
    return True


@kernel_of(HEADER)
def _open_round(s: Record) -> None:
    """Count a new round, whose queue is empty yet."""
    s.round += 1
    if s.round & (s.round - 1) == 0:
        stop_waiting(s)
    s.queued = 0


@kernel_of(HEADER)
def stop_waiting(s: Record) -> None:
    """Stop counting the decisions that are out, so that no arm waits for ever for a lost reward.

    The engine calls this at rounds 2, 4, 8 …; a policy with a window may call it more often.
    """
    for k in range(s.arms):
        s.stale[k] = s.out[k]
        s.out[k] = 0


@kernel_of(HEADER)
def come_back(s: Record, arm: int) -> None:
    """Count one decision less that waits for its reward.

    Nobody knows whether it was a stale one. It counts as stale if most decisions of the arm are.
    """
    if s.stale[arm] > s.out[arm]:
        s.stale[arm] -= 1
    elif s.out[arm] > 0:
        s.out[arm] -= 1


@kernel_of(HEADER)
def hand_out(s: Record, arm: int) -> None:
    """Count one decision more that waits for its reward: one that was taken elsewhere.

    Its reward must come at once, so that `come_back` undoes this.
    """
    if s.stale[arm] > s.out[arm]:
        s.stale[arm] += 1
    else:
        s.out[arm] += 1


@kernel_of(HEADER)
def take_arm(s: Record) -> Any:
    """Hand out the next arm of the round."""
    arm: Any = np.int64(s.queue[s.taken])
    s.taken += 1
    s.out[arm] += 1
    if s.unanswered.shape[0] > 0:  # in a fleet
        s.unanswered[arm] += 1
    return arm


@kernel
def next_arm(policy: Policy, s: Record) -> Any:
    """Return the arm of the next decision; plan a new round first if this one is handed out."""
    plan_if_due(policy, s)
    return take_arm(s)


def leader_of(s: Record) -> Any:
    """Return the leader of a policy, or of one that it wraps; NOBODY if there is no leader."""
    if "leader" in s.dtype.names:
        return s.leader
    return leader_of(s.inner) if "inner" in s.dtype.names else NOBODY


@in_kernels(leader_of)
def _leader_of(s: Any) -> Any:
    """Return the body of `leader_of` for kernels, which know the fields when they are compiled."""
    if not hasattr(s, "fields"):
        return None
    if "leader" in s.fields:
        return lambda s: s.leader
    if "inner" in s.fields:
        return lambda s: leader_of(s.inner)
    return lambda s: NOBODY


@kernel
def reward_arm(policy: Policy, s: Record, arm: int, reward: float) -> None:
    """Hand the policy the reward of a decision that was out."""
    _count_reward(s, arm)
    policy.observe(s, arm, reward)


@kernel_of(HEADER)
def _count_reward(s: Record, arm: int) -> None:
    """Note that the reward of a decision that was out has come."""
    come_back(s, arm)
    s.lost[arm] = 0
    if s.told.shape[0] > 0:  # in a fleet
        s.told[arm] += 1
        s.unanswered[arm] -= 1


@kernel_of(HEADER)
def lose_arm(s: Record, arm: int) -> None:
    """Note that the reward of a decision that was out will never come."""
    come_back(s, arm)
    s.lost[arm] += 1
    if s.unanswered.shape[0] > 0:
        s.unanswered[arm] -= 1


@kernel_of(HEADER)
def enqueue(s: Record, arm: int) -> None:
    """Add an arm to the round."""
    check_arm(s, arm)
    s.queue[s.queued] = arm
    s.queued += 1


@kernel_of(HEADER)
def enqueue_all(s: Record) -> None:
    """Add every arm once, as nearly every policy does in its first round."""
    for k in range(s.arms):
        enqueue(s, k)


@kernel_of(HEADER)
def shuffle(s: Record) -> None:
    """Put the round's arms in uniformly random order, so that no arm is favoured by its number."""
    for last in range(s.queued - 1, 0, -1):
        other = below(s.stream, last + 1)
        s.queue[last], s.queue[other] = s.queue[other], s.queue[last]
