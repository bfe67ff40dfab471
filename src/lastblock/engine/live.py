"""One step of a live bandit: kernels that ask, tell and forget."""

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
    """Start a live bandit, with the policy stream of a replication of the seed."""
    begin(policy, states[0], arms, key, replication)


@moment
def ask_live(
    policy: Policy,
    states: States,
    planned: npt.NDArray[np.uint64],
    id: int,
) -> int:
    """The arm of the next decision."""
    s = states[0]
    if plan_if_due(policy, s):
        note_round(s, planned, id)
    arm = take_arm(s)
    note_decision(planned, id, arm, arm)
    return arm


@kernel
def chance_of(floor: npt.NDArray[np.float64], arms: int, arm: int, wanted: int) -> float:
    """The probability of an arm: its floor, and what no floor takes if the policy wanted it."""
    total = 0.0
    for k in range(arms):
        total += floor[k]
    own = max(0.0, 1.0 - total) if arm == wanted else 0.0
    return float(min(1.0, floor[arm] + own))


@kernel
def apply_floor(s: Record, floor: npt.NDArray[np.float64], wanted: int) -> tuple[int, float]:
    """Between the policy, which has decided for an arm, and the traffic floors one uniform decides.

    Returns the arm and its probability. Where a floor has its way, be it for the same arm, the
    policy's decision is taken back, and is the next one of its round.
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
    """The same with traffic floors: the arm and its probability."""
    s = states[0]
    if plan_if_due(policy, s):
        note_round(s, planned, id)
    wanted = take_arm(s)
    arm, chance = apply_floor(s, floor, wanted)
    note_decision(planned, id, arm, wanted)
    return arm, chance


@moment
def tell_live(
    policy: Any, states: States, told: npt.NDArray[np.float64], arm: int, reward: float
) -> bool:
    """Take in a reward; False, and nothing changed, if it is none for the policy, or the record is
    full."""
    low, high = policy.support()  # known at compile time, mostly
    if not (-LARGEST_REWARD < reward < LARGEST_REWARD and low <= reward <= high):  # NaN, too
        return False
    if policy.full(states[0], arm):
        return False
    value = reward + 0.0  # no −0.0: equal rewards leave equal bytes
    reward_arm(policy, states[0], arm, value)
    note_reward(told, arm, value)
    return True


@moment
def full_live(policy: Any, states: States, arm: int) -> bool:
    """Whether the record must grow before it takes a reward of this arm."""
    return bool(policy.full(states[0], arm))


@moment
def forget_live(states: States, arm: int) -> None:
    """A decision whose reward will never come."""
    lose_arm(states[0], arm)
