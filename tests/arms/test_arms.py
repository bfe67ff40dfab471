"""Every arm family has the law and the mean it says, from exactly one draw a step."""

from typing import NamedTuple

import numba
import numpy as np
import pytest
from scipy import stats

import lastblock as lb
from lastblock.kernels.jit import specialise
from lastblock.kernels.streams import ENVIRONMENT, key_of, next_word, seed_stream, to_unit

DRAWS = 50_000
# Seeds are fixed; a right sampler would pass this level with all but one in a thousand of them.
LEVEL = 1e-3


@numba.njit
def sample_all(table, arms, stream, scratch, rewards):
    """One draw a step, whichever arm is pulled."""
    for t in range(arms.shape[0]):
        rewards[t] = table.sample(0, arms[t], next_word(stream), scratch)


def sampled(environment, arms, seed):
    stream, scratch = np.empty(4, np.uint64), np.empty(4, np.uint64)
    seed_stream(stream, key_of(seed), 0, ENVIRONMENT)
    rewards = np.empty(len(arms))
    table = environment.compile(len(arms))
    arguments = table, np.asarray(arms, dtype=np.int64), stream, scratch, rewards
    # By the types themselves: numba's own look-up takes two sets of families for the same.
    specialise(sample_all, *arguments)(*arguments)
    return rewards


def draws_of(arm, seed=1):
    return sampled(lb.Stationary([arm, lb.Dirac(0.0)]), np.zeros(DRAWS, np.int64), seed)


def truncnorm(location, scale, low, high):
    a, b = (low - location) / scale, (high - location) / scale
    return stats.truncnorm(a, b, loc=location, scale=scale)


CONTINUOUS = [
    (lb.Gaussian(3.0, 0.5), stats.norm(3.0, 0.5)),
    (lb.Exponential(2.5), stats.expon(scale=2.5)),
    (lb.Beta(0.5, 0.7), stats.beta(0.5, 0.7)),
    (lb.Beta(4.0, 2.0), stats.beta(4.0, 2.0)),
    (lb.TruncatedGaussian(0.5, 0.1), truncnorm(0.5, 0.1, 0.0, 1.0)),
    (lb.TruncatedGaussian(-1.0, 2.0, 0.0, 1.0), truncnorm(-1.0, 2.0, 0.0, 1.0)),
    (lb.TruncatedGaussian(0.0, 1.0, 5.0, 6.0), truncnorm(0.0, 1.0, 5.0, 6.0)),
    (lb.TruncatedGaussian(0.0, 1.0, -6.5, -6.0), truncnorm(0.0, 1.0, -6.5, -6.0)),
    (lb.TruncatedGaussian(0.0, 1.0, -30.0, 30.0), stats.norm()),
]

DISCRETE = [
    (lb.Bernoulli(0.05), [0, 1], [0.95, 0.05]),
    (lb.Discrete([1.0, -2.0, 7.5], [0.2, 0.5, 0.3]), [1.0, -2.0, 7.5], [0.2, 0.5, 0.3]),
    (lb.Discrete([4.0, 1.0, 2.0], [0.0, 0.25, 0.75]), [1.0, 2.0], [0.25, 0.75]),
    (lb.Poisson(2.0), range(9), stats.poisson(2.0).pmf(range(9))),
]


@pytest.mark.parametrize(("arm", "law"), CONTINUOUS, ids=lambda x: repr(x)[:60])
def test_continuous_laws(arm, law):
    rewards = draws_of(arm)
    assert arm.mean == pytest.approx(law.mean(), rel=1e-9, abs=1e-12)
    assert stats.kstest(rewards, law.cdf).pvalue > LEVEL
    # Five standard errors: passed by accident once in two million seeds.
    assert abs(rewards.mean() - arm.mean) < 5 * law.std() / np.sqrt(DRAWS)


@pytest.mark.parametrize(("arm", "values", "shares"), DISCRETE, ids=lambda x: repr(x)[:60])
def test_discrete_laws(arm, values, shares):
    rewards = draws_of(arm)
    counts = np.array([(rewards == value).sum() for value in values])
    others = DRAWS - counts.sum()  # Poisson counts above the last value
    rest = DRAWS * (1.0 - np.sum(shares))
    if rest > 1.0:
        counts, expected = np.append(counts, others), np.append(DRAWS * np.array(shares), rest)
    else:
        assert others == 0
        expected = DRAWS * np.array(shares)
    assert stats.chisquare(counts, expected).pvalue > LEVEL


def test_certain_arms():
    assert (draws_of(lb.Dirac(1.25)) == 1.25).all()
    assert (draws_of(lb.Bernoulli(0.0)) == 0.0).all()
    assert (draws_of(lb.Bernoulli(1.0)) == 1.0).all()
    assert (draws_of(lb.Discrete([9.0], [1.0])) == 9.0).all()


@pytest.mark.parametrize(
    ("location", "scale", "low", "high"),
    [
        (0.5, 0.1, 0.0, 1.0),
        (0.0, 1.0, 4.0, 5.0),
        (0.0, 1.0, 6.5, 40.0),
        (0.0, 1.0, -40.0, -6.5),
        (2.0, 0.2, 0.0, 1.0),
        (-0.3, 0.05, 0.0, 1.0),
        (100.0, 1000.0, -1.0, 1.0),
    ],
)
def test_truncated_means(location, scale, low, high):
    arm = lb.TruncatedGaussian(location, scale, low, high)
    # The mean is a difference of densities over one of probabilities, each known to 1e-16: for
    # a thin slice of a wide law (the last case, 1/1000 of a scale) that leaves 1e-12 of a scale.
    expected = truncnorm(location, scale, low, high).mean()
    assert arm.mean == pytest.approx(expected, abs=1e-12 * scale, rel=1e-9)
    rewards = draws_of(arm)
    assert low <= rewards.min()
    assert rewards.max() <= high


