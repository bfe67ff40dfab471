"""CUSUM-UCB: UCB that restarts an arm when its rewards shift (Liu, Lee & Shroff, 2018)."""

import math
from typing import Annotated, NamedTuple

import numpy as np

from lastblock.core.parameters import NotNegative, Positive, Range, Share
from lastblock.kernels.streams import below, uniform
from lastblock.kit import COUNT, Layout, Record, argmax, enqueue, kernel, policy, shuffle, unseen
from lastblock.theory.tunings import cusum_exploration, cusum_threshold


@kernel
def forget(s: Record, arm: int) -> None:
    """Restart one arm: its rewards, its reference level and its two walks."""
    s.pulls[arm] = 0
    s.sums[arm] = 0.0
    s.level[arm] = 0.0
    s.rise[arm] = 0.0
    s.fall[arm] = 0.0


@policy(
    shift_invariant=True,
    examples=[
        {"threshold": 2.0, "exploration": 0.1, "warmup": 5},
        {"threshold": 1.0, "exploration": 0.3, "drift": 0.1, "warmup": 1},
        {"threshold": 7.600902459542082, "exploration": 0.06164779987778186},
    ],
)
class CUSUMUCB(NamedTuple):
    """UCB with a two-sided CUSUM test on each arm; an arm whose test fires restarts alone.

    The mean of an arm's first `warmup` rewards is its reference level u. Later rewards x drive two
    walks, max(0, g + x − u − ε) and max(0, g + u − x − ε), and a change is seen when one of them
    reaches the threshold. So that all arms are tested, a share of the pulls is uniformly random.

    Parameters
    ----------
    threshold
        h, where a walk raises the alarm.
    exploration
        α, the probability of a uniformly random pull.
    drift
        ε, what the walks lose at each reward: half the smallest change worth seeing.
    warmup
        M, the rewards that make up the reference level.
    scale
        C in the bonus C √(log n / N), with N the rewards since the arm's restart and n their sum
        over the arms.

    Examples
    --------
    >>> import lastblock as lb
    >>> policy = lb.CUSUMUCB.tuned(horizon=10_000, changes=2)
    >>> round(policy.threshold, 3), round(policy.exploration, 4)
    (8.517, 0.0413)

    References
    ----------
    Liu, Lee & Shroff. A Change-Detection based Framework for Piecewise-stationary Multi-Armed
    Bandit Problem. AAAI 2018.
    """

    threshold: Positive
    exploration: Share
    drift: NotNegative = 0.05
    warmup: Annotated[int, Range(1, unit="reward")] = 50
    scale: Positive = math.sqrt(0.5)

    @classmethod
    def tuned(
        cls,
        *,
        horizon: int,
        changes: int,
        drift: float = 0.05,
        warmup: int = 50,
        scale: float = math.sqrt(0.5),
    ) -> "CUSUMUCB":
        """Return the policy with h = log(T/Γ) and α = √(Γ/T · log(T/Γ)); Γ = 0 counts as 1."""
        return cls(
            threshold=cusum_threshold(horizon=horizon, changes=changes),
            exploration=cusum_exploration(horizon=horizon, changes=changes),
            drift=drift,
            warmup=warmup,
            scale=scale,
        )

    def layout(self, arms: int, horizon: int | None) -> Layout:
        return [
            ("restarts", COUNT),
            ("pulls", COUNT, (arms,)),  # since the arm's restart, as are the sums
            ("sums", np.float64, (arms,)),
            ("level", np.float64, (arms,)),
            ("rise", np.float64, (arms,)),
            ("fall", np.float64, (arms,)),
            ("index", np.float64, (arms,)),
        ]

    def plan(self, s: Record) -> None:
        # Arms that owe draws for their reference level go first, in random order.
        n = 0
        for k in range(s.arms):
            n += s.pulls[k]
            if s.pulls[k] + s.out[k] + s.lost[k] < self.warmup:
                enqueue(s, k)
        if s.queued > 0:
            shuffle(s)
            return

        if uniform(s.stream) < self.exploration:
            enqueue(s, below(s.stream, s.arms))
            return

        log_n = math.log(max(n, 1))
        for k in range(s.arms):
            own = s.pulls[k]
            if own > 0:
                bonus = self.scale * math.sqrt(log_n / (own + s.out[k]))
                s.index[k] = s.sums[k] / own + bonus
            else:
                s.index[k] = unseen(s, k)
        enqueue(s, argmax(s, s.index))

    def observe(self, s: Record, arm: int, reward: float) -> None:
        s.pulls[arm] += 1
        s.sums[arm] += reward
        if s.pulls[arm] <= self.warmup:
            s.level[arm] = s.sums[arm] / s.pulls[arm]
        else:
            above = reward - s.level[arm]
            s.rise[arm] = max(0.0, s.rise[arm] + above - self.drift)
            s.fall[arm] = max(0.0, s.fall[arm] - above - self.drift)
            if s.rise[arm] >= self.threshold or s.fall[arm] >= self.threshold:
                forget(s, arm)
                s.restarts += 1
