"""LB-SDA-LM: LB-SDA in limited memory (Baudry, Russac & Cappé, 2021, appendix B)."""

import math
from typing import Annotated, NamedTuple

import numpy as np

from lastblock.core.duels import (
    duel_fields,
    is_owed,
    start_duels,
    update_leader,
    update_obligation,
    wins_duel,
)
from lastblock.core.history import append, clear, forget_oldest, history_dtype
from lastblock.core.rounds import enqueue, shuffle
from lastblock.kernels.divergences import Family, FamilyWord, family_support
from lastblock.kernels.jit import plain, routine
from lastblock.kit import COUNT, Layout, Range, Record, Verdict, judge, policy
from lastblock.support.checks import choice, number, whole
from lastblock.theory.kullback import kl

SIZED_FOR_ROUNDS = 10**9
"""The number of rounds whose memory the record holds, up to a power of two; m_r stops there."""

LARGEST_MEMORY = 1 << 24


@routine
def memory(r: float, minimum: int, scale: float, offset: int) -> int:
    """Return m_r = max(M, ⌈C (log r)²⌉ + offset), the rewards that an arm keeps in round r."""
    return max(minimum, math.ceil(scale * math.log(r) ** 2) + offset)


@routine
def memory_lasts(m: int, scale: float, offset: int) -> float:
    """Return a round below which the memory stays at m, slightly early because of rounding."""
    if scale == 0.0:
        return math.inf
    return math.exp(min(math.sqrt((m - offset) / scale), 700.0)) * (1.0 - 1e-9) - 1.0


@policy(
    shift_invariant=True,
    scale_invariant=True,
    examples=[{"minimum": 4, "scale": 0.5}, {"minimum": 1, "offset": 50, "reference": True}],
)
class LBSDALM(NamedTuple):
    """LB-SDA with the last m_r = max(minimum, ⌈scale · (log r)²⌉ + offset) rewards of each arm.

    The memory grows like log² r and the record has a fixed size, made for 10⁹ rounds: with the
    default parameters 511 rewards an arm, enough for 6.5 · 10⁹ rounds; m_r stops growing there.

    Parameters
    ----------
    minimum
        M, the smallest memory, at least 1.
    scale
        C, the factor of (log r)².
    offset
        Added to the growing part; the paper's experiment is ``LBSDALM(offset=50)``.
    reference
        Make the choices of the authors' code instead of the paper's.

    Examples
    --------
    >>> import lastblock as lb
    >>> bandit = lb.Bandit(lb.LBSDALM(), arms=["red", "green", "blue"], seed=7)
    >>> for _ in range(1000):
    ...     decision = bandit.ask()
    ...     bandit.tell(decision, 1.0 if decision.arm == "green" else 0.0)
    >>> bandit.pulls["green"] > 990
    True

    References
    ----------
    Baudry, Russac & Cappé. On Limited-Memory Subsampling Strategies for Bandits. ICML 2021.
    """

    minimum: Annotated[int, Range(1, LARGEST_MEMORY, unit="rewards")] = 50
    scale: Annotated[float, Range(0.0, LARGEST_MEMORY)] = 1.0
    offset: Annotated[int, Range(0, LARGEST_MEMORY, unit="rewards")] = 0
    reference: bool = False

    @classmethod
    def for_gap(
        cls,
        worse: float,
        better: float,
        *,
        horizon: int,
        family: Family | FamilyWord = "bernoulli",
        sigma: float = 1.0,
    ) -> "LBSDALM":
        """Return a policy with a memory of at least log T / kl(worse, better) rewards an arm.

        With fewer, an arm as good as `worse` is pulled for ever. Each arm takes 8 bytes a
        reward, rounded up to a power of two of them.

        Parameters
        ----------
        worse, better
            The means of two arms that are to be told apart: of the best arm, and of one that is
            worth noticing.
        horizon
            T, the number of decisions for which it must last.
        family, sigma
            The family of the rewards, and the standard deviation of Gaussian ones.

        Returns
        -------
        LBSDALM
            The policy with this `minimum`; its memory still grows like (log r)² if that is more.

        Raises
        ------
        ValueError
            If `worse` is not below `better`, if the family does not allow one of them, or if the
            memory would be too large.

        Examples
        --------
        >>> import lastblock as lb
        >>> lb.LBSDALM.for_gap(0.02, 0.03, horizon=1_000_000).minimum
        7114
        """
        low, high = plain(family_support)(choice(Family, family, "family"))
        for name, mean in (("worse", worse), ("better", better)):
            if not low <= number(mean, name) <= high:
                words = "lie in [0, 1]" if high == 1.0 else "not be negative"
                raise ValueError(
                    f"LBSDALM: {name}={mean} must {words} for family={family!r}; name the family "
                    'of your rewards, such as family="gaussian" with their sigma'
                )
        divergence = kl(worse, better, family, sigma=sigma)
        if not worse < better:
            raise ValueError(f"LBSDALM: worse={worse} must be below better={better}")
        steps = whole(horizon, "horizon")
        if steps < 2:
            raise ValueError(f"LBSDALM: horizon={horizon} must be at least 2")
        needed = math.log(steps) / divergence
        if needed > LARGEST_MEMORY:
            raise ValueError(
                f"LBSDALM: for {worse} and {better} it would keep {needed:.3g} rewards an arm, "
                f"more than {LARGEST_MEMORY}; use LBSDAGM(), which needs no more for a smaller gap"
            )
        return cls(minimum=max(cls._field_defaults["minimum"], math.ceil(needed)))

    def validate(self) -> None:
        if self._largest_memory() > LARGEST_MEMORY:
            raise ValueError(
                f"LBSDALM: scale={self.scale} would keep {self._largest_memory()} rewards an arm; "
                f"choose it for at most {LARGEST_MEMORY}"
            )

    def _largest_memory(self) -> int:
        growing = math.ceil(self.scale * math.log(SIZED_FOR_ROUNDS) ** 2)
        return max(self.minimum, growing + self.offset)

    def layout(self, arms: int, horizon: int | None) -> Layout:
        return [
            *duel_fields(arms),
            ("memory", COUNT),  # m_r …
            ("memory_lasts", np.float64),  # … up to this round
            ("pulls", COUNT, (arms,)),
            ("history", history_dtype(arms, self._largest_memory())),
        ]

    def start(self, s: Record) -> None:
        s.memory = memory(1.0, self.minimum, self.scale, self.offset)
        clear(s.history)
        start_duels(s, self.reference)

    def plan(self, s: Record) -> None:
        r = s.round - 1 if self.reference else s.round
        h = s.history
        pulls = s.pulls
        if r >= s.memory_lasts:
            s.memory = memory(r, self.minimum, self.scale, self.offset)
            s.memory_lasts = memory_lasts(s.memory, self.scale, self.offset)

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
        # A saturated arm drops its oldest reward for the new one.
        if s.history.kept[arm] >= s.memory:
            forget_oldest(s.history, arm)
        append(s.history, arm, reward)
        s.pulls[arm] += 1
        s.sums[arm] += reward

    def explain(self, s: Record) -> list[Verdict]:
        return judge(s, s.pulls, skips_level=self.reference)
