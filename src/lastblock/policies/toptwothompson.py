"""Top-two Thompson sampling (Russo, 2016)."""

import math
from typing import Annotated, NamedTuple

import numpy as np

from lastblock.kernels.divergences import Family, FamilyWord, divergence, inside
from lastblock.kit import COUNT, Chance, Layout, Range, Record, argmax, enqueue, policy, uniform
from lastblock.policies._posteriors import PriorMean, PriorSigma, Sigma, as_observed, posterior_draw


@policy(support="family", examples=[{"family": "gaussian", "redraws": 2}])
class TopTwoThompson(NamedTuple):
    """Find the best arm: Thompson sampling that pulls its second choice half of the time.

    A mean is drawn from each posterior. With probability `beta` the arm with the largest draw is
    pulled. Otherwise we draw again until another arm is largest, and pull that one.
    `Bandit.verdict` says when to stop.

    Parameters
    ----------
    beta
        β, the probability of the first choice, above 0 and below 1.
    family, prior_mean, prior_sigma, sigma
        As for `Thompson`.
    redraws
        How often we draw again before we take the arm that is hardest to tell from the first
        choice. The better the best arm is known, the more draws it would take.

    Examples
    --------
    >>> import lastblock as lb
    >>> arms = lb.Stationary([lb.Bernoulli(mean) for mean in (0.1, 0.2, 0.3, 0.6)])
    >>> run = lb.simulate(lb.TopTwoThompson(), arms, horizon=1000, replications=100, seed=1)
    >>> bool(450 < run.pulls[:, 3].mean() < 510)  # half of the time
    True

    References
    ----------
    Russo. Simple Bayesian Algorithms for Best Arm Identification. COLT 2016; Operations Research
    68, 2020.
    Shang, de Heide, Ménard, Kaufmann & Valko. Fixed-Confidence Guarantees for Bayesian Best-Arm
    Identification. AISTATS 2020.
    """

    beta: Chance = 0.5
    family: Family | FamilyWord = Family.BERNOULLI
    prior_mean: PriorMean = 0.5
    prior_sigma: PriorSigma = 0.5
    sigma: Sigma = 0.5
    redraws: Annotated[int, Range(0, 1_000_000)] = 30

    def layout(self, arms: int, horizon: int | None) -> Layout:
        return [
            ("pulls", COUNT, (arms,)),
            ("sums", np.float64, (arms,)),
            ("index", np.float64, (arms,)),
        ]

    def start(self, s: Record) -> None:
        self.plan(s)  # the prior decides from the first pull on

    def plan(self, s: Record) -> None:
        first = -1
        chosen = -1
        for _ in range(self.redraws + 1):
            for k in range(s.arms):
                s.index[k] = posterior_draw(
                    s.stream,
                    self.family,
                    float(s.pulls[k]),
                    s.sums[k],
                    self.prior_mean,
                    self.prior_sigma,
                    self.sigma,
                )
            chosen = argmax(s, s.index)
            if first < 0:
                first = chosen
                if s.arms == 1 or uniform(s.stream) < self.beta:
                    break
            elif chosen != first:
                break
            chosen = -1
        if chosen < 0:
            # T3C: the rival that needs the least evidence to pass the first choice.
            own = float(s.pulls[first])
            mean = inside(self.family, s.sums[first] / max(own, 1.0))
            for k in range(s.arms):
                n = float(s.pulls[k])
                rival = inside(self.family, s.sums[k] / max(n, 1.0))
                cost = 0.0
                if n > 0.0 and own > 0.0 and rival < mean:
                    middle = mean - (mean - rival) * (n / (own + n))
                    cost = own * divergence(self.family, mean, middle, self.sigma)
                    cost += n * divergence(self.family, rival, middle, self.sigma)
                s.index[k] = -cost
            s.index[first] = -math.inf
            chosen = argmax(s, s.index)
        enqueue(s, chosen)

    def observe(self, s: Record, arm: int, reward: float) -> None:
        s.sums[arm] += as_observed(s.stream, self.family, reward)
        s.pulls[arm] += 1
