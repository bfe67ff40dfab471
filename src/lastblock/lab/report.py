"""The report: one HTML file that needs nothing else, for a phone as for a slide.

The page is filled in from plain files in `assets/`. Its figures are drawn in the browser from the
numbers in it; where no script runs there is a picture instead.
"""

import hashlib
from base64 import b64encode
from collections.abc import Sequence
from html import escape
from importlib.resources import files as resources
from pathlib import Path
from string import Template
from typing import TYPE_CHECKING, Any, TypeAlias

from lastblock import files
from lastblock.errors import ResultError
from lastblock.lab import markup, report_results, report_setup
from lastblock.lab.figures import COLOURS, MARKERS
from lastblock.lab.markup import Cell, Column, Style

if TYPE_CHECKING:
    import pandas as pd

    from lastblock.lab.results import Result

Picture: TypeAlias = str | Path | bytes
"""The path of a PNG or SVG file, or what is in it."""

_SHAPES = {
    "o": "circle",
    "s": "square",
    "^": "up",
    "v": "down",
    "D": "diamond",
    "P": "plus",
    "X": "cross",
    "*": "star",
}
_DASHES = ("", "9 4", "3 3", "12 4 3 4")


def write_report(
    path: str | Path,
    results: "Result | Sequence[Result]",
    *,
    table1: "pd.DataFrame | None" = None,
    takeover: Picture | None = None,
    means: Picture | None = None,
    commands: Sequence[str] = (),
) -> Path:
    """Write the report, whole or not at all.

    Parameters
    ----------
    path
        The HTML file to write.
    results
        One result or several, in the order of the page.
    table1
        Storage and cost of the subsampling policies, as measured.
    takeover, means
        Pictures of a passive takeover and of the arms' means: PNG or SVG, a file or its bytes.
    commands
        What to type to get the same page again.
    """
    results = list(results) if isinstance(results, Sequence) else [results]
    if not results:
        raise ResultError("nothing to report; give at least one result")
    path = Path(path)
    page = _page(results, table1, takeover, means, commands)
    path.parent.mkdir(parents=True, exist_ok=True)
    files.write(path, page.encode())
    return path


