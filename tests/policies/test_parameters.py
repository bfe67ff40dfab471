"""Parameters of policies, detectors, arms and environments: converted, checked, kept."""

import math
import re

import numpy as np
import pytest

import lastblock as lb
from lastblock.core.layout import room_for, state_dtype

ENV = lb.Piecewise(
    {
        0: [lb.Bernoulli(0.9), lb.Bernoulli(0.1), lb.Bernoulli(0.2)],
        50: [lb.Bernoulli(0.1), lb.Bernoulli(0.2), lb.Bernoulli(0.9)],
    }
)

RULES = {
    "must be positive": """
        UCB1(scale=0.0); SWUCB(window=9, scale=-1.0);
        SWUCB.tuned(horizon=9, changes=1, sigma=0.0); DUCB(discount=0.9, scale=0.0);
        DUCB.tuned(horizon=9, changes=1, sigma=-0.5); CUSUMUCB(exploration=0.1, threshold=0.0);
        CUSUMUCB(1.0, 0.1, scale=0.0); MUCB(4, exploration=0.1, threshold=0.0);
        MUCB(4, 1.0, 0.1, scale=0.0); RAWUCB(sigma=0.0); RAWUCB(alpha=0.0); MOSS(10, scale=0.0);
        AnytimeMOSS(alpha=0.0); AnytimeMOSS(sigma=-1.0); UCBV(zeta=0.0); UCBV(c=-1.0);
        UCBV(range=0.0); UCBTuned(range=0.0); KLUCB('gaussian', sigma=0.0); LUCB(sigma=0.0);
        FEWA(sigma=-1.0); FEWA(alpha=0.0); AdSwitch(horizon=9, eviction=0.0);
        Thompson('exponential', prior_mean=-1.0); Softmax(temperature=0.0);
        GradientBandit(step=0.0); GLR(family='gaussian', sigma=0.0); Exponential(mean=0.0);
        TruncatedGaussian(0.5, scale=0.0); PageHinkley(threshold=0.0)
    """,
    "must lie between 2 and": """
        SWUCB(window=1); AdSwitch(horizon=1); SWLBSDA(window=1)
    """,
    "must be at least 2": """
        SWUCB.tuned(changes=0, horizon=1); DUCB.tuned(changes=0, horizon=1);
        MUCB.tuned(horizon=9, changes=1, arms=1); MUCB.tuned(arms=2, changes=1, horizon=1);
        GLRKLUCB.tuned(horizon=1); DiscountedEpsilonGreedy.tuned(horizon=9, arms=1);
        EXP3.tuned(arms=2, horizon=0); EXP3S.tuned(horizon=9, changes=1, arms=1)
    """,
    "must be at least 0 and below": """
        SWUCB.tuned(horizon=9, changes=-1); DUCB.tuned(horizon=9, changes=10);
        CUSUMUCB.tuned(horizon=9, changes=-1); CUSUMUCB.tuned(horizon=9, changes=9);
        MUCB.tuned(arms=2, horizon=9, changes=-1)
    """,
    "must lie in (0, 1]": """
        DUCB(discount=0.0); DUCB(discount=1.1); DKLUCB(discount=0.0); DKLUCB(discount=1.1);
        DiscountedThompson(discount=0.0); DiscountedThompson(discount=1.1);
        DiscountedEpsilonGreedy(discount=0.0); Softmax(discount=1.5);
        GradientBandit(discount=0.0); EXP3(gamma=0.0); EXP3S(alpha=0.1, gamma=1.5);
        RBOCPD(delta=0.0)
    """,
    "must lie in [0, 1]": """
        CUSUMUCB(1.0, exploration=1.1); DiscountedEpsilonGreedy(0.9, epsilon=1.5);
        Softmax(decay=2.0); Bernoulli(mean=1.2)
    """,
    "must not be negative": """
        CUSUMUCB(1.0, 0.1, drift=-1.0); KLUCB(c=-1.0); EpsilonGreedy(epsilon=-0.1);
        EpsilonGreedy(2.0, decay=-1.0); MeanShift(caution=-1.0); PageHinkley(drift=-1.0)
    """,
    "must be at least 1": """
        CUSUMUCB(1.0, 0.1, warmup=0); MOSS(horizon=0); KLUCBPlusPlus(horizon=0); POKER(horizon=0);
        REXP3(0.5, batch=0)
    """,
    "is for family='gaussian' only": """
        BayesUCB(sigma=2.0); KLUCB(sigma=0.5); MED('bounded', sigma=2.0);
        LUCB('bernoulli', sigma=1.0); TopTwoThompson(sigma=2.0);
        Thompson('exponential', sigma=2.0); Thompson(sigma=1.0); GLR(sigma=2.0)
    """,
    "must lie between 0 and 1": """
        LUCB(confidence=1.0); TopTwoThompson(beta=1.0); GLR(delta=1.0); ADWIN(delta=1.0)
    """,
    "must be finite": """
        LBSDALM(scale=math.nan); Bernoulli(mean=math.nan); Dirac(mean=math.inf)
    """,
    "must be a number": """
        LBSDALM(scale='2'); LBSDALM(scale=True); Bernoulli(mean='0.5'); Bernoulli(mean='half');
        Bernoulli(mean=None)
    """,
}
"""What a parameter, the last of each call, does not fulfil."""

