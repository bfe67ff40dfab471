"""UCB1: optimism with a bonus of the order √(log t / N) (Auer, Cesa-Bianchi & Fischer, 2002)."""

import math
from typing import NamedTuple

import numpy as np

from lastblock.core.indices import argmax, unseen
from lastblock.core.layout import COUNT
from lastblock.core.protocol import Held, Layout, Record, Scores
from lastblock.core.registry import policy
from lastblock.core.rounds import enqueue, enqueue_all, shuffle
from lastblock.support.checks import number


@policy(shift_invariant=True, optimistic=True)
class UCB1(NamedTuple):
    """Pull the arm with the largest mean + C √(log t / N).

    Parameters
    ----------
    scale
        C. For noise of standard deviation σ (or σ-sub-Gaussian) it is σ√2, see `gaussian`; the
        default belongs to rewards in [0, 1]. The policy's paper has √2.

    Examples
    --------
    >>> import lastblock as lb
    >>> arms = lb.Stationary([lb.Bernoulli(0.05), lb.Bernoulli(0.1), lb.Bernoulli(0.15)])
    >>> run = lb.simulate(lb.UCB1(), arms, horizon=1000, replications=100, seed=1)
    >>> bool(run.mean()[-1] < 40)
    True

    References
    ----------
    Auer, Cesa-Bianchi & Fischer. Finite-time Analysis of the Multiarmed Bandit Problem. Machine
    Learning 47, 2002.
    """

    scale: float = math.sqrt(0.5)

    @classmethod
    def gaussian(cls, sigma: float) -> "UCB1":
        """Return the policy with C = σ√2, for noise of standard deviation `sigma`."""
        return cls(scale=number(sigma, "UCB1: sigma") * math.sqrt(2.0))

    @classmethod
    def examples(cls) -> "tuple[UCB1, ...]":
        return cls(), cls.gaussian(1.0)

    def validate(self) -> None:
        if self.scale <= 0.0:
            raise ValueError(f"UCB1: scale={self.scale} must be positive")

    def layout(self, arms: int, horizon: int | None) -> Layout:
        return [
            ("pulls", COUNT, (arms,)),
            ("sums", np.float64, (arms,)),
            ("index", np.float64, (arms,)),
        ]

    def start(self, s: Record) -> None:
        for k in range(s.pulls.shape[0]):
            s.pulls[k] = 0
            s.sums[k] = 0.0
            s.index[k] = 0.0
        enqueue_all(s)
        shuffle(s)

    def plan(self, s: Record) -> None:
        # t counts this pull too, so t > K ≥ 2 and log t > 1: the authors' max(log t, 1) is log t.
        log_t = math.log(s.arms + s.round - 1)
        for k in range(s.arms):
            n = s.pulls[k]
            if n > 0:
                bonus = self.scale * math.sqrt(log_t / (n + s.out[k]))
                s.index[k] = s.sums[k] / n + bonus
            else:
                s.index[k] = unseen(s, k)
        enqueue(s, argmax(s, s.index))

    def observe(self, s: Record, arm: int, reward: float) -> None:
        s.pulls[arm] += 1
        s.sums[arm] += reward

    def held(self, s: Record, arm: int) -> Held:
        return Held(float(s.pulls[arm]), float(s.sums[arm]))

    def chosen_by(self, s: Record) -> Scores:
        return Scores("index", s.index)
