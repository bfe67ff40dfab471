"""A page that stands alone: its head, with styles and the rule of what may run."""

import hashlib
from base64 import b64encode
from html import escape
from importlib.resources import files as resources
from string import Template


def asset(name: str) -> str:
    """Return the text of a file in `assets/`."""
    return resources("lastblock.lab.report").joinpath("assets", name).read_text(encoding="utf-8")


def page(template: str, title: str, *, script: str, **parts: str) -> str:
    """Return a page that needs no other file.

    Parameters
    ----------
    template
        A file in `assets/`: the body of the page.
    title
        The title, as plain text.
    script
        The one script that browsers may run in the page.
    **parts
        HTML for the other names in the template.
    """
    import lastblock  # for its version only  # noqa: PLC0415

    shared = {"version": escape(lastblock.__version__), "title": escape(title)}
    digest = b64encode(hashlib.sha256(script.encode()).digest()).decode()
    head = Template(asset("head.html")).substitute(
        **shared, scripts=f"; script-src 'sha256-{digest}'", style=asset("report.css")
    )
    return Template(asset(template)).substitute(**shared, head=head, script=script, **parts)
