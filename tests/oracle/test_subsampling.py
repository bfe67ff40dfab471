"""Policies that sample their rewards take the decisions of their twins, one by one."""

import pytest
from scipy.stats import qmc

import lastblock as lb
import oracle.besa
import oracle.dirichletsampling
import oracle.ldssda
import oracle.perturbed
import oracle.rbsda
import oracle.ssmc
import oracle.wrsda
from lastblock.kernels.jit import plain
from lastblock.policies.ldssda import sobol_point
from oracle.worlds import (
    World,
    bernoulli,
    constant,
    dyadic,
    gaussian,
    play,
    regimes,
    shifted,
)
from trials import mostly_trials


def quarters(rng, levels, t, arm):
    """Multiples of ¼ in [0, 1], the ends among them."""
    return min(4, max(0, round(4 * levels[arm] + rng.gauss(0.0, 1.0)))) / 4


def unit(rng, levels, t, arm):
    return levels[arm] * rng.random()


def late_third(rng, levels, t, arm):
    """Two values for a while, the lower one seen last, then a third."""
    return 0.5 if t >= 150 and rng.random() < 0.1 else 3.0 * (rng.random() < levels[arm]) - 1.0


def assert_same_decisions(policy, twin, kind, arms, horizon, seed):
    play(policy, twin, World(kind, arms, seed), horizon, seed)


ANY = [bernoulli, constant, dyadic, gaussian, regimes, shifted, late_third]
BOUNDED = [bernoulli, quarters, unit]
SIZES = [(2, 80, 6), *mostly_trials([(2, 400, 1), (3, 300, 2), (3, 250, 3)], {(3, 300, 2)})]
MORE = [*SIZES, *mostly_trials([(4, 200, 4), (5, 40, 4)], {(5, 40, 4)})]


@pytest.mark.parametrize("kind", ANY)
@pytest.mark.parametrize(("arms", "horizon", "seed"), MORE)
@pytest.mark.parametrize("reference", [False, True], ids=["paper", "reference"])
def test_rbsda(kind, arms, horizon, seed, reference):
    twin = oracle.rbsda.RBSDA(arms, seed, reference)
    assert_same_decisions(lb.RBSDA(reference=reference), twin, kind, arms, horizon, seed)


@pytest.mark.parametrize("kind", [bernoulli, constant, dyadic, late_third])
@pytest.mark.parametrize("reference", [False, True], ids=["paper", "reference"])
def test_wrsda_and_ldssda(kind, reference):
    for policy, twin in ((lb.WRSDA, oracle.wrsda.WRSDA), (lb.LDSSDA, oracle.ldssda.LDSSDA)):
        assert_same_decisions(policy(reference), twin(3, 2, reference), kind, 3, 300, 2)


BONUSES = [
    {"bonus": "robust"},
    {"bonus": "bounded", "rho": 1.5, "margin": 0.25},
    {"bonus": "quantile", "alpha": 0.2},
    {"bonus": "bounded", "memory": 16},
    {"bonus": "known", "upper": 20.0},
]


@pytest.mark.parametrize("kind", [bernoulli, constant, gaussian])
@pytest.mark.parametrize("parameters", BONUSES, ids=repr)
def test_dirichlet_sampling(kind, parameters):
    twin = oracle.dirichletsampling.DirichletSampling(3, 2, **parameters)
    assert_same_decisions(lb.DirichletSampling(**parameters), twin, kind, 3, 250, 2)


def test_points_of_the_low_discrepancy_sequence():
    """The first dimension of Sobol's sequence, as SciPy has it."""
    points = qmc.Sobol(1, scramble=False).random(64)[:, 0]
    assert [plain(sobol_point)(n) for n in range(64)] == points.tolist()


@pytest.mark.parametrize("kind", ANY)
@pytest.mark.parametrize(("arms", "horizon", "seed"), MORE)
@pytest.mark.parametrize("exploration", [0.0, 1.0, 3.0])
def test_ssmc(kind, arms, horizon, seed, exploration):
    twin = oracle.ssmc.SSMC(arms, seed, exploration)
    assert_same_decisions(lb.SSMC(exploration=exploration), twin, kind, arms, horizon, seed)


@pytest.mark.parametrize("kind", ANY)
@pytest.mark.parametrize(("arms", "horizon", "seed"), [*MORE, (7, 40, 5)])
@pytest.mark.parametrize("initial", [1, 3])
def test_besa(kind, arms, horizon, seed, initial):
    twin = oracle.besa.BESA(arms, seed, initial)
    assert_same_decisions(lb.BESA(initial=initial), twin, kind, arms, horizon, seed)


@pytest.mark.parametrize("n", range(2, 40))
def test_a_tournament_halves_its_list(n):
    levels = oracle.besa.halves(n)
    whole = [(0, n)]
    for level in levels:
        assert [(first, last) for first, _, last in level] == [
            (first, last) for first, last in whole if last - first > 1
        ]
        whole = []
        for first, middle, last in level:
            assert abs((middle - first) - (last - middle)) <= 1
            whole += [(first, middle), (middle, last)]
    assert all(last - first == 1 for first, last in whole)


@pytest.mark.parametrize("kind", BOUNDED)
@pytest.mark.parametrize(("arms", "horizon", "seed"), SIZES)
@pytest.mark.parametrize("a", [0.5, 1.1, 2.0])
def test_phe(kind, arms, horizon, seed, a):
    twin = oracle.perturbed.PHE(arms, seed, a)
    assert_same_decisions(lb.PHE(a=a), twin, kind, arms, horizon, seed)


@pytest.mark.parametrize("kind", BOUNDED)
@pytest.mark.parametrize(("arms", "horizon", "seed"), SIZES)
@pytest.mark.parametrize("a", [0.0, 0.3, 1.0])
def test_giro(kind, arms, horizon, seed, a):
    twin = oracle.perturbed.Giro(arms, seed, a)
    assert_same_decisions(lb.Giro(a=a), twin, kind, arms, horizon, seed)


@pytest.mark.parametrize("kind", BOUNDED)
@pytest.mark.parametrize(("arms", "horizon", "seed"), SIZES)
@pytest.mark.parametrize("bound", [0.5, 1.0])
def test_npts(kind, arms, horizon, seed, bound):
    twin = oracle.perturbed.NPTS(arms, seed, bound)
    assert_same_decisions(lb.NPTS(bound=bound), twin, kind, arms, horizon, seed)


@pytest.mark.parametrize(
    "policy", [lb.RBSDA(), lb.SSMC(), lb.BESA(), lb.PHE(), lb.Giro(), lb.NPTS()], ids=repr
)
@pytest.mark.parametrize("kind", [bernoulli, unit])
def test_rewards_may_be_late(policy, kind):
    """Every decision answers, with up to twenty rewards out; no arm is forgotten."""
    world = World(kind, 3, 6)
    bandit = lb.Bandit(policy, 3, seed=6)
    for _ in range(20):
        bandit.ask()
    for _ in range(300):
        bandit.ask()
        decision = bandit.pending[world.rng.randrange(20)]
        bandit.tell(decision, world.reward(decision.arm))
    assert min(bandit.pulls.values()) > 0