REFUSED = {
    "lb.state_size(lb.SWUCB(window=3), 4)": "window=3 is too small for 4 arms",
    "lb.MUCB(5, 1.0, 0.1)": "MUCB: window=5 must be even",
    "lb.MUCB(0, 1.0, 0.1)": "MUCB: window=0 must lie between 2 and 16777216 rewards",
    "lb.MUCB(4, 1.0, 0.0)": r"MUCB: exploration=0\.0 must lie in \[1e-9, 1\]",
    "lb.MUCB.tuned(arms=2, horizon=9, changes=1, window=0)": "window=0 must lie",
    "lb.KLUCBPlusPlus(9, sigma=2.0)": "KLUCBPlusPlus: sigma=2.0 is for",
    "lb.BayesUCB('poisson')": "BayesUCB: family='poisson' has no quantiles here",
    "lb.KLUCB('cauchy')": "KLUCB: family='cauchy' must be one of",
    "lb.IMED('gaussian', sigma=-1.0)": "IMED: sigma=-1.0",
    "lb.SWKLUCB(50, 'bounded')": "SWKLUCB: family='bounded' must be one of",
    "lb.SWKLUCB(1)": "SWKLUCB: window=1 must lie between",
    "lb.Bandit(lb.SWKLUCB(3), 4)": "SWKLUCB: window=3 is too small for 4 arms",
    "lb.GLRKLUCB(1.0, 0.1)": r"GLRKLUCB: exploration=1\.0 must lie in \[0, 1\)",
    "lb.GLRKLUCB(0.1, 0.1, growing=True, diminishing=True)": (
        "GLRKLUCB: choose one of growing=True and diminishing=True"
    ),
    "lb.GLRKLUCB(0.0, 0.1, diminishing=True)": "exploration=0.0 must lie between 1e-6 and 1000",
    "lb.GLRKLUCB(0.1, 0.0)": "GLRKLUCB: delta=0.0 must lie",
    "lb.GLRKLUCB(0.1, 1.0)": "GLRKLUCB: delta=1.0 must lie",
    "lb.GLRKLUCB(0.1, 0.1, sigma=2.0)": "GLRKLUCB: sigma=2.0 is for",
    "lb.GLRKLUCB(0.1, 0.1, factor=0.0)": "GLRKLUCB: factor=0.0 must lie",
    "lb.TrackAndStop(sigma=2.0)": "TrackAndStop: sigma=2.0 is for family='gaussian'",
    "lb.TopTwoThompson(redraws=-1)": r"TopTwoThompson: redraws=-1 must lie in \[0, 1000000\]",
    "lb.Master(lb.IMED())": "upper bound",
    "lb.Master(lb.KLUCB(family='bounded'))": "keeps every reward",
    "lb.Thompson('cauchy')": "Thompson: family='cauchy' must be one of",
    "lb.Thompson('poisson', prior_mean=0.0)": "prior_mean=0.0 must be positive for",
    "lb.Thompson('gaussian', sigma=0.0)": r"sigma=0\.0 must lie in \[1e-100, 1e100\]",
    "lb.Thompson(prior_sigma=-1)": r"prior_sigma=-1\.0 must lie in \[1e-100, 1e100\]",
    "lb.DiscountedThompson.tuned(horizon=9, changes=1, prior_mean=0)": (
        "prior_mean=0.0 is for family='gaussian' or 'poisson' or 'exponential' only; leave it out"
    ),
    "lb.SlidingWindowThompson(0)": "window=0 must lie between",
    "lb.EpsilonGreedy(2.0)": "epsilon=2.0 must be at most 1",
    "lb.DiscountedEpsilonGreedy.tuned(horizon=1, arms=2)": "horizon=1 must be",
    "lb.GradientBandit.tuned(horizon=0)": "horizon=0 must be at least 2 steps",
    "lb.EXP3S(0.5, 0.0)": r"alpha=0\.0 must lie in \[1e-100, 1\]; to share nothing, use EXP3",
    "lb.EXP3S.tuned(horizon=9, changes=-1, arms=2)": "changes=-1 must be at least 0",
    "lb.REXP3.tuned(horizon=9, changes=1, arms=2, variation=-1.0)": "variation=-1.0 must not be",
    "lb.DiscountedThompson.tuned(horizon=0, changes=0)": "horizon=0 must be",
    "lb.DiscountedThompson.tuned(horizon=5, changes=6)": "changes=6 must be .* below the horizon 5",
    "lb.Binarized(3)": "policy=3 is not a policy",
    "lb.Binarized(lb.LBSDA(), 1.0, 1.0)": "low=1.0 must be below",
    "lb.Binarized(lb.LBSDA(), -1e+308, 1e+308)": "too far apart",
    "lb.OracleRestart(None, ENV)": "policy=None is not a policy",
    "lb.OracleRestart(lb.LBSDA())": "give an environment",
    "lb.OracleRestart(lb.LBSDA(), (5, 3))": "must be increasing time steps",
    "lb.BestArm()": "give an environment",
    "lb.BestArm((0, 3))": "give the best arm of each phase",
    "lb.BestArm((0, 3), (1,))": "1 arms for 2 phases",
    "lb.BestArm((0, 3), (1, -1))": "must not be negative",
    "lb.BestArm(lb.Drifting([lb.Bernoulli(0.5)] * 2, [lb.Table([0.5])] * 2))": (
        "change at every step; give horizon=…, the number of steps"
    ),
    "lb.Restarting(lb.UCB1(), None)": "detector=None is not a change detector",
    "lb.Restarting(lb.UCB1(), lb.UCB1())": "is not a change detector",
    "lb.Restarting(lb.UCB1(), lb.MeanShift)": "is not a change detector",
    "lb.Restarting(None, lb.MeanShift())": "policy=None is not a policy",
    "lb.Restarting(lb.MeanShift(), lb.MeanShift())": "is not a policy",
    "lb.Restarting(lb.UCB1(), lb.MeanShift(), -1.0)": "Restarting: alertness=-1.0 must",
    "lb.Restarting(lb.UCB1(), lb.MeanShift(), exploration=2.0)": "exploration=2.0 must be 0, for",
    "lb.AdaptiveLBSDA(-0.1)": r"AdaptiveLBSDA: alertness=-0\.1 must lie in \[0, 10\]",
    "lb.AdaptiveLBSDA(11.0)": r"AdaptiveLBSDA: alertness=11\.0 must lie in \[0, 10\]",
    "lb.LBSDALM(minimum=0)": "LBSDALM: minimum=0 must lie between 1 and",
    "lb.LBSDALM(minimum=2 ** 70)": "LBSDALM: minimum=.* must lie",
    "lb.LBSDALM(scale=-1.0)": r"LBSDALM: scale=-1\.0 must lie in \[0, 16777216\]",
    "lb.LBSDALM(scale=1000000.0)": "LBSDALM: scale=1000000.0 would keep",
    "lb.LBSDALM(offset=2 ** 63 - 1)": "LBSDALM: offset=.* must lie",
    "lb.SWLBSDA(window=4.5)": "SWLBSDA: window=4.5 must be a whole number",
    "lb.SWLBSDA(window=True)": "SWLBSDA: window=True must be a whole number",
    "lb.LBSDA(reference=1)": "LBSDA: reference=1 must be True or False",
    "lb.Discrete(1, 1)": "Discrete: values=1 must be a list",
    "lb.Discrete('12', [0.5, 0.5])": "Discrete: values='12' must be a list",
    "lb.Table(0.5)": "Table: values=0.5 must be a list",
    "lb.Stationary(3)": "arms=3 must be a list of arms",
    "lb.Stationary(lb.Bernoulli(0.5))": r"arms=.*0.5\) is a single arm; give a list of",
    "lb.Piecewise({0: lb.Gaussian(0)})": r"phases\[0\]=.* is a single arm; give a list",
    "lb.Drifting(lb.Gaussian(0), [])": "arms=.* is a single arm; give a list of arms",
    "lb.state_size(lb.UCB1, 3)": r"policy=UCB1 is a class; give an instance: UCB1\(…",
    "lb.state_size('ucb', 3)": "policy='ucb' is not a policy",
    "lb.Stationary([lb.Dirac(1e+308), lb.Dirac(0.0)])": "has a mean beyond 1e.290",
    "lb.Piecewise({0: None})": r"phases\[0\]=None must be a list",
    "lb.Drifting([lb.Dirac(0.0)] * 2, means=lb.Sinusoid(0.0, 1.0, 9.0))": "must be a list of paths",
    "lb.Bernoulli(-0.1)": "mean=-0.1",
    "lb.Gaussian(0.0, 0.0)": "std=0.0 must be positive; for 0 use Dirac",
    "lb.Poisson(0.0)": r"Poisson: mean=0\.0 must lie in \(0, 1000000000\]",
    "lb.Poisson(10000000000.0)": r"Poisson: mean=10000000000\.0 must lie in \(0, 1000000000\]",
    "lb.Beta(0.0, 1.0)": "a=0.0",
    "lb.Beta(1.0, -2.0)": "b=-2.0",
    "lb.TruncatedGaussian(0.5, 0.1, 1.0, 1.0)": "low=1.0 must lie below high=1.0",
    "lb.TruncatedGaussian(0.0, 1.0, 20.0, 21.0)": "too far from location=0.0",
    "lb.Discrete([1.0], [0.5, 0.5])": "1 values and 2 probabilities",
    "lb.Discrete([], [])": "0 values",
    "lb.Discrete([1.0, 2.0], [0.5, 0.6])": "sum to 1.1; they must sum to 1",
    "lb.Discrete([1.0, math.nan], [0.5, 0.5])": "values=nan must be finite",
    "lb.Discrete([1.0, 2.0], [1.5, -0.5])": "must not be negative",
    "lb.ADWIN(clock=0)": "ADWIN: clock=0 must lie between 1 and",
    "lb.PageHinkley(least=1)": "PageHinkley: least=1 must be at least 2 rewards",
}
"""What cannot be made, and what the error says."""


