"""Parameters, tunings and plain-data forms of the randomised policies."""

import json
import math
import pickle

import pytest

import lastblock as lb
from lastblock.core.registry import build, describe

ENV = lb.Piecewise(
    {
        0: [lb.Bernoulli(0.9), lb.Bernoulli(0.1), lb.Bernoulli(0.2)],
        50: [lb.Bernoulli(0.1), lb.Bernoulli(0.2), lb.Bernoulli(0.9)],
    }
)


def test_wrappers_check_the_arms_of_what_they_wrap():
    inner = lb.SWLBSDA(window=3)
    others = lb.OracleRestart(inner, (5,)), lb.Restarting(inner, lb.MeanShift())
    for wrapped in (lb.Binarized(inner), *others):
        lb.state_size(wrapped, 3)
        with pytest.raises(ValueError, match="too small for 4 arms"):
            lb.state_size(wrapped, 4)
    with pytest.raises(ValueError, match="arm 2 does not exist, there are 2 arms"):
        lb.state_size(lb.BestArm(ENV), 2)


def test_tunings():
    assert lb.SlidingWindowThompson.tuned(horizon=10_000, changes=3).window == 350
    discount = lb.DiscountedThompson.tuned(horizon=10_000, changes=2).discount
    assert discount == pytest.approx(1 - math.sqrt(2 / 10_000) / 4)
    assert lb.DiscountedThompson.tuned(horizon=10_000, changes=0).discount == 1.0
    tuned = lb.EXP3S.tuned(horizon=10_000, changes=2, arms=3)
    assert tuned.alpha == 1e-4
    assert tuned.gamma == pytest.approx(
        math.sqrt(3 * (math.e + 3 * math.log(30_000)) / ((math.e - 1) * 10_000))
    )
    assert lb.EXP3S.tuned(horizon=3, changes=0, arms=3).gamma == 1.0
    assert lb.REXP3.tuned(horizon=1000, changes=0, arms=2).batch == 1000
    assert lb.REXP3.tuned(horizon=1000, changes=9, arms=2, variation=1.0).batch == 112
    assert lb.REXP3.tuned(horizon=9, changes=1, arms=2, variation=1e9) == lb.REXP3(
        lb.EXP3.tuned(horizon=2, arms=2).gamma, 1
    )


def test_environments_in_place_of_numbers():
    assert lb.OracleRestart(lb.LBSDA(), ENV).changes == (0, 50)
    assert lb.OracleRestart(lb.LBSDA(), environment=ENV) == lb.OracleRestart(lb.LBSDA(), [50])
    assert lb.BestArm(ENV) == lb.BestArm(environment=ENV) == lb.BestArm((0, 50), (0, 2))


POLICIES = [
    lb.Thompson("gaussian"),
    lb.Binarized(lb.Thompson("gaussian"), -1.0, 1.0),
    lb.OracleRestart(lb.Binarized(lb.LBSDA()), ENV),
    lb.Restarting(lb.Binarized(lb.LBSDALM()), lb.GLR(0.1, "gaussian", 2.0), 0.5),
    lb.BestArm(ENV),
]


@pytest.mark.parametrize("policy", POLICIES, ids=str)
def test_policies_as_plain_data(policy):
    assert build(json.loads(json.dumps(describe(policy)))) == policy
    assert pickle.loads(pickle.dumps(policy)) == policy
    assert policy._replace() == policy


@pytest.mark.usefixtures("plain")
def test_clipped_rewards_count_as_the_bounds():
    for inner in (lb.Thompson(), lb.EXP3(0.3)):
        policy = lb.Binarized(inner, clip=True)
        one, other = lb.Bandit(policy, 3, seed=1), lb.Bandit(policy, 3, seed=1)
        for t in range(100):
            decision = one.ask()
            assert other.ask() == decision
            one.tell(decision, [1.0, 0.0][(t + decision.arm) % 2])
            other.tell(decision, [1e280, -1e280][(t + decision.arm) % 2])


@pytest.mark.parametrize(
    ("good", "bad"), [(-20.0, -100.0), (1e4, -1e4), (1e4, 1.0), (1e280, -1e280), (-1.0, -1e280)]
)
def test_weights_of_rewards_outside_the_unit_interval_stay_finite(good, bad):
    bandit = lb.Bandit(lb.EXP3S(0.2, 0.001, reference=True), 3, seed=1)
    pulls = [0, 0, 0]
    for _ in range(5000):
        decision = bandit.ask()
        pulls[decision.arm] += 1
        bandit.tell(decision, good if decision.arm == 1 else bad)
        chances = bandit._desk.live.s["chance"][:3]
        assert min(chances) > 0.0
        assert sum(chances) == pytest.approx(1.0)
    assert pulls[1] > max(pulls[0], pulls[2])
