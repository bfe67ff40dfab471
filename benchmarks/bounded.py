"""What is gained by the divergence of the rewards themselves: ``python -m benchmarks.bounded``.

Regret and time a step of policies for rewards in [0, 1], on Beta arms, which vary less than coins.
"""

import time

import lastblock as lb
from benchmarks.options import Parser

MEANS, CONCENTRATION = (0.3, 0.45, 0.6), 4.0
HORIZON, REPLICATIONS = 1500, 400


def main() -> None:
    world = lb.Stationary(
        [lb.Beta(CONCENTRATION * mean, CONCENTRATION * (1.0 - mean)) for mean in MEANS]
    )
    policies = [
        lb.IMED(),
        lb.IMED("bounded"),
        lb.KLUCB(),
        lb.KLUCB("bounded"),
        lb.MED(),
        lb.MED("bounded"),
        lb.NPTS(),
        lb.LBSDA(),
    ]
    print(f"Beta arms of means {MEANS}, concentration {CONCENTRATION:g}")
    print(f"{'':<26}{f'T = {HORIZON}':>14}{'ns a step':>12}")
    for policy in policies:
        lb.simulate(policy, world, horizon=HORIZON, replications=2, seed=1)  # compile
        started = time.process_time()
        run = lb.simulate(policy, world, horizon=HORIZON, replications=REPLICATIONS, seed=1)
        pace = (time.process_time() - started) / (HORIZON * REPLICATIONS) * 1e9
        regret = f"{run.mean()[-1]:.1f} ± {run.standard_error()[-1]:.1f}"
        print(f"{policy!s:<26}{regret:>14}{pace:>12.0f}", flush=True)


if __name__ == "__main__":
    Parser("bounded", __doc__, "some seconds, once compiled").parse_args()
    main()
