"""Which rewards policies take and arms give, and that nothing else gets through."""

import math
import re
from pathlib import Path
from typing import NamedTuple

import pytest

import lastblock as lb
from lastblock.core.families import FAMILIES, arm_support, family
from lastblock.core.registry import POLICIES, policy
from lastblock.core.support import Support, support_of
from lastblock.lab.scenario import Scenario
from lastblock.support.errors import ScenarioError

PAGES = Path(__file__).parents[2] / "docs" / "policies"
ANY, UNIT, NON_NEGATIVE = Support(), Support(0.0, 1.0), Support(0.0, math.inf)


@pytest.mark.parametrize(
    ("made", "support"),
    [
        (lb.LBSDA(), ANY),
        (lb.UCB1(), ANY),
        (lb.EpsilonGreedy(), ANY),
        (lb.Thompson(), UNIT),
        (lb.Thompson(family="gaussian"), ANY),
        (lb.KLUCB(family="poisson"), NON_NEGATIVE),
        (lb.IMED(family="exponential"), NON_NEGATIVE),
        (lb.GLRKLUCB(0.1, 0.1), UNIT),
        (lb.EXP3(0.1), UNIT),
        (lb.EXP3S(0.1, 0.1), UNIT),
        (lb.EXP3S(0.1, 0.1, as_is=True), ANY),
        (lb.EXP3S(0.1, 0.1, reference=True), ANY),
        (lb.PHE(), UNIT),
        (lb.Binarized(lb.Thompson(), -1.0, 5.0), Support(-1.0, 5.0)),
        (lb.Binarized(lb.Thompson(), -1.0, 5.0, clip=True), ANY),
        (lb.Restarting(lb.KLUCB(family="poisson"), lb.MeanShift()), NON_NEGATIVE),
        (lb.Restarting(lb.KLUCB(family="poisson"), lb.GLR()), UNIT),
        (lb.Restarting(lb.LBSDA(), lb.GLR(family="exponential")), NON_NEGATIVE),
        (lb.OracleRestart(lb.Giro(), (10,)), UNIT),
        (lb.Restarting(lb.Binarized(lb.NPTS(), 0.0, 7.0), lb.MeanShift()), Support(0.0, 7.0)),
    ],
    ids=repr,
)
def test_what_policies_take(made, support):
    assert support_of(made) == support


def test_every_page_says_what_its_policy_takes():
    own = [name for name, cls in POLICIES.items() if cls.__module__.startswith("lastblock.")]
    missing = [name for name in own if "**Rewards.**" not in page(name)]
    assert missing == []


def page(name):
    return (PAGES / f"{name.lower()}.md").read_text(encoding="utf-8")


@pytest.mark.parametrize(
    ("arm", "support"),
    [
        (lb.Bernoulli(0.3), UNIT),
        (lb.Beta(2.0, 3.0), UNIT),
        (lb.Gaussian(0.5, 0.01), ANY),
        (lb.Poisson(2.0), NON_NEGATIVE),
        (lb.Exponential(2.0), NON_NEGATIVE),
        (lb.Dirac(-3.0), Support(-3.0, -3.0)),
        (lb.Discrete([-5.0, 1.0, 9.0], [0.0, 0.5, 0.5]), Support(1.0, 9.0)),
        (lb.TruncatedGaussian(0.0, 1.0, low=-2.0, high=1.0), Support(-2.0, 1.0)),
    ],
    ids=repr,
)
def test_what_arms_give(arm, support):
    assert arm_support(arm) == support  # the conformance suite looks at the rewards


def test_what_environments_give():
    phases = {0: [lb.Bernoulli(0.1), lb.Dirac(-2.0)], 9: [lb.Dirac(4.0), lb.Bernoulli(0.1)]}
    assert lb.Piecewise(phases).support == Support(-2.0, 4.0)
    paths = [lb.Sinusoid(2.0, 3.0, period=100), lb.Table([0.0, 7.0])]
    assert lb.Drifting([lb.Dirac(0.0), lb.Dirac(0.0)], paths).support == Support(-1.0, 7.0)
    paths = [lb.Sinusoid(0.5, 0.1, period=100), lb.Table([0.2, 0.4])]
    assert lb.Drifting([lb.Bernoulli(0.0)] * 2, paths).support == UNIT


