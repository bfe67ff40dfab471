"""The randomised policies against closed forms and exact small cases."""

import itertools
import math

import numpy as np
import pytest
from scipy import stats

import lastblock as lb
from lastblock.lab.scenario_files.reading import names
from trials import mostly_trials, trial

REPLICATIONS = 20_000
# Seeds are fixed. A right policy would pass this level with all but one in a thousand seeds.
LEVEL = 1e-3


def first_pulls(policy, rewards, horizon, seed=1):
    """How often the first arm was pulled, in many replications with constant rewards."""
    env = lb.Stationary([lb.Dirac(reward) for reward in rewards])
    run = lb.simulate(policy, env, horizon=horizon, replications=REPLICATIONS, seed=seed)
    return np.bincount(run.pulls[:, 0], minlength=horizon + 1)


def exact_law(chance_of_first, horizon):
    """The law of the pulls of the first of two arms, summed over all sequences of arms."""
    law = np.zeros(horizon + 1)
    for arms in itertools.product([0, 1], repeat=horizon):
        probability = 1.0
        for t, arm in enumerate(arms):
            p = chance_of_first(arms[:t])
            probability *= p if arm == 0 else 1.0 - p
        law[arms.count(0)] += probability
    return law


def assert_law(counts, law):
    possible = law > 0.0
    assert counts[~possible].sum() == 0
    assert stats.chisquare(counts[possible], law[possible] * counts.sum()).pvalue > LEVEL


def test_thompson_on_arms_that_always_pay_is_an_urn():
    # P(Beta(a, 1) > Beta(b, 1)) = a / (a + b): Pólya's urn, whose law is uniform.
    assert_law(first_pulls(lb.Thompson(), [1.0, 1.0], 6), np.full(7, 1 / 7))


def test_thompson_binarises():
    # The first reward is a coin: the second pull stays with probability ½ · ⅔ + ½ · ⅓ = ½ for
    # rewards ½, and ¾ · ⅔ + ¼ · ⅓ = 7/12 for rewards ¾.
    for reward, stays in [(0.5, 1 / 2), (0.75, 7 / 12)]:
        counts = first_pulls(lb.Thompson(), [reward, reward], 2)
        assert_law(counts, np.array([stays / 2, 1 - stays, stays / 2]))


def other_urn(arms):
    """P(Beta(1, a) > Beta(1, b)) = b / (a + b)."""
    return (1 + arms.count(1)) / (2 + len(arms))


def poisson_arms(arms):
    """Means of Gamma(1, 2 + n): exponential, so that the first is larger with b / (a + b)."""
    a, b = (2 + arms.count(k) for k in (0, 1))
    return b / (a + b)


def exponential_arms(arms):
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


@pytest.mark.parametrize(
    ("policy", "rewards", "chance"),
    [
        (lb.Thompson(), [0.0, 0.0], other_urn),
        (lb.Thompson("poisson", prior_mean=0.5, prior_sigma=0.5), [0.0, 0.0], poisson_arms),
        (
            lb.Thompson("exponential", prior_mean=1.0, prior_sigma=1.0),
            [1.0, 1.5],
            exponential_arms,
        ),
        (lb.DiscountedThompson(0.5), [1.0, 1.0], discounted),
        (lb.SlidingWindowThompson(2), [1.0, 1.0], windowed),
    ],
)
def test_thompson_in_small_cases(policy, rewards, chance):
    assert_law(first_pulls(policy, rewards, 6), exact_law(chance, 6))


@pytest.mark.parametrize(
    "make",
    [
        lb.Thompson,
        lambda **p: lb.SlidingWindowThompson(60, **p),
        lambda **p: lb.DiscountedThompson(1.0, **p),
    ],
)
def test_gaussian_thompson_in_small_cases(make):
    mean, prior_sigma, sigma, rewards = 0.2, 0.7, 1.5, [1.0, -0.5]

    def chance(arms):
        centres, variances = [], []
        for k in (0, 1):
            precision = 1 / prior_sigma**2 + arms.count(k) / sigma**2
            total = mean / prior_sigma**2 + arms.count(k) * rewards[k] / sigma**2
            centres.append(total / precision)
            variances.append(1 / precision)
        return stats.norm.cdf((centres[0] - centres[1]) / math.sqrt(sum(variances)))

    policy = make(family="gaussian", prior_mean=mean, prior_sigma=prior_sigma, sigma=sigma)
    assert_law(first_pulls(policy, rewards, 5), exact_law(chance, 5))


