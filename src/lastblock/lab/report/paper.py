"""The sections of a report on the paper: claims, the authors' figures, table 1, two pictures."""

import math
from base64 import b64encode
from html import escape
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias, Union

from lastblock.drawing import numbers
from lastblock.lab.paper.authors import HORIZON, LIMIT, verdict
from lastblock.lab.report import markup
from lastblock.lab.report.markup import Cell, Column
from lastblock.lab.report.overview import span

if TYPE_CHECKING:
    import pandas as pd

    from lastblock.drawing.canvas import Picture

Image: TypeAlias = Union[str, Path, bytes, "Picture"]
"""The path of a PNG or SVG file, its contents, or a figure that is yet to be drawn."""

_BADGES = {"yes": "seen", "no": "not-seen", "unknown": "unclear"}
_RULES = {"paper": "both", "authors' code": "their code's"}


def sections(
    claims: "pd.DataFrame | None",
    authors: "pd.DataFrame | None",
    table1: "pd.DataFrame | None",
    takeover: Image | None,
    means: Image | None,
) -> list[tuple[str, str, str]]:
    """Return a section for each exhibit that is not None: a key, a short name, and HTML."""
    found = []
    if claims is not None:
        lead = "What the paper says of its figures: seen where every comparison is significant."
        found.append(("claims", "Claims", _section("The paper's claims", lead, _claims(claims))))
    if authors is not None:
        lead = (
            "The mean final regret that the authors' published code has, and ours. Their code "
            "differs from the paper's text in places; here ours makes the same choices "
            "(reference=True), so these numbers need not be those of the sections above. "
            f"{verdict(authors)}."
        )
        inside = _authors(authors)
        found.append(("authors", "Authors' figures", _section("The authors' code", lead, inside)))
    if means is not None:
        picture = image(means, "The mean of each arm over time")
        lead = "The mean of each arm over time."
        found.append(("means", "Means", _section("The arms' means", lead, picture)))
    if takeover is not None:
        picture = image(takeover, "The pulls of three arms in a window, with either rule")
        lead = (
            "When the leader's pulls leave the window, a naive rule hands the lead to an arm that "
            "won nothing. The paper's rule does not."
        )
        found.append(
            ("takeover", "Figure 1", _section("Figure 1: a passive takeover", lead, picture))
        )
    if table1 is not None:
        lead = "Storage and cost of the subsampling policies, measured instead of estimated."
        found.append(("table-1", "Table 1", _section("Table 1, measured", lead, _table(table1))))
    return found


def _section(title: str, lead: str, inside: str) -> str:
    return f'<h2>{escape(title)}</h2>\n<p class="lead">{escape(lead)}</p>\n{inside}'


def image(picture: Image, description: str) -> str:
    """Return a picture as part of the page; as an image, not even an SVG can run scripts."""
    if isinstance(picture, bytes):
        data = picture
    elif isinstance(picture, str | Path):
        data = Path(picture).read_bytes()
    else:
        data = picture.rendered("svg")
    kind = "image/png" if data.startswith(b"\x89PNG") else "image/svg+xml"
    if kind != "image/png" and b"<svg" not in data[:4096]:
        given = "the picture" if isinstance(picture, bytes) else str(picture)
        raise ValueError(f"{given} is neither a PNG nor an SVG; give one of these")
    source = f"data:{kind};base64,{b64encode(data).decode()}"
    alt = escape(description)
    return f'<div class="picture" tabindex="0"><img src="{source}" alt="{alt}"></div>'


def _claims(frame: "pd.DataFrame") -> str:
    """Return the claims with their verdicts and figures as HTML."""
    items = []
    for row in frame.to_dict("records"):
        mark = markup.badge(*(("✓ seen", "seen") if row["seen"] else ("✗ not seen", "not-seen")))
        text = f"{row['scenario']}: {row['claim']}"
        figures = escape(str(row["figures"]))
        items.append(f'<li>{mark}<p>{escape(text)}</p><p class="figures">{figures}</p></li>')
    return f'<ul class="claims">\n{chr(10).join(items)}\n</ul>'


def _authors(frame: "pd.DataFrame") -> str:
    """Return the comparison with the authors' figures as HTML."""
    columns = [
        Column("Scenario", left=True),
        Column("Policy", left=True),
        Column("The authors' code", "mean final regret"),
        Column("± SE", "none where the regret was read off their figure"),
        Column("Ours", "mean final regret"),
        Column("± SE"),
        Column("Apart", "in standard errors of the difference"),
        Column("Agrees", left=True),
        Column("Rules", "whose choices ours makes", left=True),
    ]
    rows = []
    for row in frame.to_dict("records"):
        agrees = str(row["agrees"])
        rows.append(
            [
                markup.text(row["scenario"]),
                markup.text(row["policy"]),
                markup.number(row["theirs"], 3 if math.isnan(row["theirs_se"]) else 4),
                markup.number(row["theirs_se"], 3),
                markup.number(row["ours"]),
                markup.number(row["ours_se"], 3),
                markup.number(row["apart"], 2),
                Cell(markup.badge(agrees, _BADGES[agrees]), numeric=False),
                markup.text(_RULES[str(row["rules"])]),
            ]
        )
    theirs, ours = (span(frame[name].tolist()) for name in ("theirs_replications", "replications"))
    caption = (
        f"Mean dynamic regret at T = {numbers.count(HORIZON)}, of {theirs} replications of theirs "
        f"and {ours} of ours. Agreement: less than {LIMIT:g} standard errors apart. Rules: "
        "“both” where the policy has no parameter in which their code and the paper's text differ."
    )
    return markup.table(columns, rows, "The authors' code", caption)


def _table(frame: "pd.DataFrame") -> str:
    """Return table 1 as HTML."""
    columns = [
        Column(str(name), left=k == 0 or frame[name].dtype.kind not in "iufb")
        for k, name in enumerate(frame.columns)
    ]
    rows = [[_cell(value) for value in row] for row in frame.itertuples(index=False)]
    caption = (
        "Rewards stored after the last of T rounds, and nanoseconds per round, with two Gaussian "
        "arms. “paper”: its estimates; T^b and (log T)^b: the fitted powers of growth."
    )
    return markup.table(columns, rows, "Table 1", caption)


def _cell(value: Any) -> Cell:
    if isinstance(value, str) or value is None:
        return markup.text(value or "")
    return markup.number(float(value), 4 if isinstance(value, float) else 1)
