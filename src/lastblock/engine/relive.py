"""The loop that repeats past events of a live bandit; with it a store restores its bandits."""

from typing import Any

import numpy as np
import numpy.typing as npt

from lastblock.core.last_round import note_decision, note_round
from lastblock.core.protocol import States
from lastblock.core.restarts import note_extra
from lastblock.core.reward_stats import note_reward
from lastblock.core.rounds import hand_out, lose_arm, plan_if_due, reward_arm, take_arm
from lastblock.engine.events import ASK, NO_CHANCE, TELL
from lastblock.engine.live import apply_floor
from lastblock.kernels.jit import entry


@entry
def relive(
    policy: Any,
    states: States,
    planned: npt.NDArray[np.uint64],
    told: npt.NDArray[np.float64],
    floor: npt.NDArray[np.float64],
    is_floored: bool,
    run: npt.NDArray[np.float64],
    first: int,
    places: npt.NDArray[np.int64],
) -> int:
    """Repeat asks, tells and forgets from row `first` of `run` on; return the row where it stops.

    It stops after the last row, at an ask that gives another arm or probability, or at a reward for
    which the record must grow first. `places` has the place of each arm in the record, −1 for
    retired arms. A tell of decision −1 is the reward of a decision that was taken elsewhere.
    """
    s = states[0]
    for row in range(first, run.shape[0]):
        kind, place = run[row, 0], places[int(run[row, 2])]
        if kind == ASK:
            if plan_if_due(policy, s):
                note_round(s, planned, int(run[row, 1]))
            wanted = int(take_arm(s))
            arm, chance = wanted, NO_CHANCE
            if is_floored:
                arm, chance = apply_floor(s, floor, wanted)
            note_decision(planned, int(run[row, 1]), arm, wanted)
            if arm != place or chance != run[row, 3]:
                return row
        elif place >= 0:
            if kind == TELL:
                if policy.full(s, place):
                    return row
                if run[row, 1] < 0.0:  # a decision that was taken elsewhere: an extra pull
                    hand_out(s, place)
                    note_extra(s)
                reward_arm(policy, s, place, run[row, 3])
                note_reward(told, place, run[row, 3])
            else:
                lose_arm(s, place)
    return int(run.shape[0])
