"""Storage and cost of the subsampling policies, measured instead of estimated.

`python -m benchmarks.table1`. Two arms, so that a round is one pull. The first run compiles a
kernel for each policy and horizon, about a minute; later ones take seconds.
"""

import math
import time

import numpy as np

import lastblock as lb
from benchmarks.timing import best_of
from lastblock.engine import Outcome, play
from lastblock.jit import specialise
from lastblock.random import key_of
from lastblock.state import state_dtype

HORIZONS = (10**3, 10**4, 10**5, 10**6)
STEPS = 300_000
"""At least as many are timed at once."""

LONGEST_SECONDS = 2.0
"""A horizon that would take longer, were the cost of a round to grow like T, is left out."""

GAUSSIAN = lb.Stationary([lb.Gaussian(0.0, 0.5), lb.Gaussian(0.5, 0.5)])
EQUAL = lb.Stationary([lb.Gaussian(0.0, 0.5), lb.Gaussian(0.0, 0.5)])
BERNOULLI = lb.Stationary([lb.Bernoulli(0.05), lb.Bernoulli(0.15)])
ROWS = [
    ("BESA", lb.BESA(), GAUSSIAN, "O(T)", "O((log T)²)"),
    ("BESA, two values", lb.BESA(), BERNOULLI, "", ""),
    ("SSMC", lb.SSMC(), GAUSSIAN, "O(T)", "O(1)–O(T)"),
    ("RB-SDA", lb.RBSDA(), GAUSSIAN, "O(T)", "O(log T)"),
    ("LB-SDA", lb.LBSDA(), GAUSSIAN, "O(T)", "O(1)–O(log T)"),
    ("LB-SDA-LM", lb.LBSDALM(), GAUSSIAN, "O((log T)²)", "O(1)–O(log T)"),
]
BETA = lb.Stationary([lb.Beta(2.0, 3.0), lb.Beta(3.0, 2.0)])
OTHER_ROWS = [  # not in the paper's table; on rewards of many values in [0, 1]
    ("Giro", lb.Giro(), BETA, "", ""),
    ("NPTS", lb.NPTS(), BETA, "", ""),
]
HARD_ROWS = [(name, policy, EQUAL, "", "") for name, policy, arms, *_ in ROWS if arms is GAUSSIAN]


def measure(policy, environment, horizon: int) -> tuple[int, float]:
    """Rewards in the record after the last round, and nanoseconds a round."""
    state = np.zeros(1, state_dtype(policy, environment.n_arms, horizon))
    replications = max(1, STEPS // horizon)
    arguments = (
        policy,
        environment.compile(horizon),
        state,
        key_of(1),
        np.empty((2, 4), np.uint64),
        0,
        np.array([horizon]),
        Outcome.empty(replications, times=1, phases=1, arms=environment.n_arms),
    )
    run = specialise(play, *arguments)

    def once() -> float:
        started = time.perf_counter()
        run(*arguments)
        return (time.perf_counter() - started) / (replications * horizon) * 1e9

    nanoseconds = best_of(once, 3)
    return stored(state[0], environment.n_arms), nanoseconds


def stored(s, arms: int) -> int:
    """The rewards in a record."""
    kept = s["pulls"] if "history" not in s.dtype.names else s["history"]
    if kept.dtype.names is not None:
        kept = kept["kept" if "kept" in kept.dtype.names else "others"]
    return int(kept[:arms].sum())


def measure_all(policy, environment) -> list[tuple[int, float]]:
    """`measure` for every horizon that does not take too long."""
    cells: list[tuple[int, float]] = []
    for horizon in HORIZONS:
        if cells and cells[-1][1] * horizon / HORIZONS[len(cells) - 1] * horizon > (
            LONGEST_SECONDS * 1e9
        ):
            break
        cells.append(measure(policy, environment, horizon))
    return cells


def show(title: str, rows, part: int) -> None:
    columns = "".join(f"{f'T = 10^{round(math.log10(t))}':>11}" for t in HORIZONS)
    print(title)
    print(f"{'':<18}{columns}{'T^e':>8}{'(log T)^b':>11}  paper")
    for name, cells, *estimates in rows:
        values = [cell[part] for cell in cells]
        numbers = "".join(f"{value:>11,.{part}f}" for value in values)
        numbers += f"{'–':>11}" * (len(HORIZONS) - len(values))
        logs = [math.log(value) for value in values]
        log_t = [math.log(t) for t in HORIZONS[: len(values)]]
        power = slope(log_t, logs)
        power_of_log = slope([math.log(x) for x in log_t], logs)
        print(f"{name:<18}{numbers}{power:>8.2f}{power_of_log:>11.2f}  {estimates[part]}".rstrip())
    print()


def slope(x: list[float], y: list[float]) -> float:
    """Of the least-squares line."""
    return float(np.polyfit(x, y, 1)[0])


def main() -> None:
    print("Two arms, Gaussian N(0, ¼) and N(½, ¼); 'two values': Bernoulli(0.05) and (0.15).")
    print(
        "T^e and (log T)^b: the fitted powers of growth. 'paper': the estimates of its table 1.\n"
    )
    table, hard, others = (
        [(name, measure_all(policy, arms), *estimates) for name, policy, arms, *estimates in rows]
        for rows in (ROWS, HARD_ROWS, OTHER_ROWS)
    )
    show("Rewards stored at T", table, 0)
    show("Nanoseconds a round, mean over all T rounds", table, 1)
    show("The same with two equal arms, the worst case: both have about T/2 rewards", hard, 1)
    show("Nanoseconds a round of policies that resample their history, Beta arms", others, 1)


if __name__ == "__main__":
    main()
