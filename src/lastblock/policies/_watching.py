"""What Adaptive LB-SDA learns about an arm: its last rewards, and the sums in its detector.

The detector clips rewards at limits that follow from an arm's first rewards since the restart, and
stay: if they moved, the mean of clipped rewards would move with them.
"""

import math

from lastblock.core.clipping import is_within, limits_of
from lastblock.detectors.meanshift import forget_arm, largest_shift, set_limits
from lastblock.kit import Record, kernel, routine

KEPT = 32
"""The number of last rewards of an arm that are kept, at a restart too, and of first ones from
which its limits follow."""


@kernel
def keep(s: Record, arm: int, reward: float, now: int) -> None:
    """Keep a reward in place of the oldest one."""
    latest = (s.newest[arm] + 1) & (KEPT - 1)
    s.newest[arm] = latest
    s.stamp[arm, latest] = now & 0xFFFFFFFF
    s.reward[arm, latest] = reward


@kernel
def kept_since(s: Record, arm: int, now: int, age: int) -> int:
    """Return how many of the arm's last rewards came within the last `age` decisions."""
    n = 0
    while n < min(KEPT, s.detector.count[arm]):
        stamp = s.stamp[arm, (s.newest[arm] - n) & (KEPT - 1)]
        if (now - stamp) & 0xFFFFFFFF > age:
            break
        n += 1
    return n


@routine
def learn_anew(s: Record, arm: int, n: int) -> None:
    """Let the sums of an arm be those of its last n rewards; clip them if they are enough."""
    d = s.detector
    set_limits(d, arm, -math.inf, math.inf)
    if n == KEPT:
        low, high = limits_of(s.reward, arm)
        set_limits(d, arm, low, high)
    forget_arm(d, arm)
    for i in range(n):
        x = s.reward[arm, (s.newest[arm] - n + 1 + i) & (KEPT - 1)]
        largest_shift(d, arm, x, math.inf)


@routine
def find_limits(s: Record, arm: int) -> None:
    """Clip the rewards of an arm that has `KEPT` of them, from now on and in hindsight."""
    low, high = limits_of(s.reward, arm)
    set_limits(s.detector, arm, low, high)
    if not is_within(s.reward, arm, low, high):
        learn_anew(s, arm, KEPT)
