"""Write the report: one HTML file that needs no other file, and fits phones as well as slides.

The page is made from templates in `assets/`. The browser draws its figures from numbers in the
page; where scripts do not run, it shows a picture instead.
"""

import hashlib
from base64 import b64encode
from collections.abc import Sequence
from html import escape
from importlib.resources import files as resources
from pathlib import Path
from string import Template
from typing import TYPE_CHECKING, NamedTuple

from lastblock.drawing.mark_symbols import mark_symbols
from lastblock.lab.report import markup, overview, paper, results, setup
from lastblock.lab.report.paper import Image
from lastblock.support import files
from lastblock.support.errors import ResultError

if TYPE_CHECKING:
    import pandas as pd

    from lastblock.lab.results import Result


def write_report(
    path: str | Path,
    results: "Result | Sequence[Result]",
    *,
    claims: "pd.DataFrame | None" = None,
    authors: "pd.DataFrame | None" = None,
    table1: "pd.DataFrame | None" = None,
    takeover: Image | None = None,
    means: Image | None = None,
    commands: Sequence[str] = (),
) -> Path:
    """Write a report, completely or not at all.

    Parameters
    ----------
    path
        The HTML file to write.
    results
        One result or several, in the order of the page; may be empty if there is anything else.
    claims
        What the paper says of its figures, from `lastblock.lab.paper.claims.compare`.
    authors
        Final regrets beside those of the authors' code, from `lastblock.lab.paper.authors.compare`.
    table1
        Storage and cost of the subsampling policies, as measured.
    takeover, means
        Pictures of a passive takeover and of the arms' means: a PNG or SVG file, its bytes, or a
        figure of `lastblock.lab.figures`.
    commands
        The commands that make the same page again.

    Returns
    -------
    Path
        The path of the file.

    Raises
    ------
    ResultError
        If there is nothing to report.
    """
    results = list(results) if isinstance(results, Sequence) else [results]
    others = paper.sections(claims, authors, table1, takeover, means)
    if not results and not others:
        raise ResultError("nothing to report; give at least one result")
    path = Path(path)
    tiles = overview.tiles(results, claims, authors)
    page = _page(results, others, commands, tiles)
    path.parent.mkdir(parents=True, exist_ok=True)
    files.write(path, page.encode())
    return path


class _Section(NamedTuple):
    key: str
    name: str
    html: str


def _page(
    results: "Sequence[Result]",
    others: Sequence[tuple[str, str, str]],
    commands: Sequence[str],
    tiles: str,
) -> str:
    looks = markup.styles_together([result.policy_names for result in results])
    sections: list[_Section] = []
    for i, result in enumerate(results):
        html = _scenario(result, looks[i], results)
        sections.append(_Section(f"scenario-{i + 1}", result.name, html))
    if len(results) > 1:
        links = [f"#{section.key}" for section in sections]
        glance = overview.glance(results, links, looks)
        sections.insert(0, _Section("glance", "At a glance", glance))
    sections += [_Section(*other) for other in others]
    if results or commands:
        again = setup.again(results, commands)
        sections.append(_Section("again", "Run it again", again))

    import lastblock  # for its version only  # noqa: PLC0415

    script = _asset("report.js")
    digest = b64encode(hashlib.sha256(script.encode()).digest()).decode()
    shared = {
        "version": escape(lastblock.__version__),
        "title": escape(overview.title(results)),
    }
    head = Template(_asset("head.html")).substitute(
        **shared, scripts=f"; script-src 'sha256-{digest}'", style=_asset("report.css")
    )
    return Template(_asset("report.html")).substitute(
        **shared,
        head=head,
        script=script,
        marks=mark_symbols(),
        tiles=tiles,
        links="\n".join(f'<li><a href="#{s.key}">{escape(s.name)}</a></li>' for s in sections),
        sections="\n".join(f'<section id="{s.key}">\n{s.html}\n</section>' for s in sections),
    )


def _asset(name: str) -> str:
    """Return the text of a file in `assets/`."""
    return resources("lastblock.lab.report").joinpath("assets", name).read_text(encoding="utf-8")


def _scenario(
    result: "Result", styles: "dict[str, markup.Style]", report: "Sequence[Result]"
) -> str:
    """Return the section of one scenario of the report."""
    parts = [
        setup.head(result),
        results.figure(result, styles, report),
        results.sweeps(result, report),
        results.final_regret(result, styles),
        results.distribution(result, styles, report),
        results.differences(result, styles),
        results.delays(result, styles),
        results.pulls(result, styles),
        setup.setup(result, styles),
    ]
    return "\n".join(part for part in parts if part)
