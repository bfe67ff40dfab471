"""What the subsampling policies share: the leader, the sampling obligation, the last-block duel.

The kernels here work on the fields of `duel_fields`. `pulls` is an array with the number of rewards
of each arm. `reference` chooses the rules of the authors' code instead of the paper's.
"""

import math
from typing import Any

import numpy as np

from lastblock.core.history import block_sum
from lastblock.core.layout import ARM, FLAG, HEADER, INDEX, NOBODY
from lastblock.core.protocol import Layout, Record
from lastblock.core.rounds import enqueue_all, shuffle
from lastblock.kernels.jit import kernel, kernel_of, routine_of
from lastblock.kernels.streams import below

OBLIGATION_POWER = 0.333
"""The exponent in the authors' code, where the paper has a square root."""


def duel_fields(arms: int) -> Layout:
    """Return the fields of the record: the leader and the sampling obligation."""
    return [
        ("leader", ARM),
        ("limit", np.int64),  # an arm with at most so many pulls is owed one …
        ("limit_lasts", np.float64),  # … up to this round
        ("sums", np.float64, (arms,)),  # of all rewards of the arm
        ("candidate", FLAG, (arms,)),  # may lead: every arm
    ]


NEEDED = (*HEADER, *(str(field[0]) for field in duel_fields(1)))
"""The fields that the kernels here need: the header and those of `duel_fields`."""


@kernel_of(NEEDED)
def start_duels(s: Record, reference: bool) -> None:
    """Start without a leader and without an obligation: with every arm once.

    The order is random, but in the authors' code.
    """
    s.leader = NOBODY
    s.limit = -1
    for k in range(s.candidate.shape[0]):
        s.candidate[k] = 1
    enqueue_all(s)
    if not reference:
        shuffle(s)


@kernel_of(NEEDED)
def update_leader(s: Record, pulls: Any, reference: bool) -> Any:
    """Choose the leader: most pulls, then the largest sum of rewards, then at random.

    In the authors' code a leader that is tied stays.
    """
    if not is_ahead(s, pulls, s.leader):
        incumbent = s.leader if reference else NOBODY
        s.leader = most_pulled(s, pulls, s.sums, s.candidate, incumbent)
    return np.int64(s.leader)


@kernel_of(NEEDED)
def update_obligation(s: Record, r: int, reference: bool) -> None:
    """Compute the number of pulls that every arm is owed in round `r`, if it has changed."""
    if r >= s.limit_lasts:
        renew_obligation(s, r, reference)


@routine_of(NEEDED)
def renew_obligation(s: Record, r: int, reference: bool) -> None:
    """Compute the number of pulls that every arm is owed from round `r` on."""
    s.limit = obligation(r, reference)
    s.limit_lasts = obligation_lasts(s.limit, reference)


@kernel_of(NEEDED)
def is_owed(s: Record, pulls: Any, arm: int) -> bool:
    """Return whether an arm is pulled without a duel, because it has too few pulls.

    Decisions that are out or lost count as pulls.
    """
    if pulls[arm] > s.limit:  # nearly always
        return False
    return bool(pulls[arm] + s.out[arm] + s.lost[arm] <= s.limit)


@routine_of(HEADER)
def most_pulled(s: Record, pulls: Any, sums: Any, candidate: Any, incumbent: Any) -> Any:
    """Return the leader of the candidates: most pulls, then the largest sum, then at random.

    `incumbent` is an arm that stays the leader if it has rewards and is tied in both, as in the
    authors' code, or NOBODY.
    """
    best: Any = INDEX(0)
    ties = 0
    for k in range(s.arms):
        if candidate[k]:
            level = ties > 0 and pulls[k] == pulls[best]
            if ties == 0 or pulls[k] > pulls[best] or (level and sums[k] > sums[best]):
                best = INDEX(k)
                ties = 1
            elif level and sums[k] == sums[best]:
                ties += 1
    if ties > 1 and incumbent != NOBODY and candidate[incumbent] and pulls[incumbent] > 0:
        if pulls[incumbent] == pulls[best] and sums[incumbent] == sums[best]:
            best = incumbent
            ties = 1
    if ties > 1:
        skip = below(s.stream, ties)
        chosen = best
        for k in range(s.arms):
            if candidate[k] and pulls[k] == pulls[best] and sums[k] == sums[best]:
                if skip == 0:
                    chosen = INDEX(k)
                skip -= 1
        best = chosen
    return best


@kernel_of(HEADER)
def is_ahead(s: Record, pulls: Any, leader: int) -> bool:
    """Return whether `leader` has more pulls than every other arm, so that it stays the leader."""
    if leader == NOBODY:
        return False
    most = pulls[leader]
    others = 0
    for k in range(s.arms):
        others += pulls[k] >= most
    return bool(others == 1)


@kernel
def obligation(n: float, reference: bool) -> int:
    """Return the largest number of pulls at which the sampling obligation still holds.

    The paper pulls an arm with N pulls when N ≤ √log n, the authors' code when N < (log n)^0.333.
    `n` is the round or the window.
    """
    if reference:
        largest: int = math.ceil(math.log(n) ** OBLIGATION_POWER) - 1
        return largest
    return math.floor(math.sqrt(math.log(n)))


@kernel
def obligation_lasts(limit: int, reference: bool) -> float:
    """Return a round below which `obligation` is `limit`, slightly early because of rounding."""
    power = 1.0 / OBLIGATION_POWER if reference else 2.0
    return math.exp(min((limit + 1.0) ** power, 700.0)) * (1.0 - 1e-9) - 1.0


@kernel
def wins_duel(h: Record, challenger: int, leader: int) -> bool:
    """Return whether the challenger's mean reaches that of as many of the leader's last rewards.

    If the leader has fewer rewards than the challenger, all of them count.
    """
    own = h.kept[challenger]
    lead = h.kept[leader]
    mine = block_sum(h, challenger, own)
    if own > lead:
        return bool(lead > 0 and mine / own >= block_sum(h, leader, lead) / lead)
    # Equal lengths: compare the sums, so that ties are exact.
    return bool((own > 0) & (mine >= block_sum(h, leader, own)))
