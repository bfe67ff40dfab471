"""The sections of a report on the suite of random problems."""

from collections.abc import Mapping, Sequence
from html import escape
from typing import TYPE_CHECKING, Any

from lastblock.drawing import numbers
from lastblock.lab.report import markup
from lastblock.lab.report.markup import Cell, Column, Style
from lastblock.lab.suite.rivals import RIVALS, UNPLAYED

if TYPE_CHECKING:
    from lastblock.lab.suite.statistics import Suite

_KINDS = {
    "stationary": "no change",
    "few": "all arms, 1–3 times",
    "many": "all arms, 5–20 times",
    "single": "one arm at a time",
    "rise": "a challenger rises",
    "fall": "the leader falls",
    "irrelevant": "all but the leader",
    "variance": "variance only",
    "tails": "heavy tails",
    "slow": "slow drift",
    "fast": "fast drift",
    "walk": "straight lines",
}


def sections(suites: "Sequence[Suite]", styles: Mapping[str, Style]) -> list[tuple[str, str, str]]:
    """Return a section for each half, or part of one: a key, a short name, and HTML."""
    return [
        (f"suite-{suite.name.replace(',', '_')}", f"Suite, {suite.name}", _section(suite, styles))
        for suite in suites
    ]


def _section(suite: "Suite", styles: Mapping[str, Style]) -> str:
    about = suite.about
    lead = (
        f"{about['problems']} random problem{'s' * (about['problems'] != 1)} ({suite.title}), "
        f"{about['replications']} replications of each. Every comparison is paired: policies meet "
        "the same draws."
    )
    missing = "; ".join(f"{label} sits out drifts: {why}" for label, why in UNPLAYED.items())
    return "\n".join(
        (
            f"<h2>Adaptive suite, {escape(suite.title)}</h2>",
            f'<p class="lead">{escape(lead)}</p>',
            _regrets(suite, styles),
            _changes(suite, styles),
            _kinds(suite, styles),
            f'<p class="note">{escape(missing)}.</p>',
            markup.details("Every problem", _problems(suite)),
            markup.details("Worlds without a change", _calm(suite)),
        )
    )


def _ratio(row: Mapping[str, Any], name: str) -> list[Cell]:
    """Return two cells: a number, and its interval."""
    low, high = row[f"{name}_low"], row[f"{name}_high"]
    return [
        markup.number(row[name], 3),
        Cell("–" if low is None else f"{numbers.show(low, 3)} – {numbers.show(high, 3)}", low),
    ]


def _share(value: float | None) -> Cell:
    return Cell(numbers.percent(value), value)


def _regrets(suite: "Suite", styles: Mapping[str, Style]) -> str:
    columns = [
        Column("Policy", left=True),
        Column("To the tuned window", "geometric mean of the ratios of mean regrets"),
        Column("95 %", "paired confidence interval", fixed=True),
        Column("To the best window", "in hindsight"),
        Column("95 %", "paired confidence interval", fixed=True),
        Column("Worst", "the largest ratio to the tuned window"),
        Column("95 %", "paired confidence interval", fixed=True),
        Column("Won", "problems with less regret than the tuned window"),
        Column("surely", "at 95 %"),
        Column("surely lost", "at 95 %"),
        Column("First", "problems with the smallest regret of all but the oracle"),
        Column("Played", "problems"),
        Column("Worst on", "the problem of the worst ratio", left=True),
    ]
    rows = [
        [
            markup.policy(row["policy"], styles[row["policy"]]),
            *_ratio(row, "tuned"),
            *_ratio(row, "best"),
            *_ratio(row, "worst"),
            *(_share(row[name]) for name in ("won", "surely_won", "surely_lost", "first")),
            markup.number(row["played"], 1),
            markup.text(row["worst_problem"] or "–"),
        ]
        for row in suite.summary
    ]
    caption = (
        "Regret at the horizon as a ratio to that of SW-LB-SDA, with the window that T and the "
        "number of changes give, and with the best of its windows in hindsight (chosen on the same "
        "draws, in its favour). Intervals are for 95 %, by the delta method on logarithms."
    )
    return "<h3>Regret</h3>\n" + markup.table(columns, rows, "Regret ratios", caption)