@pytest.mark.parametrize("rule", RULES)
def test_rules(rule):
    for call in RULES[rule].split(";"):
        name, *_, wrong = re.split(r"\(|, ", call.strip(" )\n").replace("math.", ""))
        owner = "" if "tuned" in name else f"{name}: "
        with pytest.raises(ValueError, match=re.escape(f"{owner}{wrong} {rule}")):
            eval(f"lb.{call.strip()}", {"lb": lb, "math": math})


@pytest.mark.parametrize("code", REFUSED)
def test_errors_say_what_is_wrong(code):
    with pytest.raises(ValueError, match=REFUSED[code]):
        eval(code, {"lb": lb, "math": math, "ENV": ENV})


def test_numpy_scalars_are_numbers():
    policy = lb.LBSDALM(minimum=np.int32(7), scale=np.float32(0.5))
    assert policy == lb.LBSDALM(minimum=7, scale=0.5)
    assert type(policy.minimum) is int
    assert lb.SWLBSDA(window=np.int64(9))._replace(window=10).window == 10
    with pytest.raises(ValueError, match="window=0"):
        lb.SWLBSDA(window=9)._replace(window=0)


def test_arms_keep_their_own_numbers():
    values = [0.0, 1.0]
    arm = lb.Discrete(values, np.array([0.5, 0.5]))
    values[1] = float("nan")
    assert arm.mean == 0.5
    assert arm == lb.Discrete((0.0, 1.0), (0.5, 0.5))
    assert hash(arm)


