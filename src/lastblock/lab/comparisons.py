"""Tables that compare policies, for papers: as a data frame, LaTeX or plain data."""

import math
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from lastblock.lab.latex_tables import escape, latex_table, minus
from lastblock.lab.statistics import differences, summary
from lastblock.support.rounding import decimals_of, fixed, rounded

if TYPE_CHECKING:
    import pandas as pd

    from lastblock.lab.results import Result


def comparison(
    results: "Result | Sequence[Result]",
    baseline: str | None = None,
    confidence: float = 0.95,
) -> "pd.DataFrame":
    """Return a table of the final regret of every policy and its difference from a baseline.

    Parameters
    ----------
    results, baseline, confidence
        As for `differences`.

    Returns
    -------
    pandas.DataFrame
        One row per policy, including the baseline. The columns are those of `summary` (with
        `mean_se`, `mean_low` and `mean_high` for the mean), then those of `differences`, which are
        missing for the baseline.
    """
    means = summary(results, confidence).rename(
        columns={"low": "mean_low", "high": "mean_high", "se": "mean_se"}
    )
    return means.merge(differences(results, baseline, confidence), "left", on="policy")


def latex(
    results: "Result | Sequence[Result]",
    baseline: str | None = None,
    confidence: float = 0.95,
) -> str:
    r"""Return the table of `comparison` in LaTeX, each number rounded by its standard error.

    Parameters
    ----------
    results, baseline, confidence
        As for `differences`.

    Returns
    -------
    str
        A `table` with rules of the package booktabs, to be read in with ``\input``.
    """
    frame = comparison(results, baseline, confidence)
    first = results[0] if isinstance(results, Sequence) else results
    known = frame["baseline"].dropna()
    rows = [[escape(row["policy"]), *_cells(row)] for row in frame.to_dict("records")]
    share = f"{100 * confidence:.6g}\\,\\%"
    header = ["policy", "regret", "difference", f"{share} interval", "$p$"]
    caption = (
        f"Mean regret at $T = {first.horizon}$ with its standard error, over "
        f"{_replications(results)}"
    )
    if len(known):
        held = (
            "; intervals and $p$ hold for all pairs of policies at once"
            if (frame["adjusted"] == "all pairs").any()
            else "; $p$ is adjusted for the number of rows"
        )
        caption += f", and differences from {escape(known.iloc[0])}{held}"
        if frame["significant"].eq(True).any():
            caption += "; $^{*}$: significant"
    else:
        header = header[:2]
        rows = [row[:2] for row in rows]
    return latex_table(header, rows, "lrrrr"[: len(header)], f"{caption}.", f"tab:{first.name}")


def plain_rows(frame: "pd.DataFrame") -> list[dict[str, Any]]:
    """Return the rows as plain data for JSON: None where a value is missing or not finite."""
    return [
        {str(name): _plain(value) for name, value in row.items()}
        for row in frame.to_dict("records")
    ]


def _cells(row: Mapping[Any, Any]) -> list[str]:
    mean = _with_error(row["mean"], row["mean_se"])
    if row["difference"] is None or math.isnan(row["difference"]):
        return [mean, "--", "--", "--"]
    decimals = decimals_of(row["se"])
    places = 2 if decimals is None else decimals
    low, high = (minus(fixed(row[name], places)) for name in ("low", "high"))
    star = "^{*}" if row["significant"] else ""
    p = row["p"]
    shown = "--" if math.isnan(p) else "$< 0.0001$" if p < 1e-4 else f"${p:.4f}$"
    interval = "--" if math.isnan(row["low"]) else f"$[{low}, {high}]$"
    return [mean, _with_error(row["difference"], row["se"], star), interval, shown]


def _with_error(value: float, error: float, star: str = "") -> str:
    number, spread = rounded(value, error)
    error_shown = rf" \pm {spread}" if spread else ""
    return f"${minus(number)}{error_shown}{star}$"


def _replications(results: "Result | Sequence[Result]") -> str:
    each = results if isinstance(results, Sequence) else [results]
    numbers = sorted({result.replications for result in each})
    return f"{' or '.join(map(str, numbers))} replication{'s' * (numbers != [1])}"


def _plain(value: Any) -> Any:
    if isinstance(value, str | bool) or value is None:
        return value
    if hasattr(value, "item"):
        value = value.item()
    return None if isinstance(value, float) and not math.isfinite(value) else value
