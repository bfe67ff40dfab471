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


def tiles(
    results: "Sequence[Result]", claims: "pd.DataFrame | None", authors: "pd.DataFrame | None"
) -> str:
    """Return the large numbers at the top.

    `claims` and `authors` are the paper's, from `lastblock.lab.paper`.
    """
    if not results:
        return ""
    steps = sum(len(r.labels) * r.replications * r.horizon for r in results)
    seconds = sum(float(result.timing["seconds"].sum()) for result in results)
    figures = [
        ("Claims seen", "" if claims is None else _share(claims["seen"], "")),
        (
            "Agree with the authors' code",
            "" if authors is None else _share(authors["agrees"] == "yes", " figures"),
        ),
        ("Scenarios", str(len(results)) if len(results) > 1 else ""),
        ("Curves", str(sum(len(result.labels) for result in results))),
        ("Replications", span([result.replications for result in results])),
        ("Steps simulated", _large(steps)),
        ("Nanoseconds per step", numbers.show(seconds / steps * 1e9, 3)),
    ]
    shown = [f"<div><dt>{name}</dt><dd>{value}</dd></div>" for name, value in figures if value]
    return f'<dl class="tiles">{"".join(shown)}</dl>'


def _share(holds: "pd.Series[bool]", what: str) -> str:
    return f"{int(holds.sum())} <small>of {len(holds)}{what}</small>"


def span(values: Sequence[int]) -> str:
    """Return the smallest and the largest of some numbers as text."""
    least, most = numbers.count(min(values)), numbers.count(max(values))
    return least if least == most else f"{least}–{most}"


def _large(value: int) -> str:
    for size, word in ((10**9, "billion"), (10**6, "million")):
        if value >= size:
            return f"{value / size:.3g} <small>{word}</small>"
    return numbers.count(value)


def glance(
    results: "Sequence[Result]", links: Sequence[str], looks: Sequence[dict[str, Style]]
) -> str:
    """Return the table of each scenario's best policy."""
    rows = []
    for result, link, styles in zip(results, links, looks, strict=True):
        frame = result.summary().sort_values("mean", kind="stable")
        label, mean, se = (frame[name].iloc[0] for name in ("policy", "mean", "se"))
        rows.append(
            [
                Cell(f'<a href="{link}">{escape(result.title)}</a>', numeric=False),
                markup.policy(label, styles[label]),
                Cell(f"{numbers.show(mean)} <small>± {numbers.show(se, 3)}</small>", mean),
            ]
        )
    columns = [
        Column("Scenario", left=True),
        Column("Smallest regret", left=True),
        Column("Mean ± SE", "of the final regret"),
    ]
    caption = "The policy with the smallest mean regret at the horizon."
    return "<h2>At a glance</h2>" + markup.table(columns, rows, "At a glance", caption)
