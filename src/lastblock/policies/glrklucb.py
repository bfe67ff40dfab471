"""GLR-kl-UCB: kl-UCB with a change-point test (Besson, Kaufmann, Maillard & Seznec, 2022)."""

import math
from typing import Annotated, NamedTuple

import numpy as np

from lastblock.core.parameters import Chance, NotNegative, Range, Sigma
from lastblock.core.protocol import Held, Layout, Record
from lastblock.detectors.glr import append, forget_arm, has_changed, no_room, split_fields
from lastblock.kernels.divergences import Family, FamilyWord
from lastblock.kit import COUNT, FIRST_ROOM, enqueue, enqueue_all, kernel, plain, policy, shuffle
from lastblock.policies._diminishing import ALPHA, first_session, session_at
from lastblock.policies._kl_bounds import bounds_layout, clear_bounds, largest_bound, set_mean
from lastblock.theory.tunings import (
    glr_confidence,
    glr_exploration,
    glr_growing_confidence,
    glr_growing_exploration,
)

MOST_FORCED = 0.99
"""The largest share of forced pulls that a tuning or a growing share reaches."""


@kernel
def forced_share(arms: int, alarms: int, exploration: float, growing: bool) -> float:
    """Return α, or α_k = α √(k K) at most 0.99 if it grows, with k the number of alarms plus 1."""
    if not growing:
        return exploration
    return min(exploration * math.sqrt((alarms + 1.0) * arms), MOST_FORCED)


@kernel
def turn_period(arms: int, exploration: float) -> int:
    """Return ⌊K / α⌋, the period of the forced pulls; 0, for none, if α is 0 or tiny."""
    return math.floor(arms / exploration) if exploration > 1e-15 else 0


@kernel
def first_period(arms: int, alarms: int, alpha: float, growing: bool, diminishing: bool) -> int:
    """Return what the field `period` holds after an alarm, or at the start."""
    if diminishing:
        return first_session(arms, alpha)
    return turn_period(arms, forced_share(arms, alarms, alpha, growing))


@kernel
def last_restart(s: Record) -> int:
    """Return the time of the last restart of any arm."""
    latest = s.since[0]
    for k in range(1, s.arms):
        latest = max(latest, s.since[k])
    return int(latest)


@kernel
def forget(s: Record, arm: int, now: int) -> None:
    """Forget the rewards of an arm, and note the time of its restart."""
    s.since[arm] = now
    forget_arm(s, arm)