@pytest.mark.parametrize(
    ("made", "reward", "words"),
    [
        (
            lb.Thompson(),
            37.5,
            [
                "reward=37.5",
                "Thompson takes numbers in [0, 1]",
                "Binarized(Thompson(…), low, high)",
                "clip=True",
                'family="gaussian"',
                "set prior_mean, prior_sigma, sigma to suit your rewards",
            ],
        ),
        (lb.EXP3(0.1), -0.1, ["numbers in [0, 1]", "Binarized(EXP3(…), low, high)", "LBSDAGM()"]),
        (lb.KLUCB(family="poisson"), -1, ["numbers of at least 0", "gaussian", "(set sigma to"]),
        (lb.Binarized(lb.Thompson(), 0, 9), 10, ["[0, 9]", "move low and high", "clip=True"]),
        (lb.Restarting(lb.Thompson(), lb.GLR()), 2, ["Binarized(Restarting(…)", "gaussian"]),
    ],
    ids=repr,
)
@pytest.mark.usefixtures("plain")
def test_the_error_names_the_remedy(made, reward, words):
    bandit = lb.Bandit(made, 3, seed=1)
    decision = bandit.ask()
    before = bandit.to_bytes()
    with pytest.raises(ValueError, match="takes") as refused:
        bandit.tell(decision, reward)
    assert [word for word in words if word not in str(refused.value)] == []
    assert bandit.to_bytes() == before


def test_the_remedies_work():
    world = lb.Stationary([lb.TruncatedGaussian(20.0, 8.0, low=0.0, high=60.0), lb.Dirac(26.0)])
    with pytest.raises(ValueError, match=r"the environment gives numbers in \[0, 60\]"):
        lb.simulate(lb.Thompson(), world, horizon=10)
    gaussian = lb.Thompson(family="gaussian", prior_mean=20.0, prior_sigma=10.0, sigma=8.0)
    wrapped = lb.Binarized(lb.Thompson(), 0.0, 60.0)
    clipped = lb.Binarized(lb.Thompson(), 10.0, 40.0, clip=True)
    for made in (gaussian, wrapped, clipped):
        run = lb.simulate(made, world, horizon=2000, replications=20, seed=1)
        assert run.pulls[:, 1].mean() > 1400, made


def test_the_error_names_parameters_that_suit_the_environment():
    """With the default prior, an arm of mean 6 is never tried once one of mean 5 was pulled."""
    world = lb.Stationary([lb.Gaussian(5.0), lb.Gaussian(6.0)])
    with pytest.raises(ValueError, match="the environment gives any number") as refused:
        lb.simulate(lb.Thompson(), world, horizon=10)
    values = dict(re.findall(r"(prior_mean|prior_sigma|sigma)=([\d.]+)", str(refused.value)))
    assert values == {"prior_mean": "5.5", "prior_sigma": "1", "sigma": "1"}
    suited = lb.Thompson(family="gaussian", **{name: float(x) for name, x in values.items()})
    run = lb.simulate(suited, world, horizon=500, replications=20, seed=1)
    assert run.pulls[:, 1].mean() > 450
    with pytest.raises(ValueError, match=r"which takes any number \(here with sigma=1\)"):
        lb.simulate(lb.KLUCB(), world, horizon=10)


def test_where_rewards_lie():
    phases = {0: [lb.Gaussian(1.0, 0.5), lb.Gaussian(2.0, 3.0)], 9: [lb.Gaussian(9.0)] * 2}
    assert lb.Piecewise(phases).reward_scale == (5.0, 8.0, 3.0)
    paths = [lb.Sinusoid(2.0, 3.0, period=100), lb.Table([0.0, 7.0])]
    assert lb.Drifting([lb.Gaussian(0.0)] * 2, paths).reward_scale == (3.0, 8.0, 1.0)
    assert lb.Stationary([lb.Gaussian(0.0), lb.Exponential(1.0)]).reward_scale is None


