"""Dirichlet Sampling: BDS, QDS and RDS (Baudry, Saux & Maillard, 2021)."""

import math
from enum import IntEnum
from typing import Annotated, Literal, NamedTuple

import numpy as np

from lastblock.core.duels import duel_fields, is_owed, start_duels, update_leader, update_obligation
from lastblock.core.layout import COUNT, FIRST_ROOM, capacity, within
from lastblock.core.parameters import Chance, NotNegative, Range
from lastblock.kernels.samplers import exponential, gamma
from lastblock.kit import Layout, Record, Stream, below, enqueue, kernel, policy, routine, shuffle

SMALLEST_ROOM = 64
LEAST_MEMORY, MOST_MEMORY = 8, 1 << 20
FEW = 8
"""So many rewards that are not yet in order are inserted one by one."""


class Bonus(IntEnum):
    """What is added to an arm's rewards; users write a word, such as ``bonus="robust"``."""

    ROBUST = 0
    BOUNDED = 1
    QUANTILE = 2
    KNOWN = 3

    def __repr__(self) -> str:
        return repr(self.name.lower())


BonusWord = Literal["robust", "bounded", "quantile", "known"]


@kernel
def put_in_order(s: Record, arm: int) -> None:
    """Sort the kept rewards of an arm, the smallest first (Shell's method)."""
    if s.fresh[arm] == 0:
        return
    n = s.kept[arm]
    gap = 1
    if s.fresh[arm] > FEW:
        while gap < n // 3:
            gap = 3 * gap + 1
    while gap > 0:
        for i in range(gap, n):
            x = s.rewards[arm, i]
            j = i
            while j >= gap and s.rewards[arm, j - gap] > x:
                s.rewards[arm, j] = s.rewards[arm, j - gap]
                j -= gap
            s.rewards[arm, j] = x
        gap //= 3
    s.fresh[arm] = 0


@kernel
def share_of(stream: Stream, rewards: float) -> float:
    """Draw the share of so many rewards, not yet divided by the sum of all shares."""
    return exponential(stream) if rewards == 1.0 else gamma(stream, rewards)


@routine
def resampled_mean(
    s: Record,
    arm: int,
    mean: float,
    bonus: Bonus | BonusWord,
    rho: float,
    margin: float,
    alpha: float,
    upper: float,
) -> float:
    """Return the mean of an arm's rewards and a bonus, with random weights uniform on the simplex.

    The weights are shares of exponential variates; those of equal rewards add up to a gamma one,
    and so do those of the rewards that a kept one stands for.

    Parameters
    ----------
    s, arm
        The record, and an arm with at least one reward.
    mean
        The leader's mean.
    bonus, rho, margin, alpha, upper
        The parameters of `DirichletSampling`.
    """
    put_in_order(s, arm)
    kept = s.kept[arm]
    pulls = s.pulls[arm]
    each = pulls / kept
    body = kept  # the rewards that keep their own weight
    if bonus == Bonus.QUANTILE:
        body = math.ceil(kept * (1.0 - alpha))
    total = 0.0
    weight = 0.0
    short = 0.0  # the sum of how far rewards are below the leader's mean
    i = 0
    while i < body:
        x = s.rewards[arm, i]
        run = 1
        while i + run < body and s.rewards[arm, i + run] == x:
            run += 1
        share = share_of(s.stream, run * each)
        weight += share
        total += share * x
        if x < mean:
            short += (mean - x) * run
        i += run
    if body < kept:
        tail = 0.0
        for j in range(body, kept):
            tail += s.rewards[arm, j]
        share = share_of(s.stream, (kept - body) * each)
        weight += share
        total += share * (tail / (kept - body))
    factor = math.sqrt(math.log(1.0 + pulls)) if bonus == Bonus.ROBUST else rho
    added = mean + factor * (short / body)
    if bonus == Bonus.BOUNDED:
        added = max(added, s.largest[arm] + margin)
    elif bonus == Bonus.KNOWN:
        added = upper
    share = share_of(s.stream, 1.0)
    return float((total + share * added) / (weight + share))


