"""Policies for rewards that rot, with some or all windows: ``python -m benchmarks.rotting``.

Regret and time a step where means only fall, beside policies that do not know that they do.
"""

import time

import lastblock as lb
from benchmarks.options import Parser

HORIZON, REPLICATIONS = 10_000, 40


def coins(*means: float) -> list:
    return [lb.Bernoulli(mean) for mean in means]


WORLDS = {
    "two drops": lb.Piecewise(
        {0: coins(0.7, 0.6, 0.5), 3000: coins(0.3, 0.6, 0.5), 6000: coins(0.3, 0.2, 0.5)}
    ),
    "stationary": lb.Stationary(coins(0.4, 0.5, 0.6)),
}


def main() -> None:
    policies = [
        lb.RAWUCB(),
        lb.RAWUCB(all_windows=True),
        lb.FEWA(),
        lb.FEWA(all_windows=True),
        lb.UCB1(),
        lb.SWUCB.tuned(horizon=HORIZON, changes=2),
    ]
    print(f"T = {HORIZON}, {REPLICATIONS} replications")
    print(f"{'':<30}" + "".join(f"{name:>16}{'ns':>8}" for name in WORLDS))
    for policy in policies:
        cells = []
        for world in WORLDS.values():
            lb.simulate(policy, world, horizon=HORIZON, replications=1, seed=1)  # compile
            started = time.process_time()
            run = lb.simulate(policy, world, horizon=HORIZON, replications=REPLICATIONS, seed=1)
            pace = (time.process_time() - started) / (HORIZON * REPLICATIONS) * 1e9
            regret = f"{run.mean()[-1]:.1f} ± {run.standard_error()[-1]:.1f}"
            cells.append(f"{regret:>16}{pace:>8.0f}")
        print(f"{policy!s:<30}{''.join(cells)}", flush=True)


if __name__ == "__main__":
    Parser("rotting", __doc__, "about ten seconds, once compiled").parse_args()
    main()
