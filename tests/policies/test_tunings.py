"""Published tunings, and parameters that an environment gives."""

import math

import pytest

import lastblock as lb
from lastblock import theory

ENV = lb.Piecewise(
    {
        0: [lb.Bernoulli(0.9), lb.Bernoulli(0.1), lb.Bernoulli(0.2)],
        50: [lb.Bernoulli(0.1), lb.Bernoulli(0.2), lb.Bernoulli(0.9)],
    }
)
LOG = math.log(10_000)
ONE, TWO, THREE, FOUR = ({"horizon": 10_000, "changes": changes} for changes in (1, 2, 3, 4))
NONE, LAST = {"horizon": 1000, "changes": 0}, {"horizon": 9, "changes": 1, "arms": 2}
ARMS, LONG = {"arms": 3}, {"horizon": 10_000}
# What makes the policy, what it is given, the parameters; and the tunings of these names.
TUNED = [
    (lb.UCB1.gaussian, {"sigma": 1.0}, {"scale": 2**0.5}),
    (lb.SWUCB.tuned, {**THREE, "sigma": 1.0}, {"window": 1051, "scale": 2**0.5}, "sw-ucb-window"),
    (lb.SWUCB.tuned, {**THREE, "sigma": 0.5}, {"window": 700}, "sw-ucb-window"),
    (lb.SWUCB.tuned, THREE, {"window": 350, "scale": 0.5**0.5}, "garivier"),  # [0, 1]: range 1
    (lb.SWUCB.tuned, TWO, {"window": 429}, "garivier"),
    (lb.SWUCB.tuned, NONE, {"window": 1000}),
    (lb.DUCB.tuned, FOUR, {"discount": 0.995, "scale": 0.5**0.5}, "garivier-discount"),
    (
        lb.DUCB.tuned,
        {**THREE, "sigma": 0.5},
        {"discount": 1.0 - 0.125 * math.sqrt(3e-4), "scale": 0.5 * 2**0.5},  # 2B√ξ
        "d-ucb-discount",
    ),
    (lb.DUCB.tuned, NONE, {"discount": 1.0}),
    (
        lb.CUSUMUCB.tuned,
        TWO,
        {
            "threshold": math.log(5000.0),
            "exploration": math.sqrt(2e-4 * math.log(5000.0)),
            "warmup": 50,
            "drift": 0.05,
        },
        "cusum-threshold",
        "cusum-exploration",
    ),
    (
        lb.CUSUMUCB.tuned,
        {**TWO, "drift": 0.1, "warmup": 20, "scale": 1.5},
        {"threshold": math.log(5000.0), "drift": 0.1, "warmup": 20, "scale": 1.5},
    ),
    (lb.CUSUMUCB.tuned, NONE, {"threshold": math.log(1000.0)}),
    (
        lb.MUCB.tuned,
        {**TWO, **ARMS},
        {
            "window": 800,
            "threshold": math.sqrt(400.0 * math.log(6e8)),
            "exploration": math.sqrt(6.0 * LOG / 10_000),
        },
        "m-ucb-exploration",
    ),
    (
        lb.MUCB.tuned,
        {**NONE, "arms": 2, "scale": 0.5},
        {"exploration": math.sqrt(2 * math.log(1000) / 1000), "scale": 0.5},
    ),
    (lb.SWKLUCB.tuned, {**THREE, "family": "poisson"}, {"window": 350}),
    (lb.DKLUCB.tuned, FOUR, {"discount": 0.995}),
    (
        lb.GLRKLUCB.tuned,
        {**LONG, "local": False},
        {
            "exploration": math.sqrt(LOG / 10_000),
            "delta": 0.01,
            "local": False,
            "growing": True,
            "factor": 1.0,
        },
    ),
    (
        lb.GLRKLUCB.tuned_diminishing,
        LONG,
        {"exploration": 1.0, "delta": 0.01, "factor": 1.0, "diminishing": True},
    ),
    (
        lb.GLRKLUCB.tuned_to_changes,
        {**TWO, **ARMS, "local": False},
        {"exploration": math.sqrt(2e-4 * LOG), "delta": 1 / math.sqrt(2e4), "local": False},
        "glr-exploration",
        "glr-confidence",
    ),
    (
        lb.GLRKLUCB.tuned_to_changes,
        {**TWO, **ARMS, "c": 2.0},
        {"exploration": math.sqrt(6e-4 * LOG), "c": 2.0},
    ),
    (lb.GLRKLUCB.tuned_to_changes, {"horizon": 10, "changes": 9, "arms": 3}, {"exploration": 0.99}),
    (lb.SlidingWindowThompson.tuned, THREE, {"window": 350}),
    (lb.DiscountedThompson.tuned, TWO, {"discount": 1 - math.sqrt(2 / 10_000) / 4}),
    (lb.DiscountedThompson.tuned, NONE, {"discount": 1.0}),
    (
        lb.EXP3S.tuned,
        {**TWO, **ARMS},
        {
            "alpha": 1e-4,
            "gamma": math.sqrt(3 * (math.e + 3 * math.log(3e4)) / ((math.e - 1) * 1e4)),
        },
        "exp3s-exploration",
    ),
    (lb.EXP3S.tuned, {"horizon": 3, "changes": 0, "arms": 3}, {"gamma": 1.0}),
    (lb.REXP3.tuned, {**NONE, "arms": 2}, {"batch": 1000}),
    (lb.REXP3.tuned, {**NONE, "changes": 9, "arms": 2, "variation": 1.0}, {"batch": 112}),
    (
        lb.REXP3.tuned,
        {**LAST, "variation": 1e9},
        {"batch": 1, "gamma": lb.EXP3.tuned(horizon=2, arms=2).gamma},
    ),
    (
        lambda **given: lb.Restarting.dal(lb.UCB1(), **given),
        LONG,
        {"detector": lb.GLR(delta=0.01), "exploration": (LOG / 10_000) ** 0.5, "alertness": 0.0},
    ),
    (
        lambda **given: lb.Restarting.dal(lb.UCB1(), **given),
        {"horizon": 99, "detector": lb.ADWIN()},
        {"detector": lb.ADWIN()},
    ),
    (
        lambda **given: lb.Master.tuned(lb.UCB1(), **given),
        {"horizon": 1024, "delta": 0.5},
        {"level": math.log(2048), "rise": 9 * 66 * math.log(2048), "fall": 3 * 66 * math.log(2048)},
    ),
]


