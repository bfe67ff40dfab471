"""Small bandits play by the exact law of their algorithm, computed from all histories."""

import math
from fractions import Fraction
from itertools import combinations

import numpy as np
import pytest
from scipy import stats
from scipy.special import betaln

import lastblock as lb
from lastblock.core.layout import state_dtype
from lastblock.kernels.jit import entry
from lastblock.kernels.streams import POLICY, key_of, seed_stream
from lastblock.policies.dirichletsampling import resampled_mean
from lastblock.policies.npts import dirichlet_mean
from statistical.exact import chances, larger, law_of_pulls
from trials import mostly_trials, trial

REPLICATIONS = 200_000
BERNOULLI = [{0.0: 0.6, 1.0: 0.4}, {0.0: 0.4, 1.0: 0.6}]
THREE_VALUES = [{0.0: 0.3, 0.5: 0.5, 1.0: 0.2}, {0.0: 0.2, 0.5: 0.3, 1.0: 0.5}]


# The leader, and a round of the policies that have one.


def leads(histories):
    """The probability that arm 0 of two leads: most pulls, then largest sum, then a coin."""
    a, b = ((len(history), sum(history)) for history in histories)
    return 1.0 if a > b else 0.0 if a < b else 0.5


def by_duel(wins):
    """The probabilities of the arms from `wins(challenger, leader, r)`, the challenger's."""

    def choose(histories, r):
        a, b = histories
        lead = leads(histories)
        first = 0.0
        if lead > 0.0:
            first += lead * (1.0 - wins(b, a, r))
        if lead < 1.0:
            first += (1.0 - lead) * wins(a, b, r)
        return chances(first)

    return choose


def blocks(history, n):
    return [sum(history[i : i + n]) for i in range(len(history) - n + 1)]


def rbsda(mine, theirs, r):
    if len(mine) <= math.sqrt(math.log(r)):
        return 1.0
    sums = blocks(theirs, len(mine))
    return sum(total <= sum(mine) for total in sums) / len(sums)


def ssmc(mine, theirs, r):
    if len(mine) == len(theirs):
        return 0.0
    if len(mine) < math.sqrt(math.log(r)):
        return 1.0
    return float(sum(mine) >= min(blocks(theirs, len(mine))))


def bds(mine, theirs, r):
    """The weighted mean of zeros, ones and the bound 1 has a beta law."""
    ones, zeros, mean = sum(mine), mine.count(0.0), sum(theirs) / len(theirs)
    if ones / len(mine) >= mean:
        return 1.0
    return float(stats.beta.sf(mean, ones + 1.0, zeros))


# BESA: every sample of the larger history is as likely as any other.


def besa_duel(a, b):
    """The probability that the first history wins."""
    if len(a) == len(b):
        return larger({sum(a): 1.0}, {sum(b): 1.0})
    if len(a) > len(b):
        return 1.0 - besa_duel(b, a)
    samples = list(combinations(b, len(a)))
    return sum(sum(sample) <= sum(a) for sample in samples) / len(samples)


def besa(histories, r):
    if len(histories) == 2:
        return chances(besa_duel(*histories))
    result = [0.0] * 3  # three arms: one of them waits for the winner of the others
    for waits in range(3):
        a, b = (k for k in range(3) if k != waits)
        first = besa_duel(histories[a], histories[b])
        for winner, chance in ((a, first), (b, 1.0 - first)):
            beaten = besa_duel(histories[waits], histories[winner])
            result[waits] += chance * beaten / 3.0
            result[winner] += chance * (1.0 - beaten) / 3.0
    return result


# Indices that are drawn afresh: their exact laws.


def phe_index(history, a):
    coins = math.ceil(a * len(history))
    size = len(history) + coins
    return {
        Fraction(sum(history) + ones) / size: math.comb(coins, ones) / 2**coins
        for ones in range(coins + 1)
    }


def giro_index(history, a):
    """Rewards are multiples of ½: convolve the law of one draw with itself."""
    pseudo = a * len(history)
    padded = [*history, *[0.0] * pseudo, *[1.0] * pseudo]
    one = np.bincount([int(2 * reward) for reward in padded], minlength=3) / len(padded)
    total = np.ones(1)
    for _ in padded:
        total = np.convolve(total, one)
    return {Fraction(i, 2 * len(padded)): p for i, p in enumerate(total.tolist()) if p > 0.0}


def npts(histories, r):
    """P(Beta(a, b) > Beta(c, d)) for whole numbers; d or b may be 0, and the index is then 1."""
    (b, a), (d, c) = ((h.count(0.0), 1 + h.count(1.0)) for h in histories)
    if b == 0 or d == 0:
        return chances(0.5 if b == d else float(b == 0))
    return chances(
        sum(
            math.exp(betaln(c + i, b + d) - math.log(b + i) - betaln(1 + i, b) - betaln(c, d))
            for i in range(a)
        )
    )


def by_index(index, a):
    return lambda histories, r: chances(larger(*(index(history, a) for history in histories)))


