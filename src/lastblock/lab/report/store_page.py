"""One HTML page about a bandit of a store: traffic, means, and what changed over time."""

import math
from collections.abc import Sequence
from datetime import UTC, datetime
from html import escape
from pathlib import Path
from typing import Any

import numpy as np

from lastblock.drawing import numbers
from lastblock.lab.report import markup, time_plots
from lastblock.lab.report.frame import asset, page
from lastblock.lab.report.markup import Cell, Column, Rail
from lastblock.lab.report.time_plots import Mark, ShownArms
from lastblock.live.bandit import Bandit
from lastblock.live.summary import Summary
from lastblock.store.export_formats import iso
from lastblock.store.history import History
from lastblock.store.reading import About
from lastblock.support import files

_MOST_SHOWN = 8
_KINDS = {
    "add_arm": "arm added",
    "retire_arm": "arm retired",
    "reseed": "other random numbers",
    "set_floors": "traffic floors changed",
}


def write_store_page(
    path: str | Path,
    about: About,
    bandit: "Bandit[Any]",
    history: History,
    *,
    confidence: float = 0.95,
) -> Path:
    """Write the page of a bandit, completely or not at all.

    Parameters
    ----------
    path
        The HTML file to write.
    about
        What the store knows of the bandit.
    bandit
        The bandit as it is now.
    history
        The course of its log.
    confidence
        The confidence of all intervals.

    Returns
    -------
    Path
        The path of the file.
    """
    summary = bandit.summary(confidence=confidence)
    sections = [
        _arms(summary, _shown_arms(history)),
        _course(history, _marks(bandit, history), confidence),
        _changes(bandit, history),
    ]
    html = page(
        "store.html",
        about.name,
        style=asset("store.css"),
        tiles=_tiles(about, summary),
        sections="\n".join(f"<section>\n{section}\n</section>" for section in sections),
        written=escape(_time(int(datetime.now(UTC).timestamp() * 1e6))),
    )
    target = Path(path)
    files.write(target, html.encode())
    return target


def _tiles(about: About, summary: "Summary[Any]") -> str:
    sure = "" if summary.sure is None else f"{min(99.9, math.floor(1000 * summary.sure) / 10):g} %"
    best = "–" if summary.best is None else str(summary.best)
    facts = [
        ("policy", escape(about.policy)),
        ("decisions", numbers.count(about.decisions)),
        ("waiting for a reward", numbers.count(sum(row.out for row in summary.arms))),
        ("largest mean", f"{escape(best)} <small>{sure and f'{sure} sure it is best'}</small>"),
        ("last event", escape("–" if about.last is None else _time(about.last))),
        ("open in", escape(about.owner or "no process")),
    ]
    items = "".join(f"<div><dt>{title}</dt><dd>{html}</dd></div>" for title, html in facts)
    return f'<dl class="tiles">{items}</dl>'


def _arms(summary: "Summary[Any]", shown: Sequence[tuple[list[int], ShownArms]]) -> str:
    """Return the table of arms, with an interval for each mean."""
    colours = {place: arms.colour for places, arms in shown for place in places}
    ends = [x for row in summary.arms for x in (row.low, row.high, row.mean or 0.0)]
    rail = Rail.around(ends)
    total = max(1, sum(row.pulls for row in summary.arms))
    rows = [
        [
            markup.text(row.arm),
            markup.text(row.state),
            Cell(numbers.count(row.pulls), row.pulls),
            Cell(numbers.percent(row.pulls / total), row.pulls / total),
            Cell(numbers.count(row.out), row.out),
            markup.number(row.mean),
            markup.text(_between(row.low, row.high)),
            markup.interval(
                rail,
                math.nan if row.mean is None else row.mean,
                (row.low, row.high),
                colours.get(place, "var(--accent)"),
            ),
        ]
        for place, row in enumerate(summary.arms)
    ]
    level = f"{100 * summary.confidence:g} %"
    columns = [
        Column("arm", left=True),
        Column("state", left=True),
        Column("rewards"),
        Column("share"),
        Column("waiting"),
        Column("mean"),
        Column(f"{level}, at any time"),
        Column("", fixed=True),
    ]
    caption = "Means of all rewards, with intervals that hold at any time"
    if summary.rewards:
        caption += f", for {escape(summary.rewards)}, if no arm's mean changes"
    words = "\n".join(f"<p>{escape(line)}</p>" for line in _statement(summary))
    return f"<h2>Arms</h2>\n{words}\n{markup.table(columns, rows, 'Arms', caption + '.')}"


def _statement(summary: "Summary[Any]") -> list[str]:
    """Return the lines of the summary before its table."""
    return [line for line in str(summary).splitlines()[:3] if not line.startswith("arm ")][1:]


def _between(low: float, high: float) -> str:
    if not (math.isfinite(low) and math.isfinite(high)):
        return "–"
    return f"{low:.4g} … {high:.4g}"


