"""Parameters, tunings and plain-data forms of the randomised policies."""

import json
import math
import pickle
import re

import pytest

import lastblock as lb
from lastblock.core.registry import build, describe

ENV = lb.Piecewise(
    {
        0: [lb.Bernoulli(0.9), lb.Bernoulli(0.1), lb.Bernoulli(0.2)],
        50: [lb.Bernoulli(0.1), lb.Bernoulli(0.2), lb.Bernoulli(0.9)],
    }
)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: lb.Thompson("cauchy"), "Thompson: family='cauchy' must be one of"),
        (
            lambda: lb.Thompson("poisson", prior_mean=0.0),
            "Thompson: prior_mean=0.0 must be positive for family='poisson'",
        ),
        (
            lambda: lb.Thompson("exponential", prior_mean=-1.0),
            "Thompson: prior_mean=-1.0 must be positive for family='exponential'",
        ),
        (
            lambda: lb.Thompson("exponential", sigma=2.0),
            "Thompson: sigma=2.0 is for family='gaussian' only; leave it out",
        ),
        (lambda: lb.Thompson("gaussian", sigma=0.0), "Thompson: sigma=0.0 must be positive"),
        (lambda: lb.Thompson(prior_sigma=-1), "Thompson: prior_sigma=-1.0 must be positive"),
        (lambda: lb.Thompson(sigma=1), "Thompson: sigma=1.0 is for family='gaussian' only"),
        (
            lambda: lb.DiscountedThompson.tuned(horizon=9, changes=1, prior_mean=0),
            "DiscountedThompson: prior_mean=0.0 is for family='gaussian' or 'poisson' or "
            "'exponential' only; leave it out",
        ),
        (lambda: lb.DiscountedThompson(0.0), "discount=0.0 must lie in"),
        (lambda: lb.DiscountedThompson(1.1), "discount=1.1 must lie in"),
        (lambda: lb.SlidingWindowThompson(0), "window=0 must lie between"),
        (lambda: lb.EpsilonGreedy(-0.1), "epsilon=-0.1 must not be negative"),
        (lambda: lb.EpsilonGreedy(2.0), "epsilon=2.0 must be at most 1"),
        (lambda: lb.EpsilonGreedy(2.0, -1.0), "decay=-1.0 must not be negative"),
        (lambda: lb.DiscountedEpsilonGreedy(0.0), "discount=0.0 must be above 0 and at most 1"),
        (lambda: lb.DiscountedEpsilonGreedy(0.9, 1.5), "epsilon=1.5 must lie between 0 and 1"),
        (lambda: lb.DiscountedEpsilonGreedy.tuned(horizon=1, arms=2), "horizon=1 must be"),
        (lambda: lb.DiscountedEpsilonGreedy.tuned(horizon=9, arms=1), "arms=1 must be at least 2"),
        (lambda: lb.Softmax(0.0), "Softmax: temperature=0.0 must be positive"),
        (lambda: lb.Softmax(decay=2.0), "Softmax: decay=2.0 must lie between 0 and 1"),
        (lambda: lb.Softmax(discount=1.5), "Softmax: discount=1.5 must be above 0"),
        (lambda: lb.GradientBandit(0.0), "GradientBandit: step=0.0 must be positive"),
        (lambda: lb.GradientBandit(discount=0.0), "GradientBandit: discount=0.0 must be above 0"),
        (lambda: lb.GradientBandit.tuned(horizon=0), "horizon=0 must be at least 2 steps"),
        (lambda: lb.EXP3(0.0), "EXP3: gamma=0.0 must lie in"),
        (lambda: lb.REXP3(0.5, 0), "REXP3: batch=0 must be at least 1"),
        (lambda: lb.EXP3S(0.5, 0.0), "EXP3S: alpha=0.0 must lie between"),
        (lambda: lb.EXP3S(1.5, 0.1), "EXP3S: gamma=1.5 must lie in"),
        (lambda: lb.EXP3.tuned(horizon=0, arms=2), "horizon=0 must be at least 2"),
        (lambda: lb.EXP3S.tuned(horizon=9, changes=1, arms=1), "arms=1 must be at least 2"),
        (lambda: lb.EXP3S.tuned(horizon=9, changes=-1, arms=2), "changes=-1 must be at least 0"),
        (
            lambda: lb.REXP3.tuned(horizon=9, changes=1, arms=2, variation=-1.0),
            "variation=-1.0 must not be negative",
        ),
        (lambda: lb.DiscountedThompson.tuned(horizon=0, changes=0), "horizon=0 must be"),
        (
            lambda: lb.DiscountedThompson.tuned(horizon=5, changes=6),
            "changes=6 must be at least 0 and below the horizon 5",
        ),
        (lambda: lb.Binarized(3), "policy=3 is not a policy"),
        (lambda: lb.Binarized(lb.LBSDA(), 1.0, 1.0), "low=1.0 must be below"),
        (lambda: lb.Binarized(lb.LBSDA(), -1e308, 1e308), "too far apart"),
        (lambda: lb.OracleRestart(None, ENV), "policy=None is not a policy"),
        (lambda: lb.OracleRestart(lb.LBSDA()), "give an environment"),
        (lambda: lb.OracleRestart(lb.LBSDA(), (5, 3)), "must be increasing time steps"),
        (lb.BestArm, "give an environment"),
        (lambda: lb.BestArm((0, 3)), "give the best arm of each phase"),
        (lambda: lb.BestArm((0, 3), (1,)), "1 arms for 2 phases"),
        (lambda: lb.BestArm((0, 3), (1, -1)), "must not be negative"),
        (
            lambda: lb.BestArm(lb.Drifting([lb.Bernoulli(0.5)] * 2, [lb.Table([0.5])] * 2)),
            "the means of Drifting change at every step; give horizon=…, the number of steps",
        ),
    ],
)
def test_impossible_parameters(make, message):
    with pytest.raises(ValueError, match=re.escape(message)):
        make()


def test_wrappers_check_the_arms_of_what_they_wrap():
    for wrapped in (lb.Binarized(lb.SWLBSDA(window=3)), lb.OracleRestart(lb.SWLBSDA(3), (5,))):
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
    lb.Binarized(lb.Binarized(lb.LBSDALM())),
    lb.BestArm(ENV),
]


@pytest.mark.parametrize("policy", POLICIES, ids=str)
def test_policies_as_plain_data(policy):
    assert build(json.loads(json.dumps(describe(policy)))) == policy
    assert pickle.loads(pickle.dumps(policy)) == policy
    assert policy._replace() == policy


@pytest.mark.usefixtures("plain")
@pytest.mark.parametrize("policy", POLICIES, ids=str)
def test_policies_live(policy):
    """Told late, forgotten, grown, stored and taken up again."""
    bandit = lb.Bandit(policy, 3, seed=1)
    late = []
    for t in range(1200):
        late.append(bandit.ask())
        if t % 7 == 3:
            bandit.forget(late.pop(0))
        if t % 2 == 1:
            for decision in late:
                bandit.tell(decision, 0.5)
            late.clear()
    again = lb.Bandit.from_bytes(bandit.to_bytes())
    assert [again.ask() for _ in range(20)] == [bandit.ask() for _ in range(20)]


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
