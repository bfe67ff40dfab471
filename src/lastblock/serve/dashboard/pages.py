"""Make pages from templates: everything that comes from outside is escaped by default."""

import functools
import hashlib
import math
import time
from collections.abc import Mapping
from datetime import UTC, datetime
from importlib import resources
from typing import Any, Final
from urllib.parse import quote

import jinja2
from markupsafe import Markup

import lastblock
from lastblock.drawing import numbers
from lastblock.drawing.mark_symbols import mark_symbols
from lastblock.serve.dashboard.charts import mark
from lastblock.serve.http import Response
from lastblock.serve.problems import ProblemError
from lastblock.support.rounding import decimals_of

HTML: Final = b"text/html; charset=utf-8"

SAFE: Final[Mapping[str, str]] = {
    # Only our own files: a label that got into a page as markup could still not run.
    "Content-Security-Policy": "default-src 'none'; script-src 'self'; style-src 'self'; "
    "img-src 'self'; connect-src 'self'; form-action 'self'; base-uri 'none'; "
    "frame-ancestors 'none'",
    "Referrer-Policy": "same-origin",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cache-Control": "no-store",
}
"""Headers of every page."""

_KINDS = {
    "css": b"text/css; charset=utf-8",
    "js": b"text/javascript; charset=utf-8",
    "txt": b"text/plain; charset=utf-8",
    "svg": b"image/svg+xml",
}


class Pages:
    """Templates, and what they all need.

    Parameters
    ----------
    root
        The path under which a proxy shows the service.
    """

    def __init__(self, root: str) -> None:
        self.root = root.rstrip("/")
        self._templates = jinja2.Environment(
            loader=jinja2.PackageLoader("lastblock.serve.dashboard"),
            autoescape=True,
            undefined=jinja2.StrictUndefined,
            trim_blocks=True,
            lstrip_blocks=True,
        )
        self._templates.filters |= {
            "count": numbers.count,
            "percent": numbers.percent,
            "show": numbers.show,
            "rate": rate,
            "between": between,
            "chance": chance,
            "difference": difference,
            "part": lambda text: quote(str(text), safe=""),
            "ago": ago,
            "moment": moment,
        }
        self._templates.globals |= {
            "base": f"{self.root}/dashboard",
            "mark": mark,
            "mark_symbols": Markup(mark_symbols()),
            "version": lastblock.__version__,
            "asset": lambda name: f"{self.root}/dashboard/assets/{name}?{assets()[name][2][1:-1]}",
        }

    def page(
        self,
        template: str,
        status: int = 200,
        headers: Mapping[str, str] | None = None,
        **values: Any,
    ) -> Response:
        """Return a page from a template."""
        nobody = {"session": None, "is_admin": False}
        text = self._templates.get_template(template).render(nobody | values)
        return Response(text.encode(), status, HTML, {**SAFE, **(headers or {})})

    def explain(self, problem: ProblemError) -> Response:
        """Return the page for a problem."""
        refresh = {"Refresh": "3"} if problem.status == 503 else {}
        return self.page(
            "problem.html",
            problem.status,
            {**problem.headers, **refresh},
            title=problem.title,
            detail=problem.detail,
        )

    def go(self, path: str, headers: Mapping[str, str] | None = None) -> Response:
        """Return the answer that sends a browser to another page of the dashboard."""
        where = {"Location": f"{self.root}/dashboard{path}"}
        return Response(b"", 303, HTML, {**SAFE, **where, **(headers or {})})


def rate(value: float | None, is_share: bool) -> str:
    """Return a mean reward as text, in percent if it is the share of ones among zeros."""
    if value is None or not math.isfinite(value):
        return "–"
    return f"{numbers.show(100.0 * value, 3)}\u202f%" if is_share else numbers.show(value, 3)


def between(found: Any, is_share: bool, unit: str = "\u202f%") -> str:
    """Return the interval of a mean or a difference as text; empty if nothing is known of it."""
    low, high = (math.nan if end is None else float(end) for end in (found.low, found.high))
    if not (math.isfinite(low) and math.isfinite(high)):
        return ""
    scale = 100.0 if is_share else 1.0
    decimals = max(0, decimals_of(scale * (high - low) / 4.0) or 0)
    ends = [f"{scale * end:,.{decimals}f}".replace(",", "\u202f") for end in (low, high)]
    low_text, high_text = (end.replace("-", "−") for end in ends)
    return f"{low_text} – {high_text}{unit * is_share}"


def chance(value: float | None) -> str:
    """Return a probability as whole percent, and never as certain."""
    if value is not None and not 0.005 <= value < 0.995:
        return "<\u202f1\u202f%" if value < 0.5 else ">\u202f99\u202f%"
    return numbers.percent(value)


def difference(value: float, is_share: bool) -> str:
    """Return a difference of mean rewards as text; of shares, in percentage points."""
    shown = f"{100.0 * value:+.2f}\u202fpp" if is_share else f"{value:+.3g}"
    return shown.replace("-", "−")


def moment(seconds: float) -> str:
    """Return a time as ISO 8601 text, in UTC."""
    return datetime.fromtimestamp(seconds, UTC).isoformat(timespec="seconds")


def ago(text: str | None) -> str:
    """Return how long ago a time was, given as ISO 8601 text."""
    if not text:
        return "–"
    seconds = time.time() - datetime.fromisoformat(text).timestamp()
    for size, unit in ((86_400, "day"), (3600, "hour"), (60, "minute")):
        if seconds >= size:
            number = int(seconds // size)
            return f"{number} {unit}{'s' * (number != 1)} ago"
    return "just now"


@functools.cache
def assets() -> dict[str, tuple[bytes, bytes, str]]:
    """Return the type, the bytes and the ETag of each file that pages load, by name."""
    found = {}
    for file in (resources.files("lastblock.serve.dashboard") / "assets").iterdir():
        data = file.read_bytes()
        etag = f'"{hashlib.sha256(data).hexdigest()[:16]}"'
        found[file.name] = _KINDS[file.name.rpartition(".")[2]], data, etag
    return found
