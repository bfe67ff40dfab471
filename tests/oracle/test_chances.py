"""The policies that draw arms by chances take their twins' decisions, one by one."""

from types import SimpleNamespace

import numpy as np
import pytest
from scipy.optimize import minimize

import lastblock as lb
from lastblock.policies.tsallisinf import solve_chances
from oracle.chances import GradientBandit, Softmax, TsallisINF, regularised, tsallis_chances
from oracle.randomised import EpsilonGreedy, twin
from oracle.test_randomised import assert_same_decisions, changing, gaussian, thirds

CASES = [
    (
        lb.DiscountedEpsilonGreedy(0.95, 0.1),
        twin(EpsilonGreedy, discount=0.95, epsilon=0.1),
    ),
    (lb.DiscountedEpsilonGreedy(0.5, 0.0), twin(EpsilonGreedy, discount=0.5, epsilon=0.0)),
    (lb.Softmax(), twin(Softmax)),
    (lb.Softmax(0.5, 0.5, 0.9), twin(Softmax, temperature=0.5, decay=0.5, discount=0.9)),
    (lb.GradientBandit(), twin(GradientBandit)),
    (lb.GradientBandit(0.7, 0.9), twin(GradientBandit, step=0.7, discount=0.9)),
    (lb.TsallisINF(), twin(TsallisINF)),
    (lb.TsallisINF(reduced_variance=False), twin(TsallisINF, reduced_variance=False)),
]


@pytest.mark.parametrize("kind", [thirds, changing, gaussian])
@pytest.mark.parametrize(("policy", "make"), CASES, ids=[repr(case[0]) for case in CASES])
def test_same_decisions(policy, make, kind):
    for arms, seed in [(2, 1), (4, 2)]:
        assert_same_decisions(policy, make, arms, kind, seed, 120)


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

    def mean_reward(h):
        return float(means @ np.exp(h) / np.exp(h).sum())

    chances = np.exp(preferences) / np.exp(preferences).sum()
    change = np.zeros(3)
    for arm in range(3):
        s = SimpleNamespace(
            arms=3, weight=2.0, total=0.8, preference=preferences.copy(), chance=chances
        )
        lb.GradientBandit(step=1.0).observe(s, arm, means[arm])
        change += chances[arm] * (s.preference - preferences)
    eps = 1e-6
    gradient = [
        (mean_reward(preferences + eps * e) - mean_reward(preferences - eps * e)) / (2 * eps)
        for e in np.eye(3)
    ]
    assert change == pytest.approx(gradient, abs=1e-9)
