"""What the choices of GLR-kl-UCB cost: ``python -m benchmarks.glr``.

It measures how much later a grid of splits notices a change than all splits do, and the regret of
local and global restarts where one arm rises alone and where all arms change.
"""

import numpy as np

import lastblock as lb
from benchmarks.options import Parser

SEEDS = 200
CHANGES = [(100, 0.5), (300, 0.25), (300, 0.5), (300, 1.0), (1000, 0.25), (1000, 0.5), (1000, 1.0)]
"""The number of rewards before a change, and the change of the mean in standard deviations."""

HORIZON, REPLICATIONS = 10_000, 400


def delays(policy, before: int, step: float) -> np.ndarray:
    """Return the rewards after a change until the alarm, for each seed."""
    sigma, out_of_question = 1.0, lb.Dirac(-9.0)
    world = lb.Piecewise(
        {
            0: [lb.Gaussian(0.0, sigma), out_of_question],
            before: [lb.Gaussian(step * sigma, sigma), out_of_question],
        }
    )
    found = []
    for seed in range(SEEDS):
        arms = lb.trace(policy, world, horizon=4000, seed=seed).arms
        again = np.flatnonzero(arms == 1)  # once at first, and once after each global restart
        alarms = again[again > before]
        if again.size > 1 and again[1] > before and alarms.size:
            found.append((seed, alarms[0] - before))
    return np.array(found)


def print_delays() -> None:
    print("Rewards from a change to its alarm (Gaussian, δ = 0.01, means of 200 seeds)")
    print(f"{'before':>8}{'step/σ':>8}{'all splits':>12}{'grid':>8}{'later by':>10}")
    policies = [
        lb.GLRKLUCB(0.0, 0.01, local=False, family="gaussian", c=0.0, all_splits=every)
        for every in (True, False)
    ]
    for before, step in CHANGES:
        exact, grid = (dict(delays(policy, before, step)) for policy in policies)
        both = sorted(exact.keys() & grid.keys())  # without those that had a false alarm
        means = [np.mean([found[seed] for seed in both]) for found in (exact, grid)]
        share = means[1] / means[0] - 1.0
        print(f"{before:>8}{step:>8}{means[0]:>12.1f}{means[1]:>8.1f}{share:>10.0%}")


def coins(*means: float) -> list:
    return [lb.Bernoulli(mean) for mean in means]


WORLDS = {
    "one of 5 arms rises alone": lb.Piecewise(
        {0: coins(0.3, 0.35, 0.4, 0.45, 0.5), 5000: coins(0.6, 0.35, 0.4, 0.45, 0.5)}
    ),
    "one of 10 arms rises alone": lb.Piecewise(
        {0: coins(*[0.3] * 9, 0.5), 3000: coins(0.6, *[0.3] * 8, 0.5)}
    ),
    "one of 10 arms rises, 4 times": lb.Piecewise(
        {
            0: coins(*[0.3] * 9, 0.5),
            2000: coins(0.6, *[0.3] * 8, 0.5),
            4000: coins(0.6, 0.7, *[0.3] * 7, 0.5),
            6000: coins(0.6, 0.7, 0.8, *[0.3] * 6, 0.5),
            8000: coins(0.6, 0.7, 0.8, 0.9, *[0.3] * 5, 0.5),
        }
    ),
    "all five arms change, twice": lb.Piecewise(
        {
            0: coins(0.3, 0.35, 0.4, 0.45, 0.6),
            3000: coins(0.6, 0.2, 0.5, 0.3, 0.4),
            6000: coins(0.4, 0.6, 0.3, 0.5, 0.2),
        }
    ),
    "the paper's bernoulli-changes": lb.lab.Scenario.load("bernoulli-changes").environment,
}


def print_restarts() -> None:
    print(f"\nRegret at T = {HORIZON}, {REPLICATIONS} replications")
    print(f"{'':<32}{'local':>16}{'global':>16}")
    for name, world in WORLDS.items():
        figures = []
        for local in (True, False):
            run = lb.simulate(
                lb.GLRKLUCB.tuned(horizon=HORIZON, local=local),
                world,
                horizon=HORIZON,
                replications=REPLICATIONS,
                seed=1,
            )
            figures.append(f"{run.mean()[-1]:.1f} ± {run.standard_error()[-1]:.1f}")
        print(f"{name:<32}{figures[0]:>16}{figures[1]:>16}", flush=True)


def main() -> None:
    print_delays()
    print_restarts()


if __name__ == "__main__":
    Parser("glr", __doc__, "about half a minute on two cores, once compiled").parse_args()
    main()
