"""Summarises the results of the suite of random problems for each policy.

Every comparison is paired, because all policies see the same random draws in each replication.
Ratios of mean regrets are compared on a logarithmic scale, with standard errors by the delta
method. The intervals hold for these problems: they show what more replications could change, not
what other problems could.
"""

import io
import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from benchmarks.suite.halves import name_of, relevant_changes, write_numbers
from benchmarks.suite.problems import Half, problem
from benchmarks.suite.rivals import COUNTED, ORACLE, RIVALS, TUNED, WINDOWS
from lastblock.lab.intervals import Sample, mean_of
from lastblock.support import files
from lastblock.support.errors import ResultError
from lastblock.support.intervals import normal_reach

if TYPE_CHECKING:
    import pandas as pd

    from lastblock.lab.results import Result

CONFIDENCE = 0.95
_PER = 1e4
"""Rates of restarts are per this many steps."""
_FRAMES = ("ratios", "delays", "kinds", "calm")


class Ratio(NamedTuple):
    """The logarithm of a ratio of means, with its standard error and confidence interval."""

    log: float
    se: float
    low: float
    high: float


def log_regret_ratio(ours: Sample, theirs: Sample) -> Ratio:
    """Return log(mean(ours) / mean(theirs)); ours[i] and theirs[i] saw the same draws.

    All values are NaN if a mean is not positive.
    """
    a, b = float(ours.mean()), float(theirs.mean())
    if a <= 0.0 or b <= 0.0:
        return Ratio(math.nan, math.nan, math.nan, math.nan)
    log = math.log(a / b)
    # The sample below has mean 0; its standard error is that of the logarithm (delta method).
    _, se, low, high, _ = mean_of(ours / a - theirs / b, CONFIDENCE)
    return Ratio(log, se, log + low, log + high)


def geometric_mean(logs: Sequence[float], errors: Sequence[float]) -> tuple[float, float, float]:
    """Return exp of the mean of `logs`, and its interval; `errors` are their standard errors."""
    if not logs:
        return math.nan, math.nan, math.nan
    centre = float(np.mean(logs))
    half = normal_reach(CONFIDENCE) * math.sqrt(float(np.square(errors).sum())) / len(logs)
    return math.exp(centre), math.exp(centre - half), math.exp(centre + half)


def rate_of(events: int, steps: int) -> tuple[float, float, float]:
    """Return the events per 10⁴ steps, with the interval of a Poisson count (Garwood, 1936)."""
    from scipy.special import gammaincinv  # an optional dependency  # noqa: PLC0415

    if steps == 0:
        return math.nan, math.nan, math.nan
    low = float(gammaincinv(events, 0.5 - CONFIDENCE / 2)) if events > 0 else 0.0
    high = float(gammaincinv(events + 1.0, 0.5 + CONFIDENCE / 2))
    unit = _PER / steps
    return events * unit, low * unit, high * unit


@dataclass(frozen=True, eq=False)
class Suite:
    """The summary of a half of the suite, or of some of its problems; `sum_up` makes it."""

    about: dict[str, Any]
    """Keys half, problems (how many), numbers (which), replications, and policies, the rows of
    `summary`."""
    ratios: "pd.DataFrame"
    """A row for each problem and policy: problem, kind, title, horizon, policy, regret and its se.
    tuned, tuned_log, tuned_se, tuned_low and tuned_high are the ratio to the regret of the tuned
    window, its logarithm with standard error, and its interval. best_window is the best window in
    hindsight; best, best_log, … are the ratio to its regret."""
    delays: "pd.DataFrame"
    """A row for each change of the best arm and each policy: problem, phase, policy, found (the
    share of the replications that found the new best arm), median (delay), and log and se of the
    ratio of the mean delay to that of the tuned window."""
    kinds: "pd.DataFrame"
    """Columns policy, kind, ratio, low, high: the geometric mean over the problems of a kind of the
    ratio to the tuned window, with its interval."""
    calm: "pd.DataFrame"
    """Columns policy, world, steps, restarts, rate, low, high: false restarts in stationary worlds,
    and their rate per 10⁴ steps with its interval."""

    @property
    def summary(self) -> list[dict[str, Any]]:
        """A row for each policy; None where a value is missing."""
        rows: list[dict[str, Any]] = self.about["policies"]
        return rows

    @property
    def name(self) -> str:
        """The name of the half, with the numbers of the problems unless these are all."""
        return name_of(self.about["half"], self.about["numbers"])

    @property
    def title(self) -> str:
        """The half and its problems in words, for headings."""
        half, numbers = self.about["half"], self.about["numbers"]
        if self.name == half:
            return f"{half} half"
        return f"{half} half, problem{'s' * (len(numbers) != 1)} {write_numbers(numbers)}"

    def save(self, folder: str | Path) -> Path:
        """Write summary.json, each frame as CSV and the ratios as Parquet too; return `folder`."""
        folder = Path(folder)
        folder.mkdir(parents=True, exist_ok=True)
        for name in _FRAMES:
            frame = getattr(self, name)
            files.write(folder / f"{name}.csv", frame.to_csv(index=False).encode())
        buffer = io.BytesIO()
        self.ratios.to_parquet(buffer, index=False)
        files.write(folder / "ratios.parquet", buffer.getvalue())
        text = json.dumps(self.about, indent=2, ensure_ascii=False, allow_nan=False)
        files.write(folder / "summary.json", text.encode())
        return folder


