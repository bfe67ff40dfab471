"""LB-SDA: last-block subsampling duels (Baudry, Russac & Cappé, 2021, algorithm 1)."""

from typing import NamedTuple

from lastblock.core.duels import (
    duel_fields,
    is_owed,
    start_duels,
    update_leader,
    update_obligation,
    wins_duel,
)
from lastblock.core.history import append, clear, history_dtype, is_full
from lastblock.kit import FIRST_ROOM, Layout, Record, Verdict, enqueue, judge, policy, shuffle


@policy(shift_invariant=True, scale_invariant=True, grows=True, examples=[{"reference": True}])
class LBSDA(NamedTuple):
    """Duels between each arm's mean and the mean of as many of the leader's last rewards.

    Every reward is stored, by definition: simulations size the history by the horizon, a live
    bandit's record doubles when it is full. `LBSDALM` does the same in bounded memory.

    Parameters
    ----------
    reference
        Make the choices of the authors' code instead of the paper's.

    Examples
    --------
    >>> import lastblock as lb
    >>> arms = lb.Stationary([lb.Bernoulli(0.05), lb.Bernoulli(0.1), lb.Bernoulli(0.15)])
    >>> run = lb.simulate(lb.LBSDA(), arms, horizon=2000, replications=100, seed=1)
    >>> bool(run.mean()[-1] < 25)
    True

    References
    ----------
    Baudry, Russac & Cappé. On Limited-Memory Subsampling Strategies for Bandits. ICML 2021.
    """

    reference: bool = False

    def layout(self, arms: int, horizon: int | None) -> Layout:
        room = FIRST_ROOM if horizon is None else horizon
        return [*duel_fields(arms), ("history", history_dtype(arms, room))]

    def start(self, s: Record) -> None:
        clear(s.history)
        start_duels(s, self.reference)

    def plan(self, s: Record) -> None:
        r = s.round - 1 if self.reference else s.round
        h = s.history
        pulls = h.kept

        leader = update_leader(s, pulls, self.reference)

        # Challengers: under-explored arms, and winners of their duel. Late rewards cannot pile up:
        # nobody waits for more rewards than it has had.
        update_obligation(s, r, self.reference)
        for k in range(s.arms):
            if k != leader and not (self.reference and pulls[k] >= pulls[leader]):
                if is_owed(s, pulls, k) or (s.out[k] < pulls[k] and wins_duel(h, k, leader)):
                    enqueue(s, k)
        if s.queued == 0:
            enqueue(s, leader)
        shuffle(s)

    def observe(self, s: Record, arm: int, reward: float) -> None:
        append(s.history, arm, reward)
        s.sums[arm] += reward

    def explain(self, s: Record) -> list[Verdict]:
        return judge(s, s.history.kept, skips_level=self.reference)

    def full(self, s: Record, arm: int) -> bool:
        return is_full(s.history, arm)
