"""The kernels of a live bandit: they ask, tell and forget."""

from typing import Any

import numpy as np
import numpy.typing as npt

from lastblock.core.last_round import note_decision, note_round
from lastblock.core.protocol import Policy, Record, States
from lastblock.core.restarts import note_extra
from lastblock.core.reward_stats import note_reward
from lastblock.core.rounds import begin, lose_arm, plan_if_due, reward_arm, take_arm
from lastblock.kernels.exact_sums import LARGEST_REWARD
from lastblock.kernels.jit import kernel, moment
from lastblock.kernels.streams import Stream, uniform


@moment
def open_live(policy: Policy, states: States, arms: int, key: Stream, replication: int) -> None:
    """Start a live bandit with the random stream of this replication of the seed."""
    begin(policy, states[0], arms, key, replication)


@moment
def ask_live(
    policy: Policy,
    states: States,
    planned: npt.NDArray[np.uint64],
    id: int,
) -> int:
    """Take the next decision, and return its arm."""
    s = states[0]
    if plan_if_due(policy, s):
        note_round(s, planned, id)
    arm = int(take_arm(s))
    note_decision(planned, id, arm, arm)
    return arm


@kernel
def chance_of(floor: npt.NDArray[np.float64], arms: int, arm: int, wanted: int) -> float:
    """Return the probability of an arm.

    It is the arm's floor; if the policy wanted this arm, plus the share that no floor takes.
    """
    total = 0.0
    for k in range(arms):
        total += floor[k]
    own = max(0.0, 1.0 - total) if arm == wanted else 0.0
    return float(min(1.0, floor[arm] + own))


@kernel
def apply_floor(s: Record, floor: npt.NDArray[np.float64], wanted: int) -> tuple[int, float]:
    """Draw whether the policy's arm `wanted` is pulled, or an arm for the sake of its floor.

    Returns the arm and its probability. If a floor is drawn, even for the same arm, the policy's
    decision is taken back and becomes the next one of its round.
    """
    u = uniform(s.stream)
    arm = int(wanted)
    forced = False
    for k in range(s.arms):
        if not forced and u < floor[k]:
            forced = True
            arm = k
        u -= floor[k]
    if forced:
        s.taken -= 1
        s.out[wanted] -= 1
        s.out[arm] += 1
        note_extra(s)
    return arm, chance_of(floor, s.arms, arm, wanted)


@moment
def ask_floored_live(
    policy: Policy,
    states: States,
    planned: npt.NDArray[np.uint64],
    floor: npt.NDArray[np.float64],
    id: int,
) -> tuple[int, float]:
    """Take the next decision under traffic floors, and return its arm and probability."""
    s = states[0]
    if plan_if_due(policy, s):
        note_round(s, planned, id)
    wanted = int(take_arm(s))
    arm, chance = apply_floor(s, floor, wanted)
    note_decision(planned, id, arm, wanted)
    return arm, chance


@moment
def tell_live(
    policy: Any, states: States, told: npt.NDArray[np.float64], arm: int, reward: float
) -> bool:
    """Learn a reward.

    Returns False, and changes nothing, if the policy cannot take the reward or the record is full.
    """
    low, high = policy.support()  # mostly known at compile time
    if not (-LARGEST_REWARD < reward < LARGEST_REWARD and low <= reward <= high):  # NaN as well
        return False
    if policy.full(states[0], arm):
        return False
    value = reward + 0.0  # turns −0.0 into 0.0, so that equal rewards leave equal bytes
    reward_arm(policy, states[0], arm, value)
    note_reward(told, arm, value)
    return True


@moment
def full_live(policy: Any, states: States, arm: int) -> bool:
    """Return whether the record must grow before it takes another reward of this arm."""
    return bool(policy.full(states[0], arm))


@moment
def forget_live(states: States, arm: int) -> None:
    """Drop a decision for this arm whose reward will never come."""
    lose_arm(states[0], arm)