def exp3s_chance(gamma, alpha, late, rewards):
    def chance(arms):
        w = before = [1.0, 1.0]
        for t, arm in enumerate(arms):
            p = chance(arms[:t])
            gain = gamma * rewards[arm] / (p if arm == 0 else 1 - p) / 2
            before = w
            w = [
                w[k] * (math.exp(gain) if k == arm else 1.0) + math.e * alpha / 2 * sum(w)
                for k in (0, 1)
            ]
        used = before if late else w
        return (1 - gamma) * used[0] / sum(used) + gamma / 2

    return chance


@pytest.mark.parametrize(
    ("policy", "alpha", "late"),
    [
        (lb.EXP3(0.5), 0.0, False),
        (lb.REXP3(0.5, 10), 0.0, False),
        (lb.EXP3S(0.5, 0.2), 0.2, False),
        (lb.EXP3S(0.5, 0.2, reference=True), 0.2, True),
    ],
)
def test_exponential_weights_in_small_cases(policy, alpha, late):
    rewards = [1.0, 0.25]
    law = exact_law(exp3s_chance(0.5, alpha, late, rewards), 6)
    assert_law(first_pulls(policy, rewards, 6), law)


def test_exp3_keeps_its_bound():
    # Corollary 3.2 of Auer & al.: 2√(e − 1) √(T K log K), whatever the rewards.
    env = lb.Stationary([lb.Bernoulli(p) for p in (0.5, 0.3, 0.4)])
    policy = lb.EXP3.tuned(horizon=10_000, arms=3)
    run = lb.simulate(policy, env, horizon=10_000, replications=100, seed=1)
    bound = 2 * math.sqrt((math.e - 1) * 10_000 * 3 * math.log(3))
    assert 0.2 * bound < run.mean()[-1] < bound


def test_rexp3_in_one_batch_is_exp3():
    env = lb.Stationary([lb.Bernoulli(0.4), lb.Bernoulli(0.6)])
    runs = [
        lb.simulate(policy, env, horizon=1000, replications=5, seed=1)
        for policy in (lb.EXP3(0.1), lb.REXP3(0.1, 1000), lb.REXP3(0.1, 100))
    ]
    assert np.array_equal(runs[0].pulls, runs[1].pulls)
    assert not np.array_equal(runs[0].pulls, runs[2].pulls)


@pytest.mark.parametrize("decay", [0.0, 1.0])
def test_epsilon_greedy_on_constant_rewards(decay):
    epsilon, horizon = (0.2, 500) if decay == 0.0 else (20.0, 500)
    means = [0.0, 1.0, 0.5]
    env = lb.Stationary([lb.Dirac(mean) for mean in means])
    run = lb.simulate(
        lb.EpsilonGreedy(epsilon, decay), env, horizon=horizon, replications=5000, seed=1
    )
    explorations = sum(min(1.0, epsilon / t**decay) for t in range(4, horizon + 1))
    expected = (1.0 - np.mean(means)) * (3 + explorations)
    assert abs(run.mean()[-1] - expected) < 4.0 * run.standard_error()[-1]


@pytest.mark.parametrize("cyclic", [True, False])
def test_play_the_winner_shares(cyclic):
    # A visit lasts 1/q pulls, and all arms are visited equally often.
    means = np.array([0.2, 0.5, 0.9])
    env = lb.Stationary([lb.Bernoulli(mean) for mean in means])
    run = lb.simulate(
        lb.PlayTheWinner(cyclic), env, horizon=20_000, replications=200, seed=1, times=[20_000]
    )
    shares = run.pulls / run.horizon
    expected = 1 / (1 - means) / np.sum(1 / (1 - means))
    # Where it starts moves a share by at most one visit, 10 pulls.
    error = shares.std(axis=0, ddof=1) / math.sqrt(run.replications) + 10 / run.horizon / 4
    assert np.all(np.abs(shares.mean(axis=0) - expected) < 4.0 * error)