def _shown_arms(history: History) -> list[tuple[list[int], ShownArms]]:
    """Return the arms that are shown: those with most decisions, and the others together."""
    total = np.sum([np.zeros(len(history.labels), np.int64), *history.asked], axis=0)
    order = sorted(range(len(history.labels)), key=lambda place: (-int(total[place]), place))
    alone = order if len(order) <= _MOST_SHOWN else order[: _MOST_SHOWN - 1]
    groups = [[place] for place in sorted(alone)]
    names = [str(history.labels[place]) for (place,) in groups]
    if len(alone) < len(order):
        rest = sorted(set(order) - set(alone))
        groups.append(rest)
        names.append(f"{len(rest)} other arms")
    return list(zip(groups, time_plots.shown_arms(names), strict=True))


def _course(history: History, marks: Sequence[Mark], confidence: float) -> str:
    """Return the drawings over time, and the same as a table."""
    head = "<h2>Over time</h2>"
    if not history.decisions:
        return (
            f"{head}\n<p>The store has no decisions in its log. "
            "Open it with keep_events=True to keep them.</p>"
        )
    shown = _shown_arms(history)
    arms = [each for _, each in shown]
    groups = [places for places, _ in shown]
    asked = np.array([[row[places].sum() for places in groups] for row in history.asked])
    told = np.array([[row[:, places].sum(axis=1) for places in groups] for row in history.told])
    told = told.transpose(0, 2, 1)
    starts = history.starts()
    span = f"{_time(history.times[0])} to {_time(history.end or history.times[-1])}"
    lead = f"{numbers.count(history.decisions)} decisions, {escape(span)}."
    if history.first:
        lead += f" The log begins with decision {numbers.count(history.first)}."
    level = f"{100 * confidence:g}"
    drawn = time_plots.means(arms, starts, told, marks, "Mean reward of each arm", confidence)
    return "\n".join(
        [
            head,
            f'<p class="lead">{lead}</p>',
            "<h3>Traffic</h3>",
            time_plots.traffic(arms, starts, asked, marks, "Share of decisions of each arm"),
            time_plots.legend(arms),
            f"<h3>Mean of all rewards so far, with {level} % intervals for a single look</h3>",
            drawn or "<p>No reward has come yet.</p>",
            markup.details("The same as a table", _as_table(arms, history, asked, told)),
        ]
    )


def _as_table(arms: Sequence[ShownArms], history: History, asked: Any, told: Any) -> str:
    columns = [Column("from decision"), Column("time (UTC)", left=True)]
    for each in arms:
        columns += [Column(f"{each.name}: decisions"), Column(f"{each.name}: mean reward")]
    rows = []
    starts = history.starts()
    for row in range(len(history.asked)):
        cells = [
            Cell(numbers.count(starts[row]), starts[row]),
            markup.text(_time(history.times[row])),
        ]
        for place in range(len(arms)):
            count, total, _ = told[row, :, place]
            cells.append(Cell(numbers.count(int(asked[row, place])), float(asked[row, place])))
            cells.append(markup.number(total / count if count else math.nan))
        rows.append(cells)
    caption = f"Stretches of {numbers.count(history.size)} decisions each"
    return markup.table(columns, rows, "Traffic and rewards over time", caption)


def _marks(bandit: "Bandit[Any]", history: History) -> list[Mark]:
    """Return what changed, for the drawings."""
    marks = [
        Mark(happening.decision, _words(happening.kind, happening.arm))
        for happening in history.happenings
    ]
    return [*marks, *(Mark(change.noticed, str(change)) for change in bandit.changes)]


def _words(kind: str, arm: object) -> str:
    words = _KINDS.get(kind, kind.replace("_", " "))
    return words if arm is None else f"{words}: {arm}"


def _changes(bandit: "Bandit[Any]", history: History) -> str:
    """Return the list of what changed."""
    found: list[tuple[int, str, str]] = [
        (happening.decision, _time(happening.time), _words(happening.kind, happening.arm))
        for happening in history.happenings
    ]
    found += [(change.noticed, "", str(change)) for change in bandit.changes]
    if not found:
        return (
            "<h2>Changes</h2>\n<p>No arm came or went, and the policy has noticed no change of the "
            "world.</p>"
        )
    found.sort(key=lambda each: each[0])
    rows = [
        [Cell(numbers.count(decision), decision), markup.text(time or "–"), markup.text(words)]
        for decision, time, words in found
    ]
    columns = [Column("decision"), Column("time (UTC)", left=True), Column("what", left=True)]
    caption = "Arms that came and went, and changes of the world that the policy noticed"
    return f"<h2>Changes</h2>\n{markup.table(columns, rows, 'Changes', caption)}"


def _time(microseconds: int) -> str:
    """Return a time to the second, in UTC."""
    return iso(microseconds)[:19].replace("T", " ")