def load(folder: str | Path) -> Suite:
    """Read a folder that `Suite.save` wrote.

    Raises a `ResultError` if a file is missing or damaged.
    """
    import pandas as pd  # noqa: PLC0415  # optional, and slow to import

    folder = Path(folder)
    try:
        about = json.loads((folder / "summary.json").read_text(encoding="utf-8"))
        frames = {name: pd.read_csv(folder / f"{name}.csv") for name in _FRAMES}
    except (OSError, ValueError) as error:
        raise ResultError(
            f"{folder} does not hold a complete suite ({error}); run it again"
        ) from None
    return Suite(about, **frames)


def sum_up(
    results: "Mapping[int, Result]", calm: "Sequence[Result]", half: Half = "development"
) -> Suite:
    """Summarise results.

    Parameters
    ----------
    results
        The results of problems, by their numbers.
    calm
        The results of `calm_scenarios`.
    half
        The half that the problems belong to.

    Returns
    -------
    Suite
        The summary.

    Raises
    ------
    ResultError
        If `results` is empty.
    """
    import pandas as pd  # an optional dependency  # noqa: PLC0415

    if not results:
        raise ResultError("there are no results to summarise; give those of at least one problem")
    kinds = {i: problem(i, half).kind for i in results}
    ratios = pd.DataFrame(
        [row for i, result in results.items() for row in _ratio_rows(i, kinds[i], result)]
    )
    changes = {i: relevant_changes(problem(i, half).environment) for i in results}
    delays = pd.DataFrame(
        [row for i, result in results.items() for row in _delay_rows(i, changes[i], result)],
        columns=["problem", "phase", "policy", "found", "median", "log", "se"],
    )
    still = [result for i, result in results.items() if kinds[i] == "stationary"]
    calm_frame = pd.DataFrame(
        [row for result in [*still, *calm] for row in _calm_rows(result)],
        columns=["policy", "world", "steps", "restarts", "rate", "low", "high"],
    )
    about = {
        "half": half,
        "problems": len(results),
        "numbers": sorted(results),
        "replications": min(result.replications for result in results.values()),
        "policies": [_summary(label, ratios, delays, calm_frame) for label in RIVALS],
    }
    return Suite(_plain(about), ratios, delays, _by_kind(ratios), calm_frame)


def _ratio_rows(index: int, kind: str, result: "Result") -> list[dict[str, Any]]:
    regrets = {label: result.final_regret(label) for label in result.labels}
    grid = [TUNED, *(f"window {w}" for w in WINDOWS if f"window {w}" in regrets)]
    best = min(grid, key=lambda label: float(regrets[label].mean()))
    parameters = result.about["scenario"]["policies"][best]["parameters"]
    rows = []
    for label in RIVALS:
        if label not in regrets:
            continue
        mean, se, *_ = mean_of(regrets[label], CONFIDENCE)
        row = {
            "problem": index,
            "kind": kind,
            "title": result.title,
            "horizon": result.horizon,
            "policy": label,
            "regret": mean,
            "se": se,
            "best_window": int(parameters["window"]),
        }
        for name, other in ("tuned", TUNED), ("best", best):
            ratio = log_regret_ratio(regrets[label], regrets[other])
            row |= {
                name: math.exp(ratio.log),
                f"{name}_log": ratio.log,
                f"{name}_se": ratio.se,
                f"{name}_low": math.exp(ratio.low),
                f"{name}_high": math.exp(ratio.high),
            }
        rows.append(row)
    return rows


