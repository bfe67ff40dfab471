"""LDS-SDA: subsampling duels with blocks spread evenly (Baudry, Kaufmann & Maillard, 2020)."""

from typing import NamedTuple

from lastblock.core.duels import duel_fields, is_owed, start_duels, update_leader, update_obligation
from lastblock.core.history import append, block_sum, clear, history_dtype, is_full, span_sum
from lastblock.kit import FIRST_ROOM, Layout, Record, enqueue, kernel, policy, shuffle


@kernel
def sobol_point(n: int) -> float:
    """Return the n-th point of Sobol's sequence in one dimension: 0, 1/2, 3/4, 1/4, 3/8, …

    It is the Gray code of n, with its binary digits in reverse order after the point.
    """
    code = n ^ (n >> 1)
    point = 0.0
    digit = 0.5
    while code > 0:
        if code & 1 == 1:
            point += digit
        code >>= 1
        digit *= 0.5
    return point


@kernel
def wins_placed_duel(
    s: Record, challenger: int, leader: int, point: float, reference: bool
) -> bool:
    """Return whether the challenger's mean reaches that of a block of the leader.

    The block has as many rewards as the challenger, and begins at the share `point` of the places
    where such a block may begin. In the authors' code it may begin anywhere, and goes on with the
    leader's oldest rewards when it reaches the newest.
    """
    h = s.history
    n = h.kept[challenger]
    lead = h.kept[leader]
    mine = block_sum(h, challenger, n)
    # Equal lengths: compare the sums, so that ties are exact.
    if not reference:
        return bool(mine >= span_sum(h, leader, int(point * (lead - n + 1)), n))
    first = int(point * lead)
    if first + n <= lead:
        return bool(mine >= span_sum(h, leader, first, n))
    newest = lead - first
    return bool(mine >= span_sum(h, leader, first, newest) + span_sum(h, leader, 0, n - newest))


@policy(shift_invariant=True, scale_invariant=True, grows=True, examples=[{"reference": True}])
class LDSSDA(NamedTuple):
    """Duels between each arm's mean and the mean of a block of the leader's, spread evenly.

    The rounds, the leader and the sampling obligation are those of `LBSDA`. Only the block
    differs: as many consecutive rewards as the challenger has, from a place that a sequence of low
    discrepancy gives. Over the rounds the blocks cover the leader's history more evenly than the
    random ones of `RBSDA`. Every reward is stored, by definition.

    Parameters
    ----------
    reference
        Make the choices of the authors' code: no sampling obligation, only arms with fewer pulls
        than the leader duel, blocks may begin anywhere and wrap around, a tied previous leader
        stays, the first round is in order.

    Examples
    --------
    >>> import lastblock as lb
    >>> lb.LDSSDA()
    LDSSDA(reference=False)

    References
    ----------
    Baudry, Kaufmann & Maillard. Sub-sampling for Efficient Non-Parametric Bandit Exploration.
    NeurIPS 2020.
    """

    reference: bool = False

    def layout(self, arms: int, horizon: int | None) -> Layout:
        return [
            *duel_fields(arms),
            ("history", history_dtype(arms, FIRST_ROOM if horizon is None else horizon)),
        ]

    def start(self, s: Record) -> None:
        clear(s.history)
        start_duels(s, self.reference)

    def plan(self, s: Record) -> None:
        pulls = s.history.kept
        leader = update_leader(s, pulls, self.reference)

        # Challengers: under-explored arms, and winners of their duel.
        if not self.reference:
            update_obligation(s, s.round, False)
        point = sobol_point(s.round - 1)
        for k in range(s.arms):
            if k != leader and not (self.reference and pulls[k] >= pulls[leader]):
                if is_owed(s, pulls, k) or (
                    s.out[k] < pulls[k] and wins_placed_duel(s, k, leader, point, self.reference)
                ):
                    enqueue(s, k)
        if s.queued == 0:
            enqueue(s, leader)
        shuffle(s)

    def observe(self, s: Record, arm: int, reward: float) -> None:
        append(s.history, arm, reward)
        s.sums[arm] += reward

    def full(self, s: Record, arm: int) -> bool:
        return is_full(s.history, arm)
