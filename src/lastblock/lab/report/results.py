"""The parts of a report on the results of one scenario: figure and tables."""

import math
from collections.abc import Sequence
from html import escape
from typing import TYPE_CHECKING, Any, TypeAlias

from lastblock.drawing import numbers
from lastblock.lab import statistics
from lastblock.lab.figures import result_figure
from lastblock.lab.ranks import wins
from lastblock.lab.report import markup
from lastblock.lab.report.markup import Cell, Column, Rail, Style
from lastblock.lab.report.paper import image

if TYPE_CHECKING:
    import pandas as pd

    from lastblock.lab.results import Result

Styles: TypeAlias = dict[str, Style]

_CONFIDENCE = 0.95
_PICTURE_DPI = 100


def figure(result: "Result", styles: Styles, report: "Sequence[Result]") -> str:
    """Return the data of the interactive figure, and a picture for browsers without scripts.

    A policy looks the same in the pictures of all that the `report` has.
    """
    series: list[dict[str, Any]] = []
    times: list[int] = []
    for label, style in styles.items():
        curve = result.curves[result.curves["policy"] == label]
        times = curve["t"].tolist()
        series.append(
            {
                "label": label,
                **style._asdict(),
                "mean": markup.rounded(curve["mean"].tolist()),
                "q25": markup.rounded(curve["q25"].tolist()),
                "q75": markup.rounded(curve["q75"].tolist()),
                "share": markup.rounded(pooled(times, curve["best_share"].tolist()), 4),
            }
        )
    if result.lai_robbins is not None:
        bound = [result.lai_robbins * math.log(t) for t in times]
        series.append(
            {
                "label": "Lai–Robbins bound",
                "colour": "var(--ink)",
                "marker": None,
                "dash": "6.3 3.6",
                "mean": markup.rounded(bound),
            }
        )
    data = {
        "title": result.title,
        "horizon": result.horizon,
        "changes": result.changes,
        "t": times,
        "series": series,
    }
    picture = _picture(result, "regret", "Regret over time", report)
    return f'<figure class="figure">{markup.embedded(data)}<noscript>{picture}</noscript></figure>'


def sweeps(result: "Result", report: "Sequence[Result]") -> str:
    """Return the figure of the sweeps, if there are any, and what is best in each."""
    if not result.sweeps:
        return ""
    picture = _picture(result, "sweep", "Final regret in sweeps", report)
    table = result.sweep_table(_CONFIDENCE)
    words = []
    for sweep in result.sweeps:
        rows = table[table["sweep"] == sweep.label]
        best = rows.sort_values("mean", kind="stable").iloc[0]
        words.append(
            f"{escape(sweep.label)}: the smallest mean, {numbers.show(best['mean'])}, is at "
            f"{escape(sweep.parameter)} = {best['value']:g}."
        )
    return f"<h3>Sweep</h3>\n{picture}\n<p>{' '.join(words)}</p>"


def _picture(result: "Result", kind: str, words: str, report: "Sequence[Result]") -> str:
    drawn = result_figure(result, kind=kind, beside=report).rendered("png", _PICTURE_DPI)
    return image(drawn, f"{words}: {result.title}")


def distribution(result: "Result", styles: Styles, report: "Sequence[Result]") -> str:
    """Return histograms and tails of the final regret, and a table of quantiles."""
    if result.replications < 2:
        return ""
    caption = (
        "The worst 1 % is the share of all regret that comes from the worst hundredth of the "
        "replications: 1 % if all are alike. Where it is large, means need many replications."
    )
    columns = [
        Column("Policy", left=True),
        Column("Mean", "mean regret at the horizon"),
        Column("Median"),
        Column("90 %", "a tenth of the replications had more regret"),
        Column("99 %", "a hundredth of the replications had more regret"),
        Column("Largest"),
        Column("Worst 1 %", "share of all regret in the worst hundredth of the replications"),
    ]
    rows = [
        [
            markup.policy(row["policy"], styles[row["policy"]]),
            *(markup.number(row[name]) for name in ("mean", "median", "q90", "q99", "max")),
            Cell(numbers.percent(row["worst_share"]), row["worst_share"]),
        ]
        for row in _records(result.tails())
    ]
    pictures = [
        _picture(result, kind, f"{kind.capitalize()} of the final regret", report)
        for kind in ("histogram", "tail")
    ]
    return "\n".join(
        [
            "<h3>Distribution of the final regret</h3>",
            *pictures,
            markup.table(columns, rows, "Tail of the final regret", caption),
        ]
    )


