"""Stops are wrong as rarely as promised, and come as soon as published.

Tolerances are standard errors of what is measured.
"""

import math
from statistics import NormalDist

import numpy as np
import pytest
from benchmarks.identification import paper_stop

import lastblock as lb
from trials import trial


@pytest.mark.parametrize("policy", [lb.TopTwoThompson(redraws=2), lb.LUCB()], ids=repr)
def test_whoever_stops_at_the_first_chance_is_rarely_wrong(policy):
    """Arms are so close that a stop is nearly a guess; with a test for one look it would be."""
    arms = lb.Stationary([lb.Bernoulli(0.30), lb.Bernoulli(0.31), lb.Bernoulli(0.30)])
    confidence, n = 0.8, 400
    run = lb.simulate(
        policy, arms, horizon=400, replications=n, seed=1, confidence=confidence, times=[400]
    )
    promise = 1.0 - confidence
    tolerated = promise + 3.0 * math.sqrt(promise * confidence / n)
    assert run.identification.stopping_error()[0] < tolerated
    one_look = 0.5 * NormalDist().inv_cdf(confidence) ** 2
    naive = sum(
        first_by_likelihood(lb.trace(policy, arms, horizon=400, seed=i), one_look) != 1
        for i in range(40)
    )
    assert naive / 40 > tolerated


def first_by_likelihood(trace, threshold):
    """The arm with which one stops whose evidence is the likelihood ratio itself; 1 if none."""
    pulled = np.eye(3)[trace.arms]
    n, s = pulled.cumsum(axis=0), (pulled * trace.rewards[:, None]).cumsum(axis=0)
    for t in range(10, len(n)):
        if n[t].min() == 0:
            continue
        means = s[t] / n[t]
        best = int(np.argmax(means))
        cases = []
        for k in range(3):
            if k != best:
                middle = (s[t, best] + s[t, k]) / (n[t, best] + n[t, k])
                both = [lb.theory.kl(float(means[j]), float(middle)) * n[t, j] for j in (best, k)]
                cases.append(sum(both))
        if min(cases) >= threshold:
            return best
    return 1


@trial
def test_track_and_stop_needs_the_published_number_of_pulls():
    """Garivier & Kaufmann (2016), first experiment: 4052 pulls on average at δ = 0.1."""
    arms = lb.Stationary([lb.Bernoulli(mean) for mean in (0.5, 0.45, 0.43, 0.4)])
    policy, n = lb.TrackAndStop(), 40
    stops = [
        paper_stop(lb.trace(policy, arms, horizon=12_000, seed=[2016, i]), 4, 0.1) for i in range(n)
    ]
    assert max(stops) < math.inf
    error = np.std(stops, ddof=1) / math.sqrt(n)
    assert abs(np.mean(stops) - 4052) < 3.0 * error
    bound = lb.theory.characteristic_time(arms) * lb.theory.kl(0.1, 0.9)
    assert bound < np.mean(stops) < 4.0 * bound


def test_top_two_thompson_gives_its_first_choice_the_share_beta():
    arms = lb.Stationary([lb.Bernoulli(0.2), lb.Bernoulli(0.8), lb.Bernoulli(0.3)])
    run = lb.simulate(
        lb.TopTwoThompson(beta=0.3, redraws=2), arms, horizon=1600, replications=50, seed=1
    )
    share = run.pulls[:, 1] / 1600
    assert abs(share.mean() - 0.3) < 0.02 + 3.0 * share.std() / math.sqrt(50)
