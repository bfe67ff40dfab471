"""What all pages that stand alone share: a head, with styles and the rule of what may run."""

import hashlib
from base64 import b64encode
from html import escape
from importlib.resources import files as resources
from string import Template


def asset(name: str) -> str:
    """Return the text of a file in `assets/`."""
    return resources("lastblock.lab.report").joinpath("assets", name).read_text(encoding="utf-8")


def page(template: str, title: str, *, style: str = "", script: str = "", **parts: str) -> str:
    """Return a page that needs no other file.

    Parameters
    ----------
    template
        A file in `assets/`: the body of the page.
    title
        The title, as plain text.
    style
        A style sheet to use besides that of all pages.
    script
        The one script that browsers may run in the page.
    **parts
        HTML for the other names in the template.
    """
    import lastblock  # for its version only  # noqa: PLC0415

    shared = {"version": escape(lastblock.__version__), "title": escape(title)}
    allowed = ""
    if script:
        digest = b64encode(hashlib.sha256(script.encode()).digest()).decode()
        allowed = f"; script-src 'sha256-{digest}'"
    head = Template(asset("head.html")).substitute(
        **shared, scripts=allowed, style=asset("report.css") + style
    )
    return Template(asset(template)).substitute(**shared, head=head, script=script, **parts)
