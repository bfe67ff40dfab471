"""GLR-kl-UCB takes its twin's decisions, one by one, restarts included."""

import math
import random

import pytest

import lastblock as lb
import oracle.glrklucb
from oracle.worlds import World, bernoulli, dyadic, gaussian, play, small_integers


def jumps(rng, levels, t, arm):
    """Arms that come and go."""
    return float(rng.random() < (0.05, 0.9)[(arm + t // 150) % 2])


def steps(rng, levels, t, arm):
    return rng.gauss(2.0 * ((arm + t // 100) % 3), 1.0)


def lifetimes(rng, levels, t, arm):
    return rng.expovariate(1.0) * 5.0 ** ((arm + t // 120) % 3)


EAGER = {"exploration": 0.1, "delta": 0.5}
GAUSSIAN = {"family": "gaussian", "sigma": 0.5}
GROWING = {"growing": True, "factor": 1.0}
CASES = [
    (EAGER, jumps, 2, 600, True),
    ({**EAGER, "local": False}, jumps, 2, 600, True),
    ({"exploration": 0.05, "delta": 0.01}, jumps, 4, 600, True),
    ({"exploration": 0.0, "delta": 0.99}, jumps, 3, 400, True),
    ({"exploration": 0.9, "delta": 0.3, "c": 0.5}, jumps, 3, 400, True),
    (EAGER, bernoulli, 3, 700, False),
    ({**EAGER, **GAUSSIAN}, gaussian, 4, 300, False),  # twice the deviation that it was told
    ({**EAGER, "family": "gaussian"}, steps, 3, 400, True),
    ({**EAGER, "family": "gaussian", "local": False}, steps, 4, 400, True),
    ({**EAGER, **GAUSSIAN}, dyadic, 3, 300, False),
    ({**EAGER, "family": "poisson"}, small_integers, 4, 300, False),
    ({**EAGER, "family": "exponential"}, lifetimes, 3, 500, True),
    ({**EAGER, "family": "exponential"}, small_integers, 3, 200, False),
    ({**EAGER, **GROWING}, jumps, 3, 600, True),
    ({**EAGER, **GROWING, "local": False}, jumps, 2, 600, True),
    ({"exploration": 0.4, "delta": 0.5, **GROWING}, jumps, 4, 600, True),  # all pulls are forced
    ({"exploration": 1.0, "delta": 0.5, "diminishing": True}, jumps, 3, 600, True),
    ({**EAGER, "diminishing": True, "local": False}, jumps, 4, 600, True),
    ({**EAGER, **GROWING, "all_splits": True}, jumps, 3, 500, True),
    ({**EAGER, "all_splits": True, "family": "gaussian"}, steps, 3, 400, True),
]


@pytest.mark.parametrize(("parameters", "kind", "arms", "horizon", "alarmed"), CASES)
def test_same_decisions(parameters, kind, arms, horizon, alarmed):
    seed = [arms, horizon]
    twin = oracle.glrklucb.GLRKLUCB(arms, seed, **parameters)
    play(lb.GLRKLUCB(**parameters), twin, World(kind, arms, horizon), horizon, seed)
    assert twin.alarms > 0 or not alarmed


def test_long_stretches_use_every_rung():
    """One long stretch without a change, then one: the splits on high rungs must be right."""
    parameters = {"exploration": 0.0, "delta": 0.2}
    twin = oracle.glrklucb.GLRKLUCB(2, 3, **parameters)
    world = World(lambda rng, levels, t, arm: float(rng.random() < 0.4 + 0.2 * (t > 1500)), 2, 3)
    play(lb.GLRKLUCB(**parameters), twin, world, 1700, 3)


def test_tuned():
    policy = lb.GLRKLUCB.tuned(horizon=10_000, local=False)
    assert policy == lb.GLRKLUCB(
        math.sqrt(math.log(10_000) / 10_000), 0.01, local=False, growing=True, factor=1.0
    )
    assert lb.GLRKLUCB.tuned(horizon=10_000, all_splits=True).grows
    bandit = lb.Bandit(lb.GLRKLUCB.tuned(horizon=10_000), 3, seed=1)
    share = math.sqrt(3 * math.log(10_000) / 10_000)
    assert bandit._desk.live.s["period"] == math.floor(3 / share)
    policy = lb.GLRKLUCB.tuned_diminishing(horizon=10_000)
    assert policy == lb.GLRKLUCB(1.0, 0.01, factor=1.0, diminishing=True)


def test_sessions_of_diminishing_exploration():
    """⌈(K / 4α)²⌉, then ⌈(√u + K / 2α)²⌉: about 2α √n pulls of all n."""
    assert oracle.glrklucb.sessions(3, 1.0, 100) == [-3, 1, 7, 18, 33, 53, 78]
    assert 3 * len(oracle.glrklucb.sessions(3, 1.0, 10_000)[1:]) == pytest.approx(200, rel=0.02)


def test_tuned_to_changes():
    policy = lb.GLRKLUCB.tuned_to_changes(horizon=10_000, changes=2, arms=3, local=False)
    assert not policy.local
    assert policy.exploration == pytest.approx(0.0429, rel=1e-2)
    assert policy.delta == pytest.approx(1 / 20_000**0.5)


def test_every_split_is_noticed_sooner_than_those_of_a_grid():
    """The test of all splits cannot be later, and is not earlier than the first of the grid."""
    delays = {}
    for all_splits in (False, True):
        policy = lb.GLRKLUCB(0.0, 0.01, family="gaussian", sigma=0.5, all_splits=all_splits)
        found = []
        for seed in range(20):
            bandit = lb.Bandit(policy, 3, seed=1)
            rng = random.Random(seed)
            arm, t = None, 0
            while t < 1000 and bandit._desk.live.s["restarts"] == 0:
                decision = bandit.ask()
                level = 0.5 if t < 300 else 0.9
                arm = decision.arm if arm is None else arm
                bandit.tell(decision, rng.gauss(level, 0.5) if decision.arm == arm else -9.0)
                t += 1
            found.append(t)
        delays[all_splits] = found
    pairs = list(zip(delays[True], delays[False], strict=True))
    assert all(exact <= grid for exact, grid in pairs)
    assert sum(exact < grid for exact, grid in pairs) >= 5
