"""Small bandits play by the exact law of their algorithm, computed from all histories."""

import itertools
import math
from fractions import Fraction
from itertools import combinations

import numpy as np
import pytest
from scipy import stats
from scipy.special import betaln

import lastblock as lb
from statistical.exact import chances, larger, law_of_pulls
from trials import mostly_trials

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


# Policies that depend on the order of the pulls, on rewards that are always the same.


def in_order(chance_of_first, horizon):
    """The law of the pulls of the first of two arms, summed over all sequences of arms."""
    law = np.zeros(horizon + 1)
    for arms in itertools.product([0, 1], repeat=horizon):
        probability = 1.0
        for t, arm in enumerate(arms):
            p = chance_of_first(arms[:t])
            probability *= p if arm == 0 else 1.0 - p
        law[arms.count(0)] += probability
    return law


def always(*rewards):
    return [{reward: 1.0} for reward in rewards]


def other_urn(arms):
    """P(Beta(1, a) > Beta(1, b)) = b / (a + b)."""
    return (1 + arms.count(1)) / (2 + len(arms))


def poisson(arms):
    """Means of Gamma(1, 2 + n): exponential, so that the first is larger with b / (a + b)."""
    a, b = (2 + arms.count(k) for k in (0, 1))
    return b / (a + b)


def exponential(arms):
    """Means b / G with G of Gamma(shape a): G₀ / (G₀ + G₁) has a Beta law."""
    n = [arms.count(k) for k in (0, 1)]
    b = [2.0 + n[0] * 1.0, 2.0 + n[1] * 1.5]
    share = b[0] / (b[0] + b[1])  # the first is larger when G₀ / (G₀ + G₁) is smaller
    return stats.beta(3 + n[0], 3 + n[1]).cdf(share)


def discounted(arms):
    a, b = (
        1 + sum(0.5 ** (len(arms) - 1 - t) for t, arm in enumerate(arms) if arm == k)
        for k in (0, 1)
    )
    return a / (a + b)


def windowed(arms):
    return (1 + arms[-2:].count(0)) / (2 + len(arms[-2:]))


NORMAL = {"family": "gaussian", "prior_mean": 0.2, "prior_sigma": 0.7, "sigma": 1.5}


def normal(arms):
    """With rewards 1 and −½."""
    centres, variances = [], []
    for k, reward in enumerate((1.0, -0.5)):
        precision = 1 / 0.7**2 + arms.count(k) / 1.5**2
        centres.append((0.2 / 0.7**2 + arms.count(k) * reward / 1.5**2) / precision)
        variances.append(1 / precision)
    return stats.norm.cdf((centres[0] - centres[1]) / math.sqrt(sum(variances)))


def exponential_weights(alpha=0.0, late=False):
    """With γ = ½ and rewards 1 and ¼."""

    def chance(arms):
        w = before = [1.0, 1.0]
        for t, arm in enumerate(arms):
            p = chance(arms[:t])
            gain = 0.25 * (1.0, 0.25)[arm] / (p if arm == 0 else 1 - p)
            before = w
            w = [
                w[k] * (math.exp(gain) if k == arm else 1.0) + math.e * alpha / 2 * sum(w)
                for k in (0, 1)
            ]
        used = before if late else w
        return 0.5 * used[0] / sum(used) + 0.25

    return chance


THREE_ARMS = [{0.0: 0.5, 1.0: 0.5}, {0.0: 0.7, 1.0: 0.3}, {0.0: 0.4, 1.0: 0.6}]
OF_HISTORIES = {
    "rbsda": (lb.RBSDA(), by_duel(rbsda), BERNOULLI, 10),
    "rbsda-three": (lb.RBSDA(), by_duel(rbsda), THREE_VALUES, 8),
    "ssmc": (lb.SSMC(), by_duel(ssmc), BERNOULLI, 10),
    "ssmc-three": (lb.SSMC(), by_duel(ssmc), THREE_VALUES, 8),
    "dirichletsampling": (lb.DirichletSampling(bonus="known"), by_duel(bds), BERNOULLI, 10),
    "besa": (lb.BESA(), besa, BERNOULLI, 11),
    "besa-three": (lb.BESA(), besa, THREE_VALUES, 8),
    "besa-three-arms": (lb.BESA(), besa, THREE_ARMS, 9),
    "phe": (lb.PHE(a=1.0), by_index(phe_index, 1.0), BERNOULLI, 9),
    "phe-half": (lb.PHE(a=0.5), by_index(phe_index, 0.5), THREE_VALUES, 6),
    "giro": (lb.Giro(a=1.0), by_index(giro_index, 1), BERNOULLI, 8),
    "giro-three": (lb.Giro(a=1.0), by_index(giro_index, 1), THREE_VALUES, 6),
    "npts": (lb.NPTS(), npts, BERNOULLI, 10),
}
HALVES, REWARDS = always(1.0, 1.0), always(1.0, 0.25)
IN_ORDER = {
    "thompson": (lb.Thompson(), lambda arms: 1.0 - other_urn(arms), HALVES, 6),
    "thompson-lost": (lb.Thompson(), other_urn, always(0.0, 0.0), 6),
    "thompson-poisson": (lb.Thompson("poisson", 0.5, 0.5), poisson, always(0.0, 0.0), 6),
    "thompson-exponential": (
        lb.Thompson("exponential", 1.0, 1.0),
        exponential,
        always(1.0, 1.5),
        6,
    ),
    "thompson-gaussian": (lb.Thompson(**NORMAL), normal, always(1.0, -0.5), 5),
    "slidingwindowthompson": (lb.SlidingWindowThompson(2), windowed, HALVES, 6),
    "slidingwindowthompson-gaussian": (
        lb.SlidingWindowThompson(60, **NORMAL),
        normal,
        always(1.0, -0.5),
        5,
    ),
    "discountedthompson": (lb.DiscountedThompson(0.5), discounted, HALVES, 6),
    "exp3": (lb.EXP3(0.5), exponential_weights(), REWARDS, 6),
    "rexp3": (lb.REXP3(0.5, 10), exponential_weights(), REWARDS, 6),
    "exp3s": (lb.EXP3S(0.5, 0.2), exponential_weights(0.2), REWARDS, 6),
    "exp3s-late": (lb.EXP3S(0.5, 0.2, True), exponential_weights(0.2, late=True), REWARDS, 6),
    # The first reward is a coin: the second pull stays with ½ · ⅔ + ½ · ⅓, and ¾ · ⅔ + ¼ · ⅓.
    "thompson-half": (lb.Thompson(), lambda arms: 1 / 2, always(0.5, 0.5), 2),
    "thompson-quarters": (
        lb.Thompson(),
        lambda arms: 1 / 2 if not arms else abs(arms[0] - 7 / 12),
        always(0.75, 0.75),
        2,
    ),
    # Only the arm's own coin decides whether it stays: rewards 1 on [−1, 3] are ½.
    "binarized": (
        lb.Binarized(lb.PlayTheWinner(), -1.0, 3.0),
        lambda arms: 1 / 2,
        HALVES,
        2,
    ),
}
CASES = {**OF_HISTORIES, **IN_ORDER}


@pytest.mark.parametrize("case", mostly_trials(CASES, {name for name in CASES if "-" not in name}))
def test_the_pulls_have_their_exact_law(case):
    policy, choose, laws, horizon = CASES[case]
    law = in_order(choose, horizon) if case in IN_ORDER else law_of_pulls(choose, laws, horizon)
    expected = law * REPLICATIONS
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