@pytest.mark.parametrize("case", TUNED)
def test_tunings(case):
    make, given, expected, *names = case
    policy = make(**given)
    for name, value in expected.items():
        is_number = isinstance(value, float)
        assert getattr(policy, name) == (pytest.approx(value) if is_number else value), name
    for name in names:
        assert theory.TUNINGS[name](**given) in policy


def test_tunings_of_names_alone():
    assert theory.TUNINGS["exp3s-sharing"](**LONG) == 1e-4
    found = theory.TUNINGS["m-ucb-threshold"](**LONG, arms=3, window=800)
    assert found == pytest.approx(math.sqrt(400 * math.log(6e8)))


def test_environments_in_place_of_numbers():
    assert lb.OracleRestart(lb.LBSDA(), ENV).changes == (0, 50)
    assert lb.OracleRestart(lb.LBSDA(), environment=ENV) == lb.OracleRestart(lb.LBSDA(), [50])
    assert lb.BestArm(ENV) == lb.BestArm(environment=ENV) == lb.BestArm((0, 50), (0, 2))
    with pytest.raises(ValueError, match="arm 2 does not exist, there are 2 arms"):
        lb.state_size(lb.BestArm(ENV), 2)


def test_wrappers_check_the_arms_of_what_they_wrap():
    inner = lb.SWLBSDA(window=3)
    others = lb.OracleRestart(inner, (5,)), lb.Restarting(inner, lb.MeanShift())
    for wrapped in (lb.Binarized(inner), *others):
        lb.state_size(wrapped, 3)
        with pytest.raises(ValueError, match="too small for 4 arms"):
            lb.state_size(wrapped, 4)