@policy(
    remedy='raise upper, or take another bonus, such as "robust"',
    examples=[{"bonus": "quantile", "alpha": 0.2}, {"bonus": "bounded", "memory": 16}],
)
class DirichletSampling(NamedTuple):
    """Duels between the leader's mean and each arm's randomly weighted mean, with a bonus added.

    The rounds and the leader are those of `LBSDA`. A challenger's rewards, and one more that its
    data suggest, get weights that are uniform on the simplex. It is pulled if the weighted mean, or
    the plain one, reaches the leader's mean. The bonuses are for different kinds of knowledge; only
    "known" needs a bound of the rewards, and none their family.

    Parameters
    ----------
    bonus
        "robust" (RDS): √log(1 + n) times the mean of how far the n rewards are below the leader's
        mean, added to it. It works for all light tails. "bounded" (BDS): `rho` in place of the
        root, and at least the largest reward plus `margin`. It is optimal for bounded rewards that
        come near their bound often enough, and fails where they do not. "quantile" (QDS): with
        `rho`, and the share `alpha` of largest rewards is replaced by their mean. "known" (BDS with
        a known bound): `upper`. It is optimal for bounded rewards; prefer it where it can be had.
    rho
        ρ, the factor of "bounded" and "quantile", positive.
    margin
        γ of "bounded", not negative: how far the bound may lie above the largest reward seen.
    alpha
        α of "quantile", between 0 and 1.
    memory
        How many rewards of each arm to keep, a random sample of all. 0 keeps every reward; the
        state then grows with time.
    upper
        The upper bound of the rewards, for "known".

    Examples
    --------
    >>> import lastblock as lb
    >>> lb.DirichletSampling(bonus="bounded", memory=64)
    DirichletSampling(bonus='bounded', rho=4.0, margin=0.0, alpha=0.05, memory=64, upper=1.0)

    References
    ----------
    Baudry, Saux & Maillard. From Optimality to Robustness: Dirichlet Sampling Strategies in
    Stochastic Bandits. NeurIPS 2021.
    """

    bonus: Bonus | BonusWord = Bonus.ROBUST
    rho: Annotated[float, Range(above=0.0, most=1e6)] = 4.0
    margin: NotNegative = 0.0
    alpha: Chance = 0.05
    memory: int = 0
    upper: float = 1.0

    def support(self) -> tuple[float, float]:
        if self.bonus == Bonus.KNOWN:
            return -math.inf, self.upper
        return -math.inf, math.inf

    @property
    def grows(self) -> bool:
        """Whether the policy keeps every reward."""
        return self.memory == 0

    def validate(self) -> None:
        if self.memory != 0 and not LEAST_MEMORY <= self.memory <= MOST_MEMORY:
            raise ValueError(
                f"DirichletSampling: memory={self.memory} must be 0, for all rewards, or lie "
                f"between {LEAST_MEMORY} and {MOST_MEMORY}"
            )

    def layout(self, arms: int, horizon: int | None) -> Layout:
        room = self.memory
        if room == 0:
            room = capacity(FIRST_ROOM if horizon is None else horizon, SMALLEST_ROOM)
        return [
            *duel_fields(arms),
            ("pulls", COUNT, (arms,)),
            ("kept", within(np.int64, 0, room), (arms,)),
            ("fresh", within(np.int64, 0, room), (arms,)),  # of these, those not yet in order
            ("largest", np.float64, (arms,)),
            ("rewards", np.float64, (arms, room)),
        ]

    def start(self, s: Record) -> None:
        start_duels(s, False)

    def plan(self, s: Record) -> None:
        pulls = s.pulls
        leader = update_leader(s, pulls, False)
        update_obligation(s, s.round, False)
        for k in range(s.arms):
            if k == leader:
                continue
            if pulls[k] == 0:  # rewards are late or lost: not more often than LB-SDA would
                won = is_owed(s, pulls, k)
            else:
                mean = s.sums[leader] / pulls[leader]
                won = s.out[k] < pulls[k] and (
                    s.sums[k] / pulls[k] >= mean
                    or resampled_mean(
                        s, k, mean, self.bonus, self.rho, self.margin, self.alpha, self.upper
                    )
                    >= mean
                )
            if won:
                enqueue(s, k)
        if s.queued == 0:
            enqueue(s, leader)
        shuffle(s)

    def observe(self, s: Record, arm: int, reward: float) -> None:
        s.largest[arm] = reward if s.pulls[arm] == 0 else max(s.largest[arm], reward)
        s.sums[arm] += reward
        s.pulls[arm] += 1
        place = s.kept[arm]
        if self.memory > 0 and place == self.memory:
            # Every reward so far is kept with the same probability (reservoir sampling).
            place = below(s.stream, s.pulls[arm])
        else:
            s.kept[arm] += 1
        if place < s.rewards.shape[1]:
            s.rewards[arm, place] = reward
            s.fresh[arm] = min(s.fresh[arm] + 1, s.kept[arm])

    def full(self, s: Record, arm: int) -> bool:
        return bool(self.memory == 0 and s.kept[arm] == s.rewards.shape[1])
