"""What the subsampling policies share: the leader, the sampling obligation, the last-block duel."""

import math
from typing import Any

from lastblock.history import block_sum
from lastblock.jit import kernel
from lastblock.protocol import Record
from lastblock.random import below
from lastblock.state import INDEX, NOBODY

OBLIGATION_POWER = 0.333
"""The exponent in the authors' code, where the paper has a square root."""


@kernel
def most_pulled(s: Record, pulls: Any, sums: Any, candidate: Any, incumbent: Any) -> Any:
    """The leader among the candidates: most pulls, then largest sum, then uniformly at random.

    An incumbent (or NOBODY) that is tied in both stays; the authors' code has one.
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
    if ties > 1 and incumbent != NOBODY and candidate[incumbent]:
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


@kernel
def is_ahead(s: Record, pulls: Any, leader: int) -> bool:
    """Whether the leader has strictly more pulls than anyone: then there is nothing to choose."""
    if leader == NOBODY:
        return False
    most = pulls[leader]
    others = 0
    for k in range(s.arms):
        others += pulls[k] >= most
    return bool(others == 1)


@kernel
def obligation(n: float, reference: bool) -> int:
    """The largest number of pulls at which the sampling obligation still holds.

    The paper pulls an arm when N ≤ √log n, the authors' code when N < (log n)^0.333; n is the round
    or the window.
    """
    if reference:
        largest: int = math.ceil(math.log(n) ** OBLIGATION_POWER) - 1
        return largest
    return math.floor(math.sqrt(math.log(n)))


@kernel
def obligation_lasts(limit: int, reference: bool) -> float:
    """A round below which `obligation` stays at `limit`, a hair early to be safe from rounding."""
    power = 1.0 / OBLIGATION_POWER if reference else 2.0
    return math.exp(min((limit + 1.0) ** power, 700.0)) * (1.0 - 1e-9) - 1.0


@kernel
def wins_duel(h: Record, challenger: int, leader: int) -> bool:
    """The challenger's mean against the mean of as many of the leader's last rewards.

    When the leader holds fewer rewards than the challenger, all of them count.
    """
    own = h.kept[challenger]
    lead = h.kept[leader]
    mine = block_sum(h, challenger, own)
    if own > lead:
        return bool(lead > 0 and mine / own >= block_sum(h, leader, lead) / lead)
    # Equal lengths: compare the sums, so that ties are exact.
    return bool((own > 0) & (mine >= block_sum(h, leader, own)))
