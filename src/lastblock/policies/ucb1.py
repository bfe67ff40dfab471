"""UCB1: optimism with a bonus of the order √(log t / N) (Auer, Cesa-Bianchi & Fischer, 2002)."""

import math
from typing import NamedTuple

import numpy as np

from lastblock.kit import COUNT, Layout, Positive, Record, argmax, enqueue, number, policy, unseen


@policy(shift_invariant=True, optimistic=True, examples=[{"scale": math.sqrt(2.0)}])
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

    scale: Positive = math.sqrt(0.5)

    @classmethod
    def gaussian(cls, sigma: float) -> "UCB1":
        """Return the policy with C = σ√2, for noise of standard deviation `sigma`."""
        return cls(scale=number(sigma, "UCB1: sigma") * math.sqrt(2.0))

    def layout(self, arms: int, horizon: int | None) -> Layout:
        return [
            ("pulls", COUNT, (arms,)),
            ("sums", np.float64, (arms,)),
            ("index", np.float64, (arms,)),
        ]

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
