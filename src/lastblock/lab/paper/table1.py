"""The paper's table 1, storage and cost of the subsampling policies, with measured numbers."""

import math
import time
from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from lastblock.arms.gaussian import Gaussian
from lastblock.core.describing import held
from lastblock.core.failures import specialise
from lastblock.core.layout import state_dtype
from lastblock.core.protocol import Policy, Record
from lastblock.engine.simulate import Outcome, play
from lastblock.environments.piecewise import Stationary
from lastblock.kernels.record_arrays import RecordArray
from lastblock.kernels.streams import key_of
from lastblock.lab.latex_tables import escape, latex_table
from lastblock.policies.besa import BESA
from lastblock.policies.lbsda import LBSDA
from lastblock.policies.lbsdalm import LBSDALM
from lastblock.policies.rbsda import RBSDA
from lastblock.policies.ssmc import SSMC
from lastblock.simulation.run import Environment

if TYPE_CHECKING:
    import pandas as pd

HORIZONS = (10**3, 10**4, 10**5)
"""The measured horizons. Each needs a compilation for every policy that keeps all rewards, because
the size of its record depends on the horizon."""

GAUSSIAN = Stationary([Gaussian(0.0, 0.5), Gaussian(0.5, 0.5)])
"""The environment: with two arms a round is one pull."""

_STEPS = 200_000  # each timing covers at least this many steps
_REPEATS = 3  # the shortest time counts, because a busy machine only adds time


class Row(NamedTuple):
    """A policy, and the paper's orders of its storage and of the cost of a round."""

    name: str
    policy: Policy
    storage: str
    cost: str


ROWS = (
    Row("BESA", BESA(), "O(T)", "O((log T)²)"),
    Row("SSMC", SSMC(), "O(T)", "O(1)–O(T)"),
    Row("RB-SDA", RBSDA(), "O(T)", "O(log T)"),
    Row("LB-SDA", LBSDA(), "O(T)", "O(1)–O(log T)"),
    Row("LB-SDA-LM", LBSDALM(), "O((log T)²)", "O(1)–O(log T)"),
)


class Cost(NamedTuple):
    """The number of rewards stored after the last round, and the mean nanoseconds a round."""

    stored: int
    nanoseconds: float


def table1(horizons: Sequence[int] = HORIZONS, rows: Sequence[Row] = ROWS) -> "pd.DataFrame":
    """Measure the storage and the cost of policies.

    Parameters
    ----------
    horizons
        The horizons T at which to measure.
    rows
        The policies, with what the paper says of them.

    Returns
    -------
    DataFrame
        A row for each policy: the paper's orders, the measured numbers at each horizon, and their
        growth. The growth is the power b of a fitted T^b (stored rewards) or (log T)^b (time of a
        round).
    """
    import pandas as pd  # an optional dependency  # noqa: PLC0415

    table = []
    for row in rows:
        costs = [measure(row.policy, GAUSSIAN, horizon) for horizon in horizons]
        rewards = [cost.stored for cost in costs]
        nanoseconds = [cost.nanoseconds for cost in costs]
        table.append(
            {
                "policy": row.name,
                "storage, paper": row.storage,
                **_at("rewards", horizons, rewards),
                "rewards ~ T^b": powers(horizons, rewards)[0],
                "time, paper": row.cost,
                **_at("ns", horizons, nanoseconds),
                "ns ~ (log T)^b": powers(horizons, nanoseconds)[1],
            }
        )
    return pd.DataFrame(table)


def latex(frame: "pd.DataFrame") -> str:
    """Return a frame of `table1` as a LaTeX table."""
    columns = [str(name) for name in frame.columns]
    rows = [
        [escape(value) if isinstance(value, str) else _digits(value, name) for name, value in pairs]
        for pairs in (zip(columns, row, strict=True) for row in frame.itertuples(index=False))
    ]
    aligned = "".join("l" if frame[name].dtype.kind == "O" else "r" for name in columns)
    header = [
        name.replace("T^b", "$T^b$").replace("(log T)^b", r"$(\log T)^b$") for name in columns
    ]
    header = [name if "$" in name else escape(name) for name in header]
    header = [name.replace("~", r"$\sim$") for name in header]
    caption = (
        "Storage and cost of the subsampling policies: the paper's estimates, and the measured "
        "number of rewards stored after $T$ rounds and nanoseconds a round."
    )
    return latex_table(header, rows, aligned, caption, "tab:table1")


def _digits(value: float, column: str) -> str:
    """Return a number as text: a whole number as it is, others with one or two decimals."""
    if float(value).is_integer() and "~" not in column:
        return f"{int(value)}"
    return "--" if math.isnan(value) else f"{value:.2f}" if "~" in column else f"{value:.1f}"


def measure(policy: Policy, environment: Environment, horizon: int) -> Cost:
    """Play a policy for `horizon` rounds on one core, often enough to time it."""
    state = RecordArray(np.zeros(1, state_dtype(policy, environment.n_arms, horizon)))
    replications = max(1, _STEPS // horizon)
    arguments = (
        policy,
        environment.compile(horizon),
        state,
        key_of(1),
        np.empty((2, 4), np.uint64),
        0,
        np.array([horizon]),
        Outcome.empty(
            replications, times=1, phases=len(environment.changes) + 1, arms=environment.n_arms
        ),
        None,
    )
    run = specialise(play, *arguments)

    def once() -> float:
        started = time.thread_time()  # counts this thread only, whatever else the machine does
        run(*arguments)
        return time.thread_time() - started

    seconds = min(once() for _ in range(_REPEATS))
    return Cost(
        stored(policy, state[0], environment.n_arms), seconds / (replications * horizon) * 1e9
    )


def stored(policy: Policy, s: Record, arms: int) -> int:
    """Return the number of rewards that a policy holds in its record `s`.

    Raises
    ------
    ValueError
        If the policy does not say, because it has no method `held`.
    """
    sizes = [found.size for k in range(arms) if (found := held(policy, s, k)) is not None]
    known = [size for size in sizes if size is not None]
    if len(known) < arms:
        raise ValueError(
            f"{policy} does not say how many rewards it holds; give its class a method `held`"
        )
    return int(sum(known))


def powers(horizons: Sequence[int], values: Sequence[float]) -> tuple[float, float]:
    """Return the powers of T and of log T that fit `values` best; NaN for a single horizon."""
    if len(values) < 2:
        return math.nan, math.nan
    log_t = np.log(np.asarray(horizons[: len(values)], dtype=np.float64))
    logs = np.log(np.asarray(values, dtype=np.float64))
    return float(np.polyfit(log_t, logs, 1)[0]), float(np.polyfit(np.log(log_t), logs, 1)[0])


def _at(what: str, horizons: Sequence[int], values: Sequence[float]) -> dict[str, float]:
    pairs = zip(horizons, values, strict=True)
    return {f"{what} at T = {_power_of_ten(horizon)}": value for horizon, value in pairs}


def _power_of_ten(horizon: int) -> str:
    digits = str(horizon)
    if digits.strip("0") != "1":
        return f"{horizon:,}"
    return "10" + str(len(digits) - 1).translate(str.maketrans("0123456789", "⁰¹²³⁴⁵⁶⁷⁸⁹"))