@pytest.mark.parametrize("arms", [2, 3, 5, 9, 17, 33, 100])
def test_memory_of_a_billion_rounds(arms):
    simulated = state_dtype(lb.LBSDALM(), arms).itemsize
    assert simulated / arms < 5 * 1024
    live = lb.state_size(lb.LBSDALM(), arms=arms)
    assert live / room_for(arms) < 4.3 * 1024  # an arm, used or spare
    assert live < 2 * simulated


def test_a_name_can_be_taken_once():
    def steal():
        from typing import NamedTuple  # noqa: PLC0415  # as a user's module would

        @lb.policy()
        class LBSDA(NamedTuple):
            x: int = 0

            layout, start, plan = lb.LBSDA.layout, lb.LBSDA.start, lb.LBSDA.plan
            observe = lb.LBSDA.observe

    with pytest.raises(ValueError, match="LBSDA is the name of"):
        steal()


def test_a_history_that_cannot_fit():
    env = lb.Stationary([lb.Dirac(0.0), lb.Dirac(1.0)])
    with pytest.raises(ValueError, match="choose a shorter horizon or a policy of bounded memory"):
        lb.simulate(lb.LBSDA(), env, horizon=10**13)
    for horizon in (2**70, -1, 1):
        with pytest.raises(ValueError, match="horizon="):
            lb.simulate(lb.LBSDALM(), env, horizon=horizon)
    for environment in (None, [lb.Dirac(0.0)], lb.Stationary):
        with pytest.raises(ValueError, match="is not an environment"):
            lb.simulate(lb.LBSDALM(), environment, horizon=10)
