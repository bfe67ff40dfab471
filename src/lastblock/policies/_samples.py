"""What policies that draw samples of an arm's rewards share: all rewards, and counts of two values.

As long as all rewards of all arms have one of two values, the number of high ones in a sample has a
hypergeometric law, and no sample is drawn.
"""

import numpy as np

from lastblock.kit import FIRST_ROOM, Layout, Record, below, capacity, kernel, routine, within

SMALLEST_ROOM = 64
MANY = 3


def room_for_rewards(horizon: int | None) -> int:
    """Return the number of rewards of an arm to make room for."""
    return capacity(FIRST_ROOM if horizon is None else horizon, SMALLEST_ROOM)


def counted_fields(arms: int, room: int) -> Layout:
    """Return the fields of the record; a policy has `sums` and `rewards` beside them."""
    return [
        # different rewards seen of all arms: none, 1, 2 or MANY
        ("kinds", within(np.int64, 0, MANY)),
        ("low_value", np.float64),
        ("high_value", np.float64),
        ("pulls", within(np.int64, 0, room), (arms,)),
        # of these, rewards of the higher value; unless MANY
        ("high", within(np.int64, 0, room), (arms,)),
    ]


@kernel
def take_reward(s: Record, arm: int, reward: float) -> None:
    """Keep a reward, and count it if no third value has been seen yet."""
    is_low = s.kinds > 0 and reward == s.low_value
    is_high = s.kinds > 0 and reward == s.high_value
    if s.kinds < MANY and not (is_low or is_high):
        s.kinds += 1
        if s.kinds == 1:
            s.low_value = reward
            s.high_value = reward
        elif s.kinds == 2 and reward > s.high_value:
            s.high_value = reward
            for k in range(s.arms):
                s.high[k] = 0
        elif s.kinds == 2:
            s.low_value = reward
    if reward == s.high_value:
        s.high[arm] += 1
    s.rewards[arm, s.pulls[arm]] = reward
    s.pulls[arm] += 1
    s.sums[arm] += reward


@routine
def sampled_sum(s: Record, arm: int, n: int) -> float:
    """Return the sum of `n` of the arm's rewards, drawn without replacement.

    The order of the stored rewards does not matter, so the draw is the beginning of a shuffle in
    place. If more than half of the rewards are wanted, the others are drawn instead.
    """
    count = s.pulls[arm]
    draws = min(n, count - n)
    total = 0.0
    for i in range(draws):
        j = i + below(s.stream, count - i)
        drawn = s.rewards[arm, j]
        s.rewards[arm, j] = s.rewards[arm, i]
        s.rewards[arm, i] = drawn
        total += drawn
    return float(total if draws == n else s.sums[arm] - total)
