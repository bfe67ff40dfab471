"""Whether a challenger that won its duel is believed, by Adaptive LB-SDA.

A duel looks at few of the leader's rewards, so that a challenger that is plainly worse wins now and
then. Its N rewards are weighed against all that are known of the leader by an index like that of
IMED (Honda & Takemura, 2015), for Gaussian rewards of unknown variance: the challenger may be
better than it looks as long as

    (N − 2) · log(1 + gap² / w) / 2 + log N ≤ log M,

where M counts the leader's rewards, and w is the larger variance of the two arms. The larger one,
because the variance of an arm with rare rewards is too small as long as it has had none; N − 2,
because a variance of few rewards says little.
"""

import math

from lastblock.core.marks import is_at_least
from lastblock.detectors.meanshift import last_block, spread_of, sum_of
from lastblock.kit import Record, kernel

UNTOLD = 2
"""How many of an arm's rewards tell nothing, since its mean and its variance follow from them."""


@kernel
def is_plausible(s: Record, arm: int, leader: int) -> bool:
    """Return whether an arm with rewards, no more than the memory, may be as good as the leader."""
    d = s.detector
    own = d.count[arm]
    lead = d.count[leader]
    goal = sum_of(d, leader)
    most = min(lead, s.memory)
    if lead > s.memory:
        lead, goal = last_block(d, leader, s.memory)
    total = sum_of(d, arm)
    if is_at_least(total, own, goal, lead):
        return True
    spread = max(spread_of(d, arm), spread_of(d, leader))
    if spread == 0.0:
        return False
    off = (goal / lead - total / own) / spread
    evidence = 0.5 * max(0, own - UNTOLD) * math.log(1.0 + off * off)
    return bool(evidence + math.log(own / most) <= 0.0)
