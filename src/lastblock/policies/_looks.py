"""Looks at arms that have been silent for long, by Adaptive LB-SDA.

A look is a burst of decisions: it begins when the arm has been silent for too long, and goes on
while the burst's rewards keep up with the leader's.
"""

import math

from lastblock.kit import NOBODY, Record, kernel

MOST_ALERT = 0.25
"""The largest alertness, which a world of many changes leads to."""

ALARM = 0.25
"""How many times the square of `alertness` a restart adds to the square of the alertness."""

COMMON = 5_000
"""The age at which a silence of √(age · (K − 1)) / c is the longest. It grows with the cube root of
the age, …"""

CALM = 20_000
"""… but beyond this age it grows with the age itself."""

TOLERANCE, PATIENCE = 0.5, 8
"""By which share of the arm's old gap a burst may fall short of the leader, and for how many
rewards."""

SECOND_LOOK = 128
"""The age at which the arm that showed the last change is looked at."""


@kernel
def longest_silence(s: Record, age: int, restarts: int, alertness: float) -> float:
    """Return the square of the longest silence that needs no look, after so many restarts."""
    rate = min(max(MOST_ALERT, alertness), alertness * math.sqrt(1.0 + ALARM * restarts)) ** 2
    if rate == 0.0:
        return math.inf
    slow = COMMON * (min(age, CALM) / COMMON) ** (2.0 / 3.0)
    if age > CALM:
        slow *= (age / CALM) ** 2
    return float(slow * (s.arms - 1.0) / rate)


@kernel
def begins(s: Record, arm: int, now: int) -> bool:
    """Return whether a look at the arm begins now."""
    silent = float(now - s.asked[arm])
    due = silent * silent > s.silence
    if arm == s.suspect and now - s.since > SECOND_LOOK:
        s.suspect = NOBODY
        due = s.silence < math.inf
    if due:
        s.burst[arm] = 0
        s.burst_sum[arm] = 0.0
    return bool(due)


@kernel
def keeps_up(s: Record, arm: int, n: int, total: float, lead: int, goal: float) -> bool:
    """Return whether a burst's rewards keep up with the leader's, nearly so at first.

    The arm has n rewards with the sum `total`; the leader's block has `lead` with the sum `goal`.
    """
    own = s.burst[arm]
    burst = s.burst_sum[arm]
    ahead = burst * lead - goal * own
    rest = n - own
    if rest == 0:
        return bool(ahead >= 0.0)
    # The burst's mean, less the leader's, plus a share of the gap, times own · lead · rest: whole
    # numbers stay exact, so that ties are ties.
    gap = max(0.0, goal * rest - (total - burst) * lead)
    return bool(ahead * rest + TOLERANCE * min(own, PATIENCE) * gap >= 0.0)
