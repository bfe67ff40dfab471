"""Parts of policies against their twins, SciPy, optimisers and printed figures."""

import math
from types import SimpleNamespace

import numpy as np
import pytest
from scipy.optimize import minimize, minimize_scalar
from scipy.special import betainccinv
from scipy.stats import qmc

import lastblock as lb
from lastblock.kernels.jit import plain
from lastblock.kernels.proportions import best_proportions
from lastblock.policies._beta_quantiles import beta_quantile_above
from lastblock.policies.ldssda import sobol_point
from lastblock.policies.tsallisinf import solve_chances
from oracle import besa, glrklucb, klucb
from oracle.chances import regularised, tsallis_chances
from oracle.identification import best_weights

FAMILIES = ["bernoulli", "gaussian", "poisson", "exponential"]


@pytest.mark.parametrize("wins", [0, 1, 7, 300, 20_000])
@pytest.mark.parametrize("losses", [0, 3, 40, 9000])
def test_beta_quantiles_are_scipys(wins, losses):
    for t in (3.0, 50.0, 1e4, 1e9):
        x, slope = beta_quantile_above(1.0 + wins, 1.0 + losses, math.log(t))
        assert x == pytest.approx(betainccinv(1.0 + wins, 1.0 + losses, 1.0 / t), rel=1e-9)
        # The slope is the derivative by log t, by which bounds are ruled out.
        further = betainccinv(1.0 + wins, 1.0 + losses, 1.0 / (t * 1.001))
        assert further <= x + slope * math.log(1.001) * (1.0 + 1e-6) + 1e-12


@pytest.mark.parametrize("losses", [[0.0, 0.0, 0.0], [3.0, 1.0, 2.5, 40.0], [1e6, 0.0]])
def test_tsallis_chances_minimise_what_the_paper_minimises(losses):
    """An optimiser that knows nothing of the solution's form finds nothing better."""
    rate, arms = 0.3, len(losses)
    s = SimpleNamespace(arms=arms, shift=1.0, loss=np.array(losses), chance=np.zeros(arms))
    solve_chances(s, rate)
    assert s.chance.sum() == pytest.approx(1.0, abs=1e-12)
    assert s.chance == pytest.approx(tsallis_chances(losses, rate), rel=1e-9)
    found = minimize(
        lambda p: regularised(np.maximum(p, 0.0), losses, rate),
        np.full(arms, 1.0 / arms),
        bounds=[(0.0, 1.0)] * arms,
        constraints={"type": "eq", "fun": lambda p: p.sum() - 1.0},
        options={"ftol": 1e-12},
    )
    assert regularised(s.chance, losses, rate) <= found.fun + 1e-6 * max(1.0, abs(found.fun))


def test_the_gradient_bandit_follows_the_gradient():
    """The mean change of the preferences is the gradient of the mean reward."""
    means = np.array([0.2, 0.5, 0.9])
    preferences = np.array([0.3, -0.2, 0.1])
    chances = np.exp(preferences) / np.exp(preferences).sum()
    change = np.zeros(3)
    for arm in range(3):
        s = SimpleNamespace(
            arms=3, weight=2.0, total=0.8, preference=preferences.copy(), chance=chances
        )
        lb.GradientBandit(step=1.0).observe(s, arm, means[arm])
        change += chances[arm] * (s.preference - preferences)
    assert change == pytest.approx(chances * (means - chances @ means), abs=1e-9)


def proportions(means, family):
    """The best shares of pulls, and the case against the strongest rival."""
    shares = np.empty(len(means))
    case = best_proportions(np.array(means), shares, len(means), FAMILIES.index(family), 1.0)
    return shares, case


@pytest.mark.parametrize(
    ("family", "means"),
    [
        ("bernoulli", (0.5, 0.45, 0.43, 0.4)),
        ("bernoulli", (0.02, 0.018, 0.02 - 1e-5)),
        ("bernoulli", (1.0, 0.0, 0.5)),
        ("gaussian", (1e6 - 3.0, 1e6, 1e6 - 1.0)),
        ("poisson", (0.0, 1.0, 4.0)),
        ("exponential", (0.0, 2.0, 1.999)),
    ],
)
def test_best_proportions(family, means):
    """They are the twin's; and no other proportions make a stronger case against all rivals."""
    shares, case = proportions(means, family)
    assert shares.tolist() == pytest.approx(best_weights(means, family, 1.0), abs=1e-7)
    if family == "exponential":
        return  # a mean of 0 has no divergence
    rng = np.random.default_rng(1)
    best = max(range(len(means)), key=means.__getitem__)

    def weakest(weights):
        cases = []
        for k, mean in enumerate(means):
            if k != best:
                middle = np.average([means[best], mean], weights=[weights[best], weights[k]])
                kl = [lb.theory.kl(p, middle, family) for p in (means[best], mean)]
                cases.append(weights[best] * kl[0] + weights[k] * kl[1])
        return min(cases)

    assert weakest(shares) == pytest.approx(case, rel=1e-6)
    for _ in range(50):
        other = shares * np.exp(0.1 * rng.normal(size=len(means)))
        assert weakest(other / other.sum()) <= case * (1.0 + 1e-6)


def test_published_proportions():
    """Those that Garivier & Kaufmann (2016) print for their two experiments."""
    for means, printed in [
        ((0.5, 0.45, 0.43, 0.4), (0.417, 0.390, 0.136, 0.057)),
        ((0.3, 0.21, 0.2, 0.19, 0.18), (0.336, 0.251, 0.177, 0.132, 0.104)),
    ]:
        assert proportions(means, "bernoulli")[0].tolist() == pytest.approx(printed, abs=0.0006)


