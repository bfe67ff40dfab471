"""The directives `policy-table` and `registry`: what is registered, discovered at each build.

`policy-table` lists the pages in docs/policies by kind. The kinds are those of the table in the
README, the one place where they are written down; a policy that is not in it yet comes last.

`registry` describes every class of a registry: the policies, the change detectors or the arms.
"""

import re
from pathlib import Path
from typing import Any

from docutils import nodes
from docutils.parsers.rst import directives
from sphinx.application import Sphinx
from sphinx.util.docutils import SphinxDirective

import lastblock as lb

DOCS = Path(__file__).parents[1]
README = DOCS.parent / "README.md"
REGISTRIES = {"policies": lb.POLICIES, "detectors": lb.DETECTORS, "arms": lb.FAMILIES}

_ROW = re.compile(r"^\| ([^|]+) \| .*docs/policies/.*\|$", re.MULTILINE)
_LINK = re.compile(r"\(docs/policies/(\w+)\.md\)")
OTHERS = "others"


def kinds() -> dict[str, list[str]]:
    """The names of the pages of each kind, in the order of the README."""
    found: dict[str, list[str]] = {}
    for row in _ROW.finditer(README.read_text(encoding="utf-8")):
        found[row[1]] = _LINK.findall(row[0])
    known = {page for pages in found.values() for page in pages}
    others = [page.stem for page in sorted(DOCS.glob("policies/*.md")) if page.stem not in known]
    return {**found, OTHERS: others} if others else found


def table(pages: list[str]) -> str:
    """A Markdown table of policies."""
    lines = ["| policy | in one sentence | its memory |", "|---|---|---|"]
    classes = {name.lower(): cls for name, cls in lb.POLICIES.items()}
    for page in pages:
        cls = classes[page]
        title = _title(DOCS / "policies" / f"{page}.md")
        sentence = str(cls.__doc__).partition("\n")[0].replace("|", "\\|")
        lines.append(f"| [{title}](/policies/{page}.md) | {sentence} | {_memory(cls)} |")
    return "\n".join(lines)


def _title(page: Path) -> str:
    return page.read_text(encoding="utf-8").partition("\n")[0].removeprefix("# ")


def _memory(cls: Any) -> str:
    if cls.oracle:
        return "a yardstick"
    if "policy" in cls._fields:
        return "that of its policy"
    kept = {policy.grows for policy in cls.examples()}
    if len(kept) == 2:
        return "fixed, or every reward"
    return "every reward" if True in kept else "fixed"


class PolicyTable(SphinxDirective):
    """A table for each kind of policy."""

    def run(self) -> list[nodes.Node]:
        self.env.note_dependency(str(README))
        text = "\n\n".join(
            f"**{kind.capitalize()}**\n\n{table(pages)}" for kind, pages in kinds().items()
        )
        parsed = self.parse_text_to_nodes(text)
        for node in parsed:
            if isinstance(node, nodes.table):
                node["classes"].append("policies")
        return parsed


class Registry(SphinxDirective):
    """The signature and the docstring of every class in a registry."""

    required_arguments = 1

    def run(self) -> list[nodes.Node]:
        chosen = directives.choice(self.arguments[0], tuple(REGISTRIES))
        found = REGISTRIES[chosen]
        blocks = [
            f"```{{eval-rst}}\n.. autoclass:: lastblock.{name}\n{_members(cls)}\n```{_page(name)}"
            for name, cls in sorted(found.items(), key=lambda item: item[0].lower())
        ]
        return self.parse_text_to_nodes("\n\n".join(blocks))


def _page(name: str) -> str:
    """A link to the page about a policy, where there is one."""
    page = DOCS / "policies" / f"{name.lower()}.md"
    return f"\n\n[More about {_title(page)}](/policies/{page.name})" if page.exists() else ""


def _members(cls: Any) -> str:
    """The constructors beside the class itself, such as `tuned`."""
    named = [
        name
        for name, value in vars(cls).items()
        if isinstance(value, classmethod) and not name.startswith("_") and name != "examples"
    ]
    return f"   :members: {', '.join(named)}\n" if named else ""


def setup(app: Sphinx) -> dict[str, Any]:
    """Make the directives known to Sphinx."""
    app.add_directive("policy-table", PolicyTable)
    app.add_directive("registry", Registry)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