@policy(
    support="family",
    examples=[
        {"exploration": 0.1, "delta": 0.1},
        {"exploration": 0.3, "delta": 0.5, "local": False, "family": "gaussian", "sigma": 0.5},
        {"exploration": 0.0, "delta": 0.9, "family": "exponential"},
        {"exploration": 0.05, "delta": 0.5, "growing": True, "factor": 1.0, "all_splits": True},
        {"exploration": 1.0, "delta": 0.5, "diminishing": True},
    ],
)
class GLRKLUCB(NamedTuple):
    """kl-UCB that forgets an arm, or all of them, when a test finds that its mean has changed.

    The test compares the arm's rewards since its last restart before and after every possible
    time of a change; so that it may find changes of arms that look bad, all arms are pulled in turn
    now and then.

    Parameters
    ----------
    exploration
        α, the share of forced pulls, at least 0 and below 1. With `growing`, the share is α √(k K)
        for K arms, at most 0.99. With `diminishing` it is α / √n after n pulls without an alarm.
    delta
        δ, about the probability of a false alarm of one arm's test.
    local
        Restart only the arm that has changed, instead of all arms.
    family
        The law of the rewards: "bernoulli" (also for any rewards in [0, 1]), "gaussian",
        "poisson" or "exponential".
    sigma
        The known standard deviation of Gaussian rewards.
    c
        The factor of log t in the index.
    growing
        Force more pulls after every alarm: k is the number of alarms plus one.
    factor
        The factor in the threshold log(factor · n√n / δ) of the test of n rewards.
    all_splits
        Test every split into "before" and "after", not only those of a grid. A change is then
        noticed sooner; the policy keeps every reward since the last restart, and a step takes time
        in proportion to their number.
    diminishing
        Force fewer pulls the longer nothing has changed.

    Examples
    --------
    >>> import lastblock as lb
    >>> policy = lb.GLRKLUCB.tuned(horizon=10_000)
    >>> round(policy.exploration, 3), policy.delta, policy.growing
    (0.03, 0.01, True)

    References
    ----------
    Besson, Kaufmann, Maillard & Seznec. Efficient Change-Point Detection for Tackling
    Piecewise-Stationary Bandits. JMLR, 2022. Li, Hsieh & Huang. Diminishing
    Exploration: A Minimalist Approach to Piecewise Stationary Multi-Armed Bandits. 2024.
    """

    exploration: float
    delta: Chance
    local: bool = True
    family: Family | FamilyWord = Family.BERNOULLI
    sigma: Sigma = 1.0
    c: NotNegative = 1.0
    growing: bool = False
    factor: Annotated[float, Range(0.1, 10.0)] = 3.0
    all_splits: bool = False
    diminishing: bool = False

    @classmethod
    def tuned(
        cls,
        *,
        horizon: int,
        local: bool = True,
        family: Family | FamilyWord = Family.BERNOULLI,
        sigma: float = 1.0,
        c: float = 1.0,
        all_splits: bool = False,
    ) -> "GLRKLUCB":
        """Return the policy that need not know the number of changes (Besson et al., 2022).

        After k − 1 alarms the share of forced pulls is α_k = √(k K log T / T), at most 0.99; δ is
        1 / √T and the threshold log(n√n / δ).
        """
        alpha = glr_growing_exploration(horizon=horizon)
        delta = glr_growing_confidence(horizon=horizon)
        made = cls(alpha, delta, local, family, sigma, c, True, 1.0)
        return made._replace(all_splits=all_splits)

    @classmethod
    def tuned_diminishing(
        cls,
        *,
        horizon: int,
        local: bool = True,
        family: Family | FamilyWord = Family.BERNOULLI,
        sigma: float = 1.0,
        c: float = 1.0,
        all_splits: bool = False,
    ) -> "GLRKLUCB":
        """Return the policy with diminishing exploration, α = 1, and the test of `tuned`."""
        delta = glr_growing_confidence(horizon=horizon)
        made = cls(1.0, delta, local, family, sigma, c, factor=1.0, diminishing=True)
        return made._replace(all_splits=all_splits)

    @classmethod
    def tuned_to_changes(
        cls,
        *,
        horizon: int,
        changes: int,
        arms: int,
        local: bool = True,
        family: Family | FamilyWord = Family.BERNOULLI,
        sigma: float = 1.0,
        c: float = 1.0,
        all_splits: bool = False,
    ) -> "GLRKLUCB":
        """Return the policy that knows the number of changes (Besson & Kaufmann, 2019).

        α is √(K Γ log T / T), at most 0.99, δ is 1 / √(K Γ T), and the threshold log(3 n√n / δ).
        For global restarts, K is left out of both.
        """
        alpha = glr_exploration(horizon=horizon, changes=changes, arms=arms, local=local)
        delta = glr_confidence(horizon=horizon, changes=changes, arms=arms, local=local)
        made = cls(min(alpha, MOST_FORCED), delta, local, family, sigma, c)
        return made._replace(all_splits=all_splits)

    @property
    def grows(self) -> bool:
        """Whether the policy keeps every reward since the last restart."""
        return self.all_splits

    def validate(self) -> None:
        (ALPHA if self.diminishing else Range(0.0, below=1.0))(self, "exploration")
        if self.diminishing and self.growing:
            raise ValueError("GLRKLUCB: choose one of growing=True and diminishing=True")

    def layout(self, arms: int, horizon: int | None) -> Layout:
        rewards = None
        if self.all_splits:
            rewards = FIRST_ROOM if horizon is None else horizon
        return [
            ("restarts", COUNT),
            # of the forced pulls, 0: none; if they diminish, when they begin after a restart
            ("period", COUNT),
            ("since", np.int64, (arms,)),  # the time of the arm's last restart
            *split_fields(arms, rewards),
            *bounds_layout(arms),
        ]

    def start(self, s: Record) -> None:
        s.period = first_period(s.arms, 0, self.exploration, self.growing, self.diminishing)
        clear_bounds(s)
        enqueue_all(s)
        shuffle(s)

    def plan(self, s: Record) -> None:
        # Pull t is being chosen: K of them in round 1, one in every later round.
        t = s.round + s.arms - 1
        turn = -1
        if self.diminishing:
            age = t - 1 - last_restart(s)
            s.period = session_at(s.period, age, s.arms, self.exploration)
            turn = age - s.period
        elif s.period > 0:
            turn = (t - 1) % s.period
        if 0 <= turn < s.arms:
            enqueue(s, turn)
            return
        for k in range(s.arms):
            if s.pulls[k] > 0:
                s.level[k] = self.c * math.log(t - s.since[k]) / (s.pulls[k] + s.out[k])
            else:
                s.level[k] = -1.0
        enqueue(s, largest_bound(s, self.family, self.sigma))

    def observe(self, s: Record, arm: int, reward: float) -> None:
        append(s, arm, reward)
        if has_changed(s, arm, self.family, self.sigma, self.delta, self.factor):
            now = s.round + s.arms - 1
            s.restarts += 1
            s.period = first_period(
                s.arms, s.restarts, self.exploration, self.growing, self.diminishing
            )
            if self.local:
                forget(s, arm, now)
            else:
                for k in range(s.arms):
                    forget(s, k, now)
        else:
            mean = (s.sums[arm] + s.error[arm]) / s.pulls[arm]
            set_mean(s, arm, self.family, mean)

    def full(self, s: Record, arm: int) -> bool:
        return no_room(s, arm)

    def resized(self, s: Record, before: Record, arm: int) -> None:
        if s.arms > before.arms or not self.diminishing:
            s.period = plain(first_period)(
                int(s.arms), int(s.restarts), self.exploration, self.growing, self.diminishing
            )
        if s.arms > before.arms:
            s.since[arm] = s.round + s.arms - 1
        else:
            s.since[: s.arms] -= 1  # the number of arms is part of what time it is

    def held(self, s: Record, arm: int) -> Held:
        return Held(float(s.pulls[arm]), float(s.sums[arm] + s.error[arm]))