# Played by policies that compile fast.
EVERY_FAMILY = lb.Stationary(
    [
        lb.Bernoulli(0.4),
        lb.Dirac(0.3),
        lb.Gaussian(0.4, 1.0),
        lb.Exponential(0.4),
        lb.Beta(2.0, 3.0),
        lb.Poisson(0.4),
        lb.Discrete([0.0, 0.5, 2.0], [0.5, 0.3, 0.2]),
        lb.TruncatedGaussian(0.4, 0.2),
    ]
)


def test_families_may_be_mixed_and_use_one_draw_a_step():
    # If any family used more or fewer words than one, later rewards would not be those of the
    # words that the environment's stream gives when every step takes one.
    assert {type(arm).__name__ for arm in EVERY_FAMILY.phases[0]} == set(lb.FAMILIES)
    trace = lb.trace(lb.UCB1(), EVERY_FAMILY, horizon=2000, seed=5)
    assert set(trace.arms) == set(range(EVERY_FAMILY.n_arms))
    assert (sampled(EVERY_FAMILY, trace.arms, seed=5) == trace.rewards).all()


def test_policies_meet_common_random_numbers():
    one = lb.trace(lb.UCB1(), EVERY_FAMILY, horizon=2000, seed=6)
    other = lb.trace(lb.UCB1(scale=3.0), EVERY_FAMILY, horizon=2000, seed=6)
    same = one.arms == other.arms
    assert 50 < same.sum() < 2000  # the policies do differ
    assert (one.rewards[same] == other.rewards[same]).all()


def test_arms_share_the_uniform_of_a_step():
    env = lb.Stationary([lb.Bernoulli(0.3), lb.Bernoulli(0.6)])
    low = sampled(env, np.zeros(DRAWS, np.int64), seed=7)
    high = sampled(env, np.ones(DRAWS, np.int64), seed=7)
    assert (low <= high).all()


@pytest.fixture
def uniform_family():
    """A family of the user's own, gone again after the test."""

    @lb.family()
    class Uniform(NamedTuple):
        low: float
        high: float

        def validate(self):
            if self.low >= self.high:
                raise ValueError(f"Uniform: low={self.low} must lie below high={self.high}")

        @property
        def mean(self):
            return (self.low + self.high) / 2

        def parameters(self):
            return self.low, self.high

        @staticmethod
        def draw(a, b, c, d, table, at, word, scratch):
            return a + (b - a) * to_unit(word)

    yield Uniform
    del lb.FAMILIES["Uniform"]


def test_a_family_of_ones_own_works_beside_the_others(request):
    def trace(env):
        return lb.trace(lb.UCB1(), env, horizon=500, seed=8)

    before = trace(EVERY_FAMILY)
    Uniform = request.getfixturevalue("uniform_family")
    with pytest.raises(ValueError, match=r"low=2\.0 must lie below"):
        Uniform(2.0, 1.0)
    rewards = draws_of(Uniform(1.0, 3.0))
    assert stats.kstest(rewards, stats.uniform(1.0, 2.0).cdf).pvalue > LEVEL
    mixed = lb.Stationary([*EVERY_FAMILY.phases[0][1:], Uniform(0.0, 1.0)])  # as many arms
    during = trace(mixed)
    assert set(during.arms) == set(range(mixed.n_arms))
    assert (sampled(mixed, during.arms, seed=8) == during.rewards).all()
    assert (trace(EVERY_FAMILY).rewards == before.rewards).all()


def test_code_knows_the_families_of_its_environment_and_common_ones(request):
    def families(*arms):
        found = lb.Stationary([lb.Bernoulli(0.5), *arms]).compile(10).families
        assert len(found.used) <= len(lb.FAMILIES)
        used = [name for name, use in zip(lb.FAMILIES, found.used, strict=False) if use]
        return type(found), found.used, set(used)

    kind, used, common = families(lb.Gaussian(0.0))
    assert common == {"Bernoulli", "Dirac", "Discrete", "Gaussian"}
    assert families(lb.Dirac(0.5)) == families(lb.Gaussian(0.0))  # so they share their code
    assert families(lb.Poisson(1.0))[2] == common | {"Poisson"}
    Uniform = request.getfixturevalue("uniform_family")
    assert families(lb.Dirac(0.5)) == (kind, used, common)  # also beside a user's family
    users = families(lb.Beta(1.0, 1.0), Uniform(0.0, 1.0))
    assert users[2] == common | {"Beta", "Uniform"}
    assert Uniform in users[0].members
    assert users[0] is not kind is families(lb.Beta(1.0, 1.0))[0]


def test_only_registered_families_are_arms():
    class Stranger(NamedTuple):
        mean: float

    with pytest.raises(ValueError, match=r"Stranger\(mean=0.5\) is not an arm; use one of .*Beta"):
        lb.Stationary([lb.Bernoulli(0.5), Stranger(0.5)])


@pytest.mark.parametrize("scale", [1e6, 1e9])
def test_a_wide_truncated_gaussian_is_nearly_uniform(scale):
    # The density differs from a constant by 1e-12 over the interval.
    assert lb.TruncatedGaussian(0.3, scale).mean == pytest.approx(0.5, abs=1e-9)
