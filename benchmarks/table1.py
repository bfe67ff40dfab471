"""Measures storage and cost of the subsampling policies: ``python -m benchmarks.table1``.

The paper's table 1 has their orders. With two arms, a round is one pull. The first run compiles a
kernel for each policy and horizon and takes about a minute; later runs take seconds.
"""

import math

import lastblock as lb
from benchmarks.options import Parser
from lastblock.lab.paper.table1 import GAUSSIAN, ROWS, Cost, measure, powers

HORIZONS = (10**3, 10**4, 10**5, 10**6)

LONGEST_SECONDS = 2.0
"""A horizon is left out if it could take longer, assuming that the cost of a round grows like T."""

EQUAL = lb.Stationary([lb.Gaussian(0.0, 0.5), lb.Gaussian(0.0, 0.5)])
BERNOULLI = lb.Stationary([lb.Bernoulli(0.05), lb.Bernoulli(0.15)])
BETA = lb.Stationary([lb.Beta(2.0, 3.0), lb.Beta(3.0, 2.0)])
TABLE = [(name, policy, GAUSSIAN, storage, cost) for name, policy, storage, cost in ROWS]
TABLE.insert(1, ("BESA, two values", lb.BESA(), BERNOULLI, "", ""))
HARD_ROWS = [(row.name, row.policy, EQUAL, "", "") for row in ROWS]
OTHER_ROWS = [  # not in the paper's table; on rewards of many values in [0, 1]
    ("Giro", lb.Giro(), BETA, "", ""),
    ("NPTS", lb.NPTS(), BETA, "", ""),
]


def measure_all(policy, environment) -> list[Cost]:
    """Return the cost of a policy at every horizon that does not take too long."""
    cells: list[Cost] = []
    for horizon in HORIZONS:
        if cells and cells[-1].nanoseconds * horizon / HORIZONS[len(cells) - 1] * horizon > (
            LONGEST_SECONDS * 1e9
        ):
            break
        cells.append(measure(policy, environment, horizon))
    return cells


def show(title: str, rows, part: int) -> None:
    """Print a table of the stored rewards (`part` = 0) or of the nanoseconds (`part` = 1)."""
    columns = "".join(f"{f'T = 10^{round(math.log10(t))}':>11}" for t in HORIZONS)
    print(title)
    print(f"{'':<18}{columns}{'T^e':>8}{'(log T)^b':>11}  paper")
    for name, cells, *estimates in rows:
        values = [cell[part] for cell in cells]
        numbers = "".join(f"{value:>11,.{part}f}" for value in values)
        numbers += f"{'–':>11}" * (len(HORIZONS) - len(values))
        of_t, of_log = powers(HORIZONS, values)
        print(f"{name:<18}{numbers}{of_t:>8.2f}{of_log:>11.2f}  {estimates[part]}".rstrip())
    print()


def main() -> None:
    print("Two arms, Gaussian N(0, ¼) and N(½, ¼); 'two values': Bernoulli(0.05) and (0.15).")
    print(
        "T^e and (log T)^b are the fitted powers of growth; 'paper': the orders in its table 1.\n"
    )
    table, hard, others = (
        [(name, measure_all(policy, arms), *estimates) for name, policy, arms, *estimates in rows]
        for rows in (TABLE, HARD_ROWS, OTHER_ROWS)
    )
    show("Rewards stored at T", table, 0)
    show("Nanoseconds a round, mean over all T rounds", table, 1)
    show("The same with two equal arms, the worst case: both have about T/2 rewards", hard, 1)
    show("Nanoseconds a round of policies that resample their history, Beta arms", others, 1)


if __name__ == "__main__":
    Parser("table1", __doc__, "some seconds, once compiled").parse_args()
    main()