@pytest.mark.usefixtures("plain")
def test_fleets_refuse_before_anything_is_told():
    fleet = lb.Fleet(lb.Thompson(), arms=3, size=10, seed=1)
    arms = fleet.ask([1, 2, 3])
    before = fleet._states[2:4].tobytes()
    with pytest.raises(ValueError, match=r"rewards\[1\]=37.5, but Thompson takes"):
        fleet.tell([1, 2, 3], arms, [1.0, 37.5, 0.0])
    assert fleet._states["told"].sum() == 0
    assert fleet._states[2:4].tobytes() == before
    fleet.tell([1, 2, 3], arms, [1.0, 0.5, 0.0])


def test_logs_are_checked():
    log = {"arm": ["a", "b"] * 20, "reward": [0.0, 1.0] * 19 + [0.0, 3.0]}
    with pytest.raises(ValueError, match="event 39 of the log has the reward 3, but Thompson"):
        lb.Replay(log).evaluate(lb.Thompson())
    lb.Replay(log).evaluate(lb.LBSDALM(), seed=1)


def test_scenarios_are_checked(tmp_path):
    path = tmp_path / "mine.toml"
    path.write_text(
        'horizon = 100\n[arms]\nfamily = "Gaussian"\nmean = [5, 6]\nstd = 1.0\n'
        '[[policies]]\npolicy = "LBSDA"\n[[policies]]\npolicy = "Thompson"\n'
    )
    with pytest.raises(
        ScenarioError, match=r"mine.toml: policies\[1\].*the environment gives any number"
    ):
        Scenario.load(path)
    world = lb.Stationary([lb.Gaussian(5.0), lb.Gaussian(6.0)])
    with pytest.raises(ScenarioError, match="TS: the environment gives any number"):
        Scenario("mine", world, 100, {"TS": lb.Thompson()})


class Mystery(NamedTuple):
    mean: float

    def parameters(self):
        return (self.mean,)

    @staticmethod
    def draw(a, b, c, d, table, at, word, scratch):
        return a


class Odd(NamedTuple):
    window: int = 1

    def layout(self, arms, horizon):
        return []

    def start(self, s): ...
    def plan(self, s): ...
    def observe(self, s, arm, reward): ...


def test_families_that_do_not_say():
    try:
        family()(Mystery)
        world = lb.Stationary([Mystery(0.2), lb.Bernoulli(0.5)])
        assert world.support is None
        with pytest.raises(ValueError, match="the arm family Mystery has no method `support`"):
            lb.simulate(lb.Thompson(), world, horizon=10)
    finally:
        del FAMILIES["Mystery"]


def test_environments_that_do_not_say():
    class Own:
        n_arms, changes = 2, ()

        def compile(self, horizon):
            raise AssertionError

    with pytest.raises(ValueError, match="Own has no attribute `support`"):
        lb.simulate(lb.Thompson(), Own(), horizon=10)


def test_wrong_declarations():
    with pytest.raises(ValueError, match="Odd: support='sometimes' must be one of 'any'"):
        policy(support="sometimes")(Odd)
    with pytest.raises(ValueError, match="Odd: support='family' needs a parameter `family`"):
        policy(support="family")(Odd)
    Odd.support = lambda self: (0.0, 2.0)
    with pytest.raises(ValueError, match="give support='unit' or a method `support`, not both"):
        policy(support="unit")(Odd)
    assert "Odd" not in POLICIES


def test_binarized_hands_on_coins():
    with pytest.raises(ValueError, match="the wrapped policy gets rewards 0 and 1"):
        lb.Binarized(lb.Binarized(lb.Thompson(), 2.0, 3.0))