def styles_of(labels: Sequence[str]) -> dict[str, Style]:
    """The colour and marker of each policy's curve; dashes tell more of them apart."""
    return {
        label: Style(
            "var(--ink)" if COLOURS[i % len(COLOURS)] == "#000000" else COLOURS[i % len(COLOURS)],
            _SHAPES.get(MARKERS[i % len(MARKERS)], "circle"),
            _DASHES[i // len(COLOURS) % len(_DASHES)],
        )
        for i, label in enumerate(labels)
    }


def _page(
    results: "Sequence[Result]",
    table1: "pd.DataFrame | None",
    takeover: Picture | None,
    means: Picture | None,
    commands: Sequence[str],
) -> str:
    sections: list[tuple[str, str, str]] = []  # id, name, HTML
    seen: list[int] = []
    for i, result in enumerate(results):
        inside, found = _scenario(result)
        seen.append(found)
        sections.append((f"scenario-{i + 1}", result.name, inside))
    if len(results) > 1:
        links = [f"#{key}" for key, _, _ in sections]
        sections.insert(0, ("glance", "At a glance", _glance(results, links, seen)))
    if table1 is not None:
        sections.append(("table-1", "Table 1", _table1(table1)))
    if takeover is not None:
        sections.append(("takeover", "Figure 1", _takeover(takeover)))
    if means is not None:
        sections.append(("means", "Means", _means(means)))
    again = "<h2>Run it again</h2>" + report_setup.again(results, commands)
    sections.append(("again", "Run it again", again))

    script = _asset("report.js")
    digest = b64encode(hashlib.sha256(script.encode()).digest()).decode()
    title = (
        results[0].title if len(results) == 1 else f"Bandit policies in {len(results)} scenarios"
    )
    return Template(_asset("report.html")).substitute(
        version=escape(str(results[0].about["versions"]["lastblock"])),
        script_hash=f"sha256-{digest}",
        title=escape(title),
        style=_asset("report.css"),
        script=script,
        tiles=_tiles(results, sum(seen)),
        links="\n".join(f'<li><a href="#{key}">{escape(n)}</a></li>' for key, n, _ in sections),
        sections="\n".join(
            f'<section id="{key}">\n{text}\n</section>' for key, _, text in sections
        ),
    )


def _asset(name: str) -> str:
    return resources("lastblock.lab").joinpath("assets", name).read_text(encoding="utf-8")


def _tiles(results: "Sequence[Result]", seen: int) -> str:
    """The page in a few numbers."""
    curves = sum(len(result.labels) for result in results)
    steps = sum(len(r.labels) * r.replications * r.horizon for r in results)
    seconds = sum(float(result.timing["seconds"].sum()) for result in results)
    claimed = sum(len(result.claims) for result in results)
    tiles = []
    if claimed:
        tiles.append(("Claims seen", f"{seen} <small>of {claimed}</small>"))
    tiles += [
        ("Scenarios" if len(results) > 1 else "Scenario", str(len(results))),
        ("Curves", str(curves)),
        ("Replications", _span([result.replications for result in results])),
        ("Steps simulated", _large(steps)),
        ("Nanoseconds a step", markup.show(seconds / steps * 1e9, 3)),
    ]
    return (
        '<dl class="tiles">'
        + "".join(f"<div><dt>{name}</dt><dd>{value}</dd></div>" for name, value in tiles)
        + "</dl>"
    )


def _span(values: Sequence[int]) -> str:
    least, most = markup.count(min(values)), markup.count(max(values))
    return least if least == most else f"{least}–{most}"


def _large(value: int) -> str:
    for size, word in ((10**9, "billion"), (10**6, "million")):
        if value >= size:
            return f"{value / size:.3g} <small>{word}</small>"
    return markup.count(value)


def _glance(results: "Sequence[Result]", links: Sequence[str], seen: Sequence[int]) -> str:
    """The winner of each scenario, and its claims."""
    rows = []
    for result, link, found in zip(results, links, seen, strict=True):
        frame = result.summary().sort_values("mean", kind="stable")
        label, mean, se = (frame[name].iloc[0] for name in ("policy", "mean", "se"))
        claimed = len(result.claims)
        marks = ("seen" if found == claimed else "not-seen") if claimed else "unclear"
        rows.append(
            [
                Cell(f'<a href="{link}">{escape(result.title)}</a>', numeric=False),
                markup.policy(label, styles_of(result.labels)[label]),
                Cell(f"{markup.show(mean)} <small>± {markup.show(se, 3)}</small>", mean),
                Cell(
                    markup.badge(f"{found} of {claimed} seen" if claimed else "none made", marks),
                    found / claimed if claimed else None,
                ),
            ]
        )
    columns = [
        Column("Scenario", left=True),
        Column("Smallest regret", left=True),
        Column("Mean ± SE", "of the final regret"),
        Column("Claims", left=True),
    ]
    caption = "The policy with the smallest mean regret at the horizon, and the claims checked."
    return "<h2>At a glance</h2>" + markup.table(columns, rows, "At a glance", caption)


def _scenario(result: "Result") -> tuple[str, int]:
    """The section of one scenario, and how many of its claims are seen."""
    styles = styles_of(result.labels)
    claims, seen = report_results.claims(result)
    arms = int(result.pulls["arm"].max()) + 1
    lead = " · ".join(
        [
            f"<code>{escape(result.name)}</code>",
            _plural(arms, "arm"),
            _plural(len(result.changes), "change") if result.changes else "no change points",
            _plural(result.horizon, "step"),
            _plural(result.replications, "replication"),
            f"seed {result.seed}",
        ]
    )
    picture = (
        "<p>This figure is drawn by a script, and scripts are off. The tables hold all of it.</p>"
    )
    parts = [
        f'<h2>{escape(result.title)}</h2>\n<p class="lead">{lead}</p>',
        report_results.figure(result, styles, picture),
        claims,
        report_results.final_regret(result, styles),
        report_results.differences(result, styles),
        report_results.delays(result, styles),
        report_results.pulls(result, styles),
        report_setup.setup(result, styles),
    ]
    return "\n".join(part for part in parts if part), seen


def _plural(value: int, noun: str) -> str:
    return f"{markup.count(value)} {noun}{'s' * (value != 1)}"


def _table1(frame: "pd.DataFrame") -> str:
    columns = [
        Column(str(name), left=k == 0 or frame[name].dtype.kind not in "iufb")
        for k, name in enumerate(frame.columns)
    ]
    rows = [[_any(value) for value in row] for row in frame.itertuples(index=False)]
    caption = "Storage and cost of the subsampling policies, measured; the paper's table 1."
    return "<h2>Table 1, measured</h2>" + markup.table(columns, rows, "Table 1", caption)


def _any(value: Any) -> Cell:
    if isinstance(value, str) or value is None:
        return markup.text("" if value is None else value)
    return markup.number(float(value))


def _takeover(picture: Picture) -> str:
    return (
        "<h2>Figure 1: a passive takeover</h2>"
        '<p class="lead">With a window, an arm can become the leader without being pulled, when '
        "the leader's pulls leave the window. The paper's rule for the leader prevents it.</p>"
        + _picture(picture, "The pulls of three arms in a window of four rounds")
    )


def _means(picture: Picture) -> str:
    return (
        "<h2>The arms' means</h2>"
        '<p class="lead">The mean of each arm over time.</p>'
        + _picture(picture, "The mean of each arm over time")
    )


def _picture(picture: Picture, description: str) -> str:
    """The picture inside the page. As an image even an SVG runs no script."""
    data = picture if isinstance(picture, bytes) else Path(picture).read_bytes()
    kind = "image/png" if data.startswith(b"\x89PNG") else "image/svg+xml"
    if kind != "image/png" and b"<svg" not in data[:4096]:
        raise ValueError(f"{str(picture)[:60]!r} is neither a PNG nor an SVG; give one of these")
    source = f"data:{kind};base64,{b64encode(data).decode()}"
    return f'<div class="picture"><img src="{source}" alt="{escape(description)}"></div>'