THREE_ARMS = [{0.0: 0.5, 1.0: 0.5}, {0.0: 0.7, 1.0: 0.3}, {0.0: 0.4, 1.0: 0.6}]
CASES = {
    "rbsda": (lb.RBSDA(), by_duel(rbsda), BERNOULLI, 10),
    "rbsda-three": (lb.RBSDA(), by_duel(rbsda), THREE_VALUES, 8),
    "ssmc": (lb.SSMC(), by_duel(ssmc), BERNOULLI, 10),
    "ssmc-three": (lb.SSMC(), by_duel(ssmc), THREE_VALUES, 8),
    "dirichletsampling-known": (
        lb.DirichletSampling(bonus="known"),
        by_duel(bds),
        BERNOULLI,
        10,
    ),
    "besa": (lb.BESA(), besa, BERNOULLI, 11),
    "besa-three": (lb.BESA(), besa, THREE_VALUES, 8),
    "besa-three-arms": (lb.BESA(), besa, THREE_ARMS, 9),
    "phe": (lb.PHE(a=1.0), by_index(phe_index, 1.0), BERNOULLI, 9),
    "phe-half": (lb.PHE(a=0.5), by_index(phe_index, 0.5), THREE_VALUES, 6),
    "giro": (lb.Giro(a=1.0), by_index(giro_index, 1), BERNOULLI, 8),
    "giro-three": (lb.Giro(a=1.0), by_index(giro_index, 1), THREE_VALUES, 6),
    "npts": (lb.NPTS(), npts, BERNOULLI, 10),
}


@pytest.mark.parametrize("case", mostly_trials(CASES, {name for name in CASES if "-" not in name}))
def test_the_pulls_have_their_exact_law(case):
    policy, choose, laws, horizon = CASES[case]
    expected = law_of_pulls(choose, laws, horizon) * REPLICATIONS
    arms = [lb.Discrete(list(law), list(law.values())) for law in laws]
    run = lb.simulate(
        policy, lb.Stationary(arms), horizon=horizon, replications=REPLICATIONS, seed=2020
    )
    seen = np.bincount(run.pulls[:, 0], minlength=horizon + 1)
    assert seen[expected == 0.0].sum() == 0
    likely = expected > 5.0
    statistic = ((seen - expected)[likely] ** 2 / expected[likely]).sum()
    # One fresh seed in ten thousand would fail.
    assert stats.chi2.sf(statistic, likely.sum() - 1) > 1e-4


@pytest.mark.parametrize(
    "policy",
    [lb.RBSDA(), *(pytest.param(each, marks=trial) for each in (lb.SSMC(), lb.BESA(), lb.NPTS()))],
    ids=repr,
)
def test_regret_is_near_that_of_the_family(policy, scenarios, horizon):
    """All of them are optimal here in the long run; LB-SDA's published code has 10.14 ± 0.25."""
    run = lb.simulate(
        policy, scenarios["stationary"], horizon=horizon, replications=1000, seed=5, times=[horizon]
    )
    assert 8.0 < run.mean()[-1] < 12.5


def assert_moments(values, law):
    """The moments of a weighted mean; `law` has values, and the parameters of their weights."""
    weight = sum(a for _, a in law)
    mean = sum(a * x for x, a in law) / weight
    variance = (sum(a * x * x for x, a in law) / weight - mean**2) / (weight + 1.0)
    assert abs(values.mean() - mean) < 4.0 * math.sqrt(variance / REPLICATIONS)
    spread = ((values - mean) ** 2).std() / math.sqrt(REPLICATIONS)
    assert abs(((values - mean) ** 2).mean() - variance) < 4.0 * spread


@entry
def dirichlet_means(states, bound, values):
    for i in range(values.size):
        values[i] = dirichlet_mean(states[0], 0, bound)


@pytest.mark.parametrize("bound", [0.5, 1.0, 3.0])
def test_dirichlet_means_have_their_mean_and_variance(bound):
    """Also where rewards lie between 0 and 1, which the laws above leave out for NPTS."""
    rewards = [0.0, 0.0, 0.25, 0.8, 0.8, 1.0]
    policy = lb.NPTS(bound=bound)
    states = np.zeros(1, state_dtype(policy, 2, 10))
    seed_stream(states[0]["stream"], key_of(1), 0, POLICY)
    history = states[0]["history"]
    history["zeros"][0], history["ones"][0], history["others"][0] = 2, 1, 3
    history["value"][0, :3] = rewards[2:5]
    values = np.empty(REPLICATIONS)
    dirichlet_means(states, bound, values)

    assert_moments(values, [*((x, 1.0) for x in rewards), (1.0, bound)])


@entry
def resampled_means(policy, states, leader, values):
    bonus, rho, margin, alpha, _, upper = policy
    for i in range(values.size):
        values[i] = resampled_mean(states[0], 0, leader, bonus, rho, margin, alpha, upper)


@pytest.mark.parametrize(
    ("bonus", "pulls"),
    [("robust", 6), ("robust", 15), ("bounded", 6), ("quantile", 6), ("known", 6)],
)
def test_resampled_means_have_the_moments_of_their_dirichlet_law(bonus, pulls):
    """Six rewards, which may stand for fifteen; QDS replaces the largest two by their mean."""
    rewards, leader = [0.0, 0.0, 0.25, 0.75, 0.75, 1.0], 0.8
    policy = lb.DirichletSampling(bonus=bonus, rho=0.5, margin=0.1, alpha=0.4, upper=2.0)
    states = np.zeros(1, state_dtype(policy, 2, 10))
    seed_stream(states[0]["stream"], key_of(1), 0, POLICY)
    s = states[0]
    s["pulls"][0], s["kept"][0], s["fresh"][0], s["largest"][0] = pulls, 6, 6, 1.0
    s["rewards"][0, :6] = rewards[::-1]
    values = np.empty(REPLICATIONS)
    resampled_means(policy, states, leader, values)

    each = pulls / 6
    law = [(x, each) for x in rewards]
    if bonus == "quantile":
        law[4:] = [(0.875, 2 * each)]
    left = rewards[:4] if bonus == "quantile" else rewards
    short = sum(max(0.0, leader - x) for x in left) / len(left)
    factor = math.sqrt(math.log(1 + pulls)) if bonus == "robust" else policy.rho
    added = {"bounded": 1.1, "known": 2.0}.get(bonus, leader + factor * short)
    law.append((added, 1.0))
    assert_moments(values, law)