def _delay_rows(index: int, phases: Sequence[int], result: "Result") -> list[dict[str, Any]]:
    ends = [*result.changes, result.horizon]
    rows = []
    for phase in phases:
        length = ends[phase] - result.changes[phase - 1]
        mine = result.delays[result.delays["phase"] == phase]
        delays = {
            label: mine.loc[mine["policy"] == label, "delay"].to_numpy(np.float64, na_value=np.inf)
            for label in result.labels
        }
        for label in RIVALS:
            if label in delays:
                # A replication that never found the new best arm counts with the whole phase.
                ours, theirs = (np.minimum(delays[who], length) for who in (label, TUNED))
                ratio = log_regret_ratio(ours, theirs)
                rows.append(
                    {
                        "problem": index,
                        "phase": phase,
                        "policy": label,
                        "found": float(np.isfinite(delays[label]).mean()),
                        "median": float(np.median(ours)),
                        "log": ratio.log,
                        "se": ratio.se,
                    }
                )
    return rows


def _calm_rows(result: "Result") -> list[dict[str, Any]]:
    rows = []
    for label in COUNTED:
        mine = result.final[result.final["policy"] == label]
        events, steps = int(mine["restarts"].sum()), result.horizon * len(mine)
        rate, low, high = rate_of(events, steps)
        rows.append(
            {
                "policy": label,
                "world": result.title,
                "steps": steps,
                "restarts": events,
                "rate": rate,
                "low": low,
                "high": high,
            }
        )
    return rows


def _by_kind(ratios: "pd.DataFrame") -> "pd.DataFrame":
    import pandas as pd  # noqa: PLC0415  # optional, and slow to import

    rows = []
    for label in RIVALS:
        for kind in dict.fromkeys(ratios["kind"]):
            mine = ratios[(ratios["policy"] == label) & (ratios["kind"] == kind)]
            if len(mine):
                ratio, low, high = _geometric(mine, "tuned_log", "tuned_se")
                rows.append(
                    {"policy": label, "kind": kind, "ratio": ratio, "low": low, "high": high}
                )
    return pd.DataFrame(rows)


def _geometric(frame: "pd.DataFrame", log: str, se: str) -> tuple[float, float, float]:
    known = frame[frame[log].notna()]
    return geometric_mean(known[log].tolist(), known[se].tolist())


def _summary(
    label: str, ratios: "pd.DataFrame", delays: "pd.DataFrame", calm: "pd.DataFrame"
) -> dict[str, Any]:
    """Return the row of one policy in the summary."""
    mine = ratios[ratios["policy"] == label]
    row: dict[str, Any] = {"policy": label, "played": len(mine)}
    for name in "tuned", "best":
        ratio, low, high = _geometric(mine, f"{name}_log", f"{name}_se")
        row |= {name: ratio, f"{name}_low": low, f"{name}_high": high}
    known = mine[mine["tuned"].notna()]
    if len(known):
        worst = known.iloc[int(known["tuned"].to_numpy().argmax())]
        row |= {
            "worst": float(worst["tuned"]),
            "worst_low": float(worst["tuned_low"]),
            "worst_high": float(worst["tuned_high"]),
            "worst_problem": str(worst["title"]),
        }
        others = ratios[ratios["policy"] != ORACLE]
        least = others.groupby("problem")["regret"].min()
        row |= {
            "won": float((known["tuned"] < 1.0).mean()),
            "surely_won": float((known["tuned_high"] < 1.0).mean()),
            "surely_lost": float((known["tuned_low"] > 1.0).mean()),
            "first": None
            if label == ORACLE
            else float((known["regret"].to_numpy() <= least[known["problem"]].to_numpy()).mean()),
        }
    counted = calm[calm["policy"] == label]
    if len(counted):
        rate, low, high = rate_of(int(counted["restarts"].sum()), int(counted["steps"].sum()))
        row |= {"false_restarts": rate, "false_restarts_low": low, "false_restarts_high": high}
    changes = delays[delays["policy"] == label]
    if len(changes):
        ratio, low, high = _geometric(changes, "log", "se")
        row |= {
            "changes": len(changes),
            "delay": float(changes["median"].median()),
            "found": float(changes["found"].mean()),
            "delay_ratio": ratio,
            "delay_ratio_low": low,
            "delay_ratio_high": high,
        }
    return {name: row.get(name) for name in _COLUMNS}


_COLUMNS = (
    "policy",
    "played",
    *(f"{name}{end}" for name in ("tuned", "best", "worst") for end in ("", "_low", "_high")),
    "worst_problem",
    "won",
    "surely_won",
    "surely_lost",
    "first",
    *(f"false_restarts{end}" for end in ("", "_low", "_high")),
    "changes",
    "delay",
    "found",
    *(f"delay_ratio{end}" for end in ("", "_low", "_high")),
)


def _plain(value: Any) -> Any:
    """Return the value for JSON, with None instead of NaN and infinite numbers."""
    if isinstance(value, dict):
        return {name: _plain(item) for name, item in value.items()}
    if isinstance(value, list):
        return [_plain(item) for item in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value
