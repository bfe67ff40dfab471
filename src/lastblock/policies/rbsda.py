"""RB-SDA: random-block subsampling duels (Baudry, Kaufmann & Maillard, 2020)."""

from typing import NamedTuple

from lastblock.core.duels import duel_fields, is_owed, start_duels, update_leader, update_obligation
from lastblock.core.history import append, block_sum, clear, history_dtype, is_full, span_sum
from lastblock.kit import FIRST_ROOM, Layout, Record, below, enqueue, kernel, policy, shuffle


@kernel
def wins_random_duel(s: Record, challenger: int, leader: int, starts_less: int) -> bool:
    """Return whether the challenger's mean reaches that of a random block of the leader.

    The block has as many rewards as the challenger. The newest `starts_less` blocks are never
    drawn.
    """
    h = s.history
    n = h.kept[challenger]
    spare = h.kept[leader] - n + 1 - starts_less
    first = below(s.stream, spare) if spare > 1 else 0
    # Equal lengths: compare the sums, so that ties are exact.
    return bool(block_sum(h, challenger, n) >= span_sum(h, leader, first, n))


@policy(shift_invariant=True, scale_invariant=True, grows=True, examples=[{"reference": True}])
class RBSDA(NamedTuple):
    """Duels between each arm's mean and the mean of a random block of the leader's rewards.

    The rounds, the leader and the sampling obligation are those of `LBSDA`. Only the block
    differs: as many consecutive rewards as the challenger has, from anywhere in the leader's
    history. Every reward is stored, by definition.

    Parameters
    ----------
    reference
        Make the choices of the authors' code: no sampling obligation, only arms with fewer pulls
        than the leader duel, the newest block is never drawn, a tied previous leader stays, the
        first round is in order.

    Examples
    --------
    >>> import lastblock as lb
    >>> arms = lb.Stationary([lb.Bernoulli(0.05), lb.Bernoulli(0.1), lb.Bernoulli(0.15)])
    >>> run = lb.simulate(lb.RBSDA(), arms, horizon=2000, replications=100, seed=1)
    >>> bool(run.mean()[-1] < 25)
    True

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
        h = s.history
        pulls = h.kept

        leader = update_leader(s, pulls, self.reference)

        # Challengers: under-explored arms, and winners of their duel.
        if not self.reference:
            update_obligation(s, s.round, False)
        starts_less = 1 if self.reference else 0
        for k in range(s.arms):
            if k != leader and not (self.reference and pulls[k] >= pulls[leader]):
                if is_owed(s, pulls, k) or (
                    s.out[k] < pulls[k] and wins_random_duel(s, k, leader, starts_less)
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