@pytest.mark.parametrize("family", FAMILIES)
def test_proportions_of_means_that_are_level_or_tiny(family):
    for means in [
        (0.0, 0.0, 0.0),
        (1.0, 1.0, 0.0),
        (0.5, 0.5 - 1e-13, 0.5),
        (1.0, 1.0 - 1e-15, 0.5),
    ]:
        shares, case = proportions(means, family)
        assert case == pytest.approx(0.0)
        best = [mean > max(means) - 1e-12 for mean in means]
        assert shares.tolist() == [each / sum(best) for each in best]
    for means in [(1e-320, 0.0, 0.0), (1e-200, 1e-210, 0.0), (1.0, 1e-300, 0.0)]:
        shares, _ = proportions(means, family)
        assert np.all(shares >= 0.0)
        assert shares.sum() == pytest.approx(1.0)


def test_an_arm_that_never_answers_is_left_out():
    shares, case = proportions((0.5, -math.inf, 0.25), "bernoulli")
    assert shares[1] == 0.0
    assert case > 0.0
    shares, case = proportions((0.5, -math.inf, -math.inf), "bernoulli")
    assert (shares.tolist(), case) == ([1.0, 0.0, 0.0], 0.0)


def test_points_of_the_low_discrepancy_sequence():
    """The first dimension of Sobol's sequence, as SciPy has it."""
    points = qmc.Sobol(1, scramble=False).random(64)[:, 0]
    assert [plain(sobol_point)(n) for n in range(64)] == points.tolist()


@pytest.mark.parametrize("n", range(2, 40))
def test_a_tournament_halves_its_list(n):
    whole = [(0, n)]
    for level in besa.halves(n):
        assert [(first, last) for first, _, last in level] == [
            (first, last) for first, last in whole if last - first > 1
        ]
        whole = []
        for first, middle, last in level:
            assert abs((middle - first) - (last - middle)) <= 1
            whole += [(first, middle), (middle, last)]
    assert all(last - first == 1 for first, last in whole)


def test_sessions_of_diminishing_exploration():
    """⌈(K / 4α)²⌉, then ⌈(√u + K / 2α)²⌉: about 2α √n pulls of all n."""
    assert glrklucb.sessions(3, 1.0, 100) == [-3, 1, 7, 18, 33, 53, 78]
    assert 3 * len(glrklucb.sessions(3, 1.0, 10_000)[1:]) == pytest.approx(200, rel=0.02)


@pytest.mark.usefixtures("plain")
def test_the_best_arm_of_an_environment():
    coins = [[lb.Bernoulli(rate) for rate in rates] for rates in [(1, 0, 1), (0, 1, 1), (0, 0, 1)]]
    tables = [lb.Table([0.1, 0.9, 0.5]), lb.Table([0.3, 0.3, 0.5])]
    for environment, horizon in [
        (lb.Stationary(coins[0]), 20),
        (lb.Piecewise({0: coins[0], 7: coins[1], 8: coins[0], 9: coins[2]}), 20),
        (lb.Drifting([lb.Bernoulli(0.5)] * 2, tables), 3),
    ]:
        bandit = lb.Bandit(lb.BestArm(environment, horizon=horizon), environment.n_arms, seed=1)
        for t in range(horizon):
            decision = bandit.ask()
            assert decision.arm == np.argmax(environment.means(t))
            bandit.tell(decision, 0.0)


# Laws on [0, 1] of any form, by solvers that know nothing of the twin's duals. Kernels take the
# twin's decisions.

SAMPLES = {
    "between": [0.2, 0.35, 0.1, 0.5, 0.42],
    "a one": [0.2, 1.0, 0.1, 0.5, 0.0, 0.0],
    "close to one": [0.2, 0.3, 0.999, 0.1],
    "coins": [0.0, 1.0, 0.0, 0.0],
}


def dual_value(rewards, target):
    """K_inf by a maximisation over λ."""

    def loss(share):
        return -np.mean(np.log1p(-share * (np.array(rewards) - target) / (1.0 - target)))

    found = minimize_scalar(
        loss, bounds=(0.0, 1.0 - 1e-13), method="bounded", options={"xatol": 1e-13}
    )
    return max(-found.fun, -loss(0.0))


def primal_bound(rewards, level):
    """The largest mean of a law on the rewards and 1, at a divergence of at most `level`."""
    places = np.unique([*rewards, 1.0])
    shares = np.array([np.mean(np.array(rewards) == place) for place in places])
    seen = shares > 0.0

    def divergence(weights):
        return np.sum(shares[seen] * np.log(shares[seen] / weights[seen]))

    start = np.where(seen, 0.95 * shares, 0.0)
    start[-1] += 1.0 - start.sum()
    found = minimize(
        lambda weights: -weights @ places,
        start,
        bounds=[(1e-12, 1.0)] * places.size,
        constraints=[
            {"type": "eq", "fun": lambda weights: weights.sum() - 1.0},
            {"type": "ineq", "fun": lambda weights: level - divergence(weights)},
        ],
        options={"ftol": 1e-14, "maxiter": 1000},
    )
    return -found.fun


@pytest.mark.parametrize("name", SAMPLES)
def test_divergences_of_any_law_are_what_they_stand_for(name):
    """The maximum over λ; and the largest mean nearby."""
    rewards = SAMPLES[name]
    for best in (0.6, 0.75, 0.95):
        exact = dual_value(rewards, best)
        assert klucb.k_inf(rewards, best) == pytest.approx(exact, rel=1e-6, abs=1e-9)
    for level in (0.05, 0.3):
        exact = primal_bound(rewards, level)
        assert klucb.largest_empirical_mean(rewards, level) == pytest.approx(exact, abs=1e-6)