@pytest.mark.parametrize(
    "policy",
    [lb.Thompson(), *(pytest.param(each, marks=trial) for each in (lb.SWLBSDA(60), lb.LBSDA()))],
)
def test_binarized_leaves_bernoulli_rewards_alone(policy):
    env = lb.Stationary([lb.Bernoulli(0.4), lb.Bernoulli(0.5), lb.Bernoulli(0.6)])
    bare, wrapped = (
        lb.simulate(p, env, horizon=200, replications=25, seed=1)
        for p in (policy, lb.Binarized(policy))
    )
    assert np.array_equal(bare.pulls, wrapped.pulls)


@trial
def test_binarized_thompson_on_scaled_rewards_is_thompson():
    # Thompson sampling binarises by itself: the same law, from other draws.
    beta = [lb.Beta(2.0, 4.0), lb.Beta(4.0, 4.0)]
    bare = lb.simulate(lb.Thompson(), lb.Stationary(beta), horizon=500, replications=4000, seed=1)
    wrapped = lb.simulate(
        lb.Binarized(lb.Thompson()), lb.Stationary(beta), horizon=500, replications=4000, seed=2
    )
    error = math.hypot(bare.standard_error()[-1], wrapped.standard_error()[-1])
    assert abs(bare.mean()[-1] - wrapped.mean()[-1]) < 4.0 * error


def test_binarized_coin_has_the_scaled_mean():
    # Only the arm's own coin decides whether play-the-winner stays: rewards 1 on [−1, 3] are ½.
    counts = first_pulls(lb.Binarized(lb.PlayTheWinner(), -1.0, 3.0), [1.0, 1.0], 2)
    assert_law(counts, np.array([1 / 4, 1 / 2, 1 / 4]))


@pytest.mark.parametrize("policy", [lb.Thompson(), pytest.param(lb.SWLBSDA(60), marks=trial)])
def test_oracle_restart_without_changes_is_the_policy(policy):
    env = lb.Stationary([lb.Bernoulli(0.4), lb.Bernoulli(0.5), lb.Bernoulli(0.6)])
    bare, wrapped = (
        lb.simulate(p, env, horizon=500, replications=10, seed=1)
        for p in (policy, lb.OracleRestart(policy, env))
    )
    assert np.array_equal(bare.pulls, wrapped.pulls)


@trial
def test_oracle_restart_pays_for_each_phase_alone(scenarios, horizon):
    env = scenarios["bernoulli-changes"]
    restarted = lb.OracleRestart(lb.LBSDA(), env)
    run = lb.simulate(restarted, env, horizon=horizon, replications=300, seed=1)
    lengths = np.diff([*env.starts, horizon])
    # One horizon, hence one compilation; the regret is taken when the phase would have ended.
    alone = [
        lb.simulate(
            lb.LBSDA(),
            lb.Stationary(arms),
            horizon=int(lengths.max()),
            replications=300,
            seed=[2, start],
            times=[length],
        )
        for start, length, arms in zip(env.starts, lengths, env.phases, strict=True)
    ]
    error = math.hypot(run.standard_error()[-1], *(phase.standard_error()[0] for phase in alone))
    assert abs(run.mean()[-1] - sum(phase.mean()[0] for phase in alone)) < 4.0 * error


@pytest.mark.parametrize("name", mostly_trials(names(), {"bernoulli-changes"}))
def test_best_arm_has_no_regret(name, scenarios, horizon):
    env = scenarios[name]
    assert lb.simulate(lb.BestArm(env), env, horizon=horizon).regret[0, -1] == 0.0


@trial
def test_best_arm_has_no_regret_where_arms_drift():
    drifting = lb.Drifting(
        [lb.Bernoulli(0.5), lb.Bernoulli(0.5)],
        means=[lb.Sinusoid(0.5, 0.4, period=300), lb.Table([0.2, 0.8], times=[0, 500])],
    )
    run = lb.simulate(lb.BestArm(drifting, horizon=1000), drifting, horizon=1000)
    assert run.regret[0, -1] == 0.0
