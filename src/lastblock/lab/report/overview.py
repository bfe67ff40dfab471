"""The top of a report: its title, a few large numbers, and the winners at a glance."""

from collections.abc import Sequence
from html import escape
from typing import TYPE_CHECKING

from lastblock.drawing import numbers
from lastblock.lab.report import markup
from lastblock.lab.report.markup import Cell, Column, Style

if TYPE_CHECKING:
    import pandas as pd

    from lastblock.lab.results import Result


def title(results: "Sequence[Result]") -> str:
    """Return the title of the page, as text."""
    if not results:
        return "Bandits by subsampling"
    if len(results) == 1:
        return results[0].title
    return f"Bandit policies in {len(results)} scenarios"


def tiles(results: "Sequence[Result]", seen: int, authors: "pd.DataFrame | None" = None) -> str:
    """Return the large numbers at the top; `seen` is how many claims are seen.

    `authors` compares with the authors' figures; see `lastblock.lab.paper.authors`.
    """
    if not results:
        return ""
    steps = sum(len(r.labels) * r.replications * r.horizon for r in results)
    seconds = sum(float(result.timing["seconds"].sum()) for result in results)
    claimed = sum(len(result.claims) for result in results)
    figures = [
        ("Claims seen", f"{seen} <small>of {claimed}</small>" if claimed else ""),
        ("Agree with the authors' code", _agreed(authors)),
        ("Scenarios", str(len(results)) if len(results) > 1 else ""),
        ("Curves", str(sum(len(result.labels) for result in results))),
        ("Replications", _span([result.replications for result in results])),
        ("Steps simulated", _large(steps)),
        ("Nanoseconds per step", numbers.show(seconds / steps * 1e9, 3)),
    ]
    shown = [f"<div><dt>{name}</dt><dd>{value}</dd></div>" for name, value in figures if value]
    return f'<dl class="tiles">{"".join(shown)}</dl>'


def _agreed(authors: "pd.DataFrame | None") -> str:
    if authors is None:
        return ""
    return f"{int((authors['agrees'] == 'yes').sum())} <small>of {len(authors)} figures</small>"


def _span(values: Sequence[int]) -> str:
    least, most = numbers.count(min(values)), numbers.count(max(values))
    return least if least == most else f"{least}–{most}"


def _large(value: int) -> str:
    for size, word in ((10**9, "billion"), (10**6, "million")):
        if value >= size:
            return f"{value / size:.3g} <small>{word}</small>"
    return numbers.count(value)


def glance(
    results: "Sequence[Result]",
    links: Sequence[str],
    seen: Sequence[int],
    looks: Sequence[dict[str, Style]],
) -> str:
    """Return the table of each scenario's best policy, and of how many of its claims are seen."""
    rows = []
    for result, link, found, styles in zip(results, links, seen, looks, strict=False):
        frame = result.summary().sort_values("mean", kind="stable")
        label, mean, se = (frame[name].iloc[0] for name in ("policy", "mean", "se"))
        claimed = len(result.claims)
        kind = "seen" if found == claimed else "not-seen"
        rows.append(
            [
                Cell(f'<a href="{link}">{escape(result.title)}</a>', numeric=False),
                markup.policy(label, styles[label]),
                Cell(f"{numbers.show(mean)} <small>± {numbers.show(se, 3)}</small>", mean),
                Cell(markup.badge(f"{found} of {claimed} seen", kind), found / claimed)
                if claimed
                else Cell("–"),
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
