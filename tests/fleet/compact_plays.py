"""Fleets played with rewards that are a function of bandit, time and arm; also without the JIT.

    NUMBA_DISABLE_JIT=1 python compact_plays.py 1 LBSDALM SWLBSDA

prints what `plays` of compact fleets gives for these policies, and compares the fleets of every
policy with its first example, or as many as the number says, compact and full, which would take
minutes to compile.
"""

import hashlib
import json
import sys

import numpy as np

import lastblock as lb

ARMS = 3
SIZE = 6
SEED = 20_210_611
PAPER = {
    "LBSDALM": lb.LBSDALM(minimum=4, scale=0.5),
    "SWLBSDA": lb.SWLBSDA(window=60),
    "LBSDA": lb.LBSDA(),
    "LBSDAGM": lb.LBSDAGM(),
}
HORIZON = 1600


def new_fleet(policy, memory, size=SIZE):
    return lb.Fleet(policy, arms=ARMS, size=size, seed=SEED, horizon=HORIZON, memory=memory)


def bernoulli(rng, arms):
    return (rng.random(arms.size) < 0.3 + 0.2 * arms).astype(float)


def whole(rng, arms):
    """Of both signs, up to the largest for which sums of float32 numbers are exact."""
    return np.rint(rng.normal(3.0 * arms, 10.0)) * np.where(rng.random(arms.size) < 0.01, 1e4, 1.0)


def float32(rng, arms):
    return np.float64(np.float32(rng.normal(0.1 * arms, 1.0)))


def play(fleet, steps, rewards, late=0.0):
    """The arms taken; a share of the decisions is told later, or never."""
    rng = np.random.default_rng(1)
    everyone = np.arange(len(fleet))
    waiting = []
    taken = []
    for _ in range(steps):
        arms = fleet.ask(everyone)
        taken.append(arms.tolist())
        at_once = rng.random(everyone.size) >= late
        fleet.tell(everyone[at_once], arms[at_once], rewards(rng, arms[at_once]))
        waiting += zip(everyone[~at_once].tolist(), arms[~at_once].tolist(), strict=True)
        while waiting and rng.random() < 0.7:
            id, arm = waiting.pop(rng.integers(len(waiting)))
            if rng.random() < 0.1:
                fleet.forget([id], [arm])
            else:
                fleet.tell([id], [arm], rewards(rng, np.array([arm])))
    return taken


def digest(fleet):
    """Every bit of the records."""
    return hashlib.blake2b(fleet._states.tobytes(), digest_size=8).hexdigest()


def plays(names):
    """What happens to compact fleets of these policies of the paper."""
    found = {}
    for name in names:
        policy = PAPER[name]
        for rewards in (bernoulli, whole, float32):
            fleet = new_fleet(policy, "compact")
            taken = play(fleet, 150, rewards, late=0.3)
            found[f"{name} {rewards.__name__}"] = [taken, digest(fleet)]
    return found


def differing(most):
    """The policies whose compact fleets take other arms than full ones; none should."""
    examples = {repr(p): p for cls in lb.POLICIES.values() for p in cls.examples()[:most]}
    return [
        name
        for name, policy in examples.items()
        if play(new_fleet(policy, "full", 2), 60, bernoulli, late=0.3)
        != play(new_fleet(policy, "compact", 2), 60, bernoulli, late=0.3)
    ]


if __name__ == "__main__":
    most, *names = sys.argv[1:]
    found = {"plays": plays(names), "differing": differing(int(most))}
    print(json.dumps({**found, "policies": len(lb.POLICIES)}))