def pooled(times: Sequence[int], shares: Sequence[float]) -> list[float]:
    """Return shares over longer stretches of time where times lie close, to reduce the noise."""
    starts, pulls, first, found = [0, *times], [0.0], 0, []
    for j, share in enumerate(shares):
        pulls.append(pulls[-1] + share * (starts[j + 1] - starts[j]))
        stretch = min(0.02 * starts[j + 1], 0.01 * times[-1])
        while first < j and starts[j + 1] - starts[first + 1] >= stretch:
            first += 1
        found.append((pulls[-1] - pulls[first]) / (starts[j + 1] - starts[first]))
    return found


def final_regret(result: "Result", styles: Styles) -> str:
    """Return the table of final regret, time and storage."""
    frame = statistics.summary(result, _CONFIDENCE)
    frame = frame.merge(result.policies[["policy", "state_bytes"]].astype({"policy": str}))
    frame = frame.merge(result.timing[["policy", "ns_per_step"]].astype({"policy": str}))
    rail = Rail.around(_values(frame, "mean", "low", "high", "q25", "q75"))
    rows = []
    for row in _records(frame):
        style = styles[row["policy"]]
        confidence, quartiles = (row["low"], row["high"]), (row["q25"], row["q75"])
        rows.append(
            [
                markup.policy(row["policy"], style),
                markup.number(row["mean"]),
                markup.interval(rail, row["mean"], confidence, style.colour, quartiles),
                markup.number(row["se"], 3),
                *map(markup.number, confidence),
                *map(markup.number, quartiles),
                markup.number(row["ns_per_step"], 3),
                markup.number(row["state_bytes"], 1),
            ]
        )
    columns = [
        Column("Policy", left=True),
        Column("Mean", "mean regret at the horizon, over the replications"),
        Column("", "dot: mean; line: its 95 % confidence interval; bar: quartiles", fixed=True),
        Column("SE", "standard error of the mean"),
        Column("95 % from", "confidence interval of the mean"),
        Column("to", "confidence interval of the mean"),
        Column("Q1", "a quarter of the replications had less regret"),
        Column("Q3", "a quarter of the replications had more regret"),
        Column("ns/step", "time of one core for a time step"),
        Column("Bytes", "size of the state of one bandit"),
    ]
    caption = (
        f"At time {numbers.count(result.horizon)}, over {numbers.count(result.replications)} "
        f"replication{'s' * (result.replications != 1)}. The dot is the mean, the line its 95 % "
        "confidence interval, the bar spans the quartiles of the regret, all on one scale."
    )
    classes = ["best" if mean == frame["mean"].min() else "" for mean in frame["mean"]]
    return "<h3>Final regret</h3>\n" + markup.table(
        columns, rows, "Final regret", caption, classes=classes
    )


def differences(result: "Result", styles: Styles) -> str:
    """Return the table of paired differences, and a note on those that are not significant."""
    if len(result.labels) < 2:
        return ""
    frame = statistics.differences(result, confidence=_CONFIDENCE)
    rail = Rail.around(_values(frame, "difference", "low", "high"))
    baseline = str(frame["baseline"].iloc[0])
    ranks = {row["policy"]: row for row in _records(wins(result, confidence=_CONFIDENCE))}
    rows = []
    for row in _records(frame):
        style, confidence = styles[row["policy"]], (row["low"], row["high"])
        clear = row["significant"]
        colour = style.colour if clear else "var(--soft)"
        verdict = ("significant", "seen") if clear else ("not significant", "unclear")
        rows.append(
            [
                markup.policy(row["policy"], style),
                markup.number(row["difference"]),
                markup.interval(rail, row["difference"], confidence, colour),
                *map(markup.number, confidence),
                Cell(markup.p_value(row["p"]), row["p"]),
                Cell(markup.badge(*verdict), float(clear)),
                _wins(ranks[row["policy"]]),
                Cell(numbers.percent(row["variance_reduction"]), row["variance_reduction"]),
            ]
        )
    columns = [
        Column("Policy", left=True),
        Column("Difference", f"mean regret less that of {baseline}"),
        Column("", "dot: difference; line: its 95 % confidence interval", fixed=True),
        Column("95 % from", "confidence interval of the difference, all rows at once"),
        Column("to", "confidence interval of the difference, all rows at once"),
        Column("p", "Student's, adjusted for all pairs of policies (Holm)"),
        Column("At 95 %", left=True),
        Column("Wins", f"probability of less regret than {baseline}, by ranks"),
        Column("Variance saved", "by comparing on the same draws"),
    ]
    caption = (
        f"Regret of each policy less that of <strong>{escape(baseline)}</strong>, which has the "
        "smallest mean: replication by replication, on the same draws. “Variance saved” is the "
        "share of the difference's variance that this pairing removes. Since these very results "
        "have chosen that policy, intervals and p-values are made to hold for all pairs of "
        "policies at once (Bonferroni, Holm). “Wins” is the probability that the policy has less "
        "regret in two independent replications; it has a star if it differs from one half "
        "significantly. A few very bad replications can hide a difference between means, but not "
        "this one."
    )
    unclear = frame[~frame["significant"].astype(bool)]
    return (
        "<h3>Paired differences</h3>\n"
        + markup.table(columns, rows, "Paired differences", caption)
        + _note(baseline, _records(unclear), result.replications)
    )