def _changes(suite: "Suite", styles: Mapping[str, Style]) -> str:
    columns = [
        Column("Policy", left=True),
        Column("False restarts", "in 10⁴ steps of worlds that never change"),
        Column("95 %", "confidence interval of a Poisson count", fixed=True),
        Column("Delay", "median over changes of the best arm"),
        Column("To the tuned window", "geometric mean of the ratios of mean delays"),
        Column("95 %", "paired confidence interval", fixed=True),
        Column("Found", "share of changes after which the best arm was found before the next"),
        Column("Changes", "of the best arm"),
    ]
    rows = [
        [
            markup.policy(row["policy"], styles[row["policy"]]),
            *_ratio(row, "false_restarts"),
            markup.number(row["delay"], 1),
            *_ratio(row, "delay_ratio"),
            _share(row["found"]),
            markup.number(row["changes"], 1),
        ]
        for row in suite.summary
    ]
    caption = (
        "Restarts where nothing changes, for policies that count them, and the pulls after a "
        "change of the best arm until a best arm had 32 of the last 64; a policy that never got "
        "there counts as the whole phase."
    )
    return "<h3>Restarts and delays</h3>\n" + markup.table(
        columns, rows, "Restarts and delays", caption
    )


def _kinds(suite: "Suite", styles: Mapping[str, Style]) -> str:
    found = {(r["policy"], r["kind"]): r for r in suite.kinds.to_dict("records")}
    kinds = list(dict.fromkeys(suite.kinds["kind"]))
    columns = [Column("Policy", left=True)]
    columns += [Column(kind, _KINDS.get(kind, kind)) for kind in kinds]
    rows = []
    for label in RIVALS:
        cells = [markup.policy(label, styles[label])]
        for kind in kinds:
            row = found.get((label, kind))
            cells.append(markup.number(None if row is None else float(row["ratio"]), 3))
        rows.append(cells)
    caption = "Geometric mean of the regret ratios to the tuned window, for each kind of problem."
    return "<h3>By kind</h3>\n" + markup.table(columns, rows, "By kind", caption)


def _problems(suite: "Suite") -> str:
    columns = [Column("Problem", left=True), Column("Best window", "in hindsight")]
    columns += [Column(label, "regret ratio to the tuned window") for label in RIVALS]
    rows = []
    for _, frame in suite.ratios.groupby("problem", sort=False):
        ratio = dict(zip(frame["policy"], frame["tuned"], strict=True))
        rows.append(
            [
                markup.text(frame["title"].iloc[0]),
                markup.number(int(frame["best_window"].iloc[0]), 1),
                *(markup.number(ratio.get(label), 3) for label in RIVALS),
            ]
        )
    return markup.table(columns, rows, "Every problem", "Regret ratios to the tuned window.")


def _calm(suite: "Suite") -> str:
    columns = [
        Column("World", left=True),
        Column("Policy", left=True),
        Column("Steps"),
        Column("Restarts"),
        Column("in 10⁴ steps"),
        Column("95 %", "confidence interval of a Poisson count", fixed=True),
    ]
    rows = [
        [
            markup.text(row["world"]),
            markup.text(row["policy"]),
            markup.number(row["steps"], 1),
            markup.number(row["restarts"], 1),
            markup.number(row["rate"], 3),
            Cell(f"{numbers.show(row['low'], 3)} – {numbers.show(row['high'], 3)}", row["low"]),
        ]
        for row in suite.calm.to_dict("records")
    ]
    return markup.table(columns, rows, "Worlds without a change", "Every restart is a false one.")
