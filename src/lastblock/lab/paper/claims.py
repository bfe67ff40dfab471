"""What the paper says of its figures, and whether results show it.

A claim is *seen* if each of its comparisons holds for the whole 95 % interval, paired by
replication. It names its policies before there are results, and all of its comparisons must hold,
so they need no adjustment for their number.
"""

import math
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from lastblock.lab.intervals import Interval, Sample, mean_of, paired_ratio
from lastblock.support.rounding import rounded

if TYPE_CHECKING:
    import pandas as pd

    from lastblock.lab.results import Result

CONFIDENCE = 0.95
_RESAMPLES = 400


class Claim(NamedTuple):
    """The mean regret of some policies is between `least` and `most` times that of others."""

    scenario: str
    text: str
    small: tuple[str, ...] = ()
    """The labels of the policies with less regret; empty for all that are not in `large`."""
    large: tuple[str, ...] = ()
    """The labels of those with more; empty for all that are not in `small`."""
    least: float = 0.0
    most: float = 1.0
    widths: bool = False
    """Whether the claim is about the bands between the quartiles instead of the means."""


_WIDE_MARGIN = "SW-LB-SDA, which is not told σ, has the smallest regret by a wide margin"
CLAIMS = (
    Claim(
        "stationary",
        "LB-SDA with limited memory is close to kl-UCB",
        *(("LB-SDA-LM",), ("kl-UCB",), 0.75, 1.25),
    ),
    Claim(
        "stationary",
        "Limited memory costs LB-SDA little",
        *(("LB-SDA-LM",), ("LB-SDA",), 0.75, 1.25),
    ),
    Claim("bernoulli-changes", "SW-LB-SDA has the smallest regret", ("SW-LB-SDA",)),
    Claim(
        "bernoulli-changes",
        "The forgetting Thompson samplers come next",
        ("SW-LB-SDA", "SW-TS", "DTS"),
    ),
    Claim(
        "bernoulli-changes",
        "A window serves kl-UCB better than a discount",
        *(("SW-kl-UCB",), ("D-kl-UCB",)),
    ),
    Claim(
        "bernoulli-changes",
        "CUSUM-UCB varies most: its quartile band is the widest",
        large=("CUSUM-UCB",),
        widths=True,
    ),
    Claim("bernoulli-changes", "EXP3.S, made for an adversary, comes last", large=("EXP3.S",)),
    Claim("gaussian-changes", "SW-LB-SDA has the smallest regret", ("SW-LB-SDA",)),
    Claim("gaussian-variance-changes", _WIDE_MARGIN, ("SW-LB-SDA",), most=0.75),
    Claim("gaussian-variance-changes-notebook", _WIDE_MARGIN, ("SW-LB-SDA",), most=0.75),
)


def judge(claim: Claim, regrets: Mapping[str, Sample]) -> tuple[bool, str]:
    """Return whether final regrets show a claim, and the comparison that is least in its favour."""
    small = claim.small or [label for label in regrets if label not in claim.large]
    large = claim.large or [label for label in regrets if label not in claim.small]
    ratio = _ratio_of_widths if claim.widths else paired_ratio
    ratios = {(a, b): ratio(regrets[a], regrets[b], CONFIDENCE) for a in small for b in large}
    seen = all(claim.least <= each.low and each.high < claim.most for each in ratios.values())
    a, b = max(ratios, key=lambda pair: _or_infinite(ratios[pair].high))
    show = _show_width if claim.widths else _show_mean
    figures = f"{show(a, regrets[a])}, {show(b, regrets[b])}"
    value, _, low, high, _ = ratios[a, b]
    if math.isnan(low):
        return False, f"{figures}; too little data for an interval"
    return seen, f"{figures}: {value:.1%} [{low:.1%}, {high:.1%}]"


def compare(results: "Sequence[Result]") -> "pd.DataFrame":
    """Return a row for each claim about these results: scenario, claim, seen, figures."""
    import pandas as pd  # an optional dependency  # noqa: PLC0415

    rows = []
    for result in results:
        regrets = {label: result.final_regret(label) for label in result.labels}
        for claim in CLAIMS:
            if claim.scenario == result.name:
                rows.append((result.name, claim.text, *judge(claim, regrets)))
    return pd.DataFrame(rows, columns=["scenario", "claim", "seen", "figures"])


def _ratio_of_widths(a: Sample, b: Sample, confidence: float) -> Interval:
    """Return the ratio of the widths of two bands, with its interval by the bootstrap."""

    def ratio(x: Sample, y: Sample) -> float:
        return _width(x) / _width(y) if _width(y) > 0.0 else math.inf

    if a.size < 2:
        return Interval(math.nan, math.nan, math.nan, math.nan, math.nan)
    stream = np.random.default_rng(1)
    draws = (stream.integers(a.size, size=a.size) for _ in range(_RESAMPLES))
    resampled = np.sort([ratio(a[rows], b[rows]) for rows in draws])
    tail = round((1.0 - confidence) / 2.0 * _RESAMPLES)
    return Interval(ratio(a, b), math.nan, resampled[tail], resampled[-1 - tail], math.nan)


def _width(regrets: Sample) -> float:
    low, high = np.quantile(regrets, [0.25, 0.75])
    return float(high - low)


def _show_width(label: str, regrets: Sample) -> str:
    return f"{label} has a band of {_width(regrets):.1f}"


def _show_mean(label: str, regrets: Sample) -> str:
    """Show a policy's mean regret with its standard error, to two digits of the error."""
    mean = mean_of(regrets, CONFIDENCE)
    number, error = rounded(mean.value, mean.se)
    return f"{label} {number} ± {error}" if error else f"{label} {number}"


def _or_infinite(value: float) -> float:
    return math.inf if math.isnan(value) else value