def _wins(row: dict[str, Any]) -> Cell:
    star = "*" if row["significant"] else ""
    return Cell(f"{numbers.percent(row['wins'])}{star}", row["wins"])


def _note(baseline: str, unclear: Sequence[dict[str, Any]], replications: int) -> str:
    """Return a note on the policies that these results do not tell apart."""
    if not unclear:
        return ""
    if replications == 1:
        said = "One replication tells no two policies apart; run more."
    else:
        listed = [f"{escape(row['policy'])} (p = {markup.p_value(row['p'])})" for row in unclear]
        most = max(row["needed"] for row in unclear)
        enough = "more replications might."
        if math.isfinite(most):
            enough = (
                f"about {numbers.show(most, 2)} replications would with probability 0.8, if the "
                "differences are as estimated."
            )
        said = (
            f"{', '.join(listed)}. These results do not tell {'it' if len(listed) == 1 else 'them'}"
            f" apart from {escape(baseline)}; {enough}"
        )
    return f'\n<p class="note"><strong>Not significant at 95 %:</strong> {said}</p>'


def delays(result: "Result", styles: Styles) -> str:
    """Return the table of how soon each policy found a best arm, in each phase."""
    found = {(row["policy"], row["phase"]): row for row in _records(result.delay_summary())}
    columns = [Column("Policy", left=True)]
    for phase, start in enumerate([0, *result.changes]):
        when = f"change at {numbers.count(start)}" if phase else "from the start"
        columns += [
            Column(when, "median of the delay"),
            Column("Q1 – Q3", "quartiles of the delay", fixed=True),
            Column("found", "share of the replications that found a best arm"),
        ]
    rows = []
    for label, style in styles.items():
        cells = [markup.policy(label, style)]
        for phase in range(len(result.changes) + 1):
            row = found[label, phase]
            cells += [
                markup.number(row["median"], 1),
                Cell(f"{numbers.show(row['q25'], 1)} – {numbers.show(row['q75'], 1)}", row["q25"]),
                Cell(numbers.percent(row["found"]), row["found"]),
            ]
        rows.append(cells)
    caption = (
        "Pulls until a best arm had 32 of the last 64: the median over the replications, the "
        "quartiles, and the share of those that got there before the next change."
    )
    return "<h3>Detection delays</h3>\n" + markup.table(columns, rows, "Detection delays", caption)


def pulls(result: "Result", styles: Styles) -> str:
    """Return the table of pulls per phase and arm, which opens by a click."""
    frame = result.pulls.astype({"policy": str})
    columns = [Column("Policy", left=True)]
    for row in _records(frame[frame["policy"] == result.labels[0]]):
        arm, start = f"arm {row['arm'] + 1}", numbers.count(row["start"])
        title = f"{start}+ · {arm}" if result.changes else arm
        columns.append(Column(title, f"mean pulls of {arm} in the phase from {start} on"))
    rows = []
    for label, style in styles.items():
        means = frame.loc[frame["policy"] == label, "mean"].tolist()
        rows.append([markup.policy(label, style), *map(markup.number, means)])
    caption = "Mean number of pulls of each arm" + (
        f"; “{start}+” is the phase that starts at {start}." if result.changes else "."
    )
    name = "Pulls per phase and arm"
    return markup.details(name, markup.table(columns, rows, name, caption))


def _records(frame: "pd.DataFrame") -> list[dict[str, Any]]:
    """Return the rows as dictionaries with plain numbers."""
    return [{str(key): value for key, value in row.items()} for row in frame.to_dict("records")]


def _values(frame: "pd.DataFrame", *columns: str) -> list[float]:
    return [float(value) for column in columns for value in frame[column].tolist()]
