"""The directive `command-help`: every command of the program, as its parser describes it."""

import argparse
import os
from typing import Any
from unittest import mock

from docutils import nodes
from sphinx.application import Sphinx
from sphinx.util.docutils import SphinxDirective

from lastblock.cli.parser import make_parser

COLUMNS = "84"  # the width of the help: it fits beside the table of contents


class CommandHelp(SphinxDirective):
    """A section for each command, with the text of its ``--help``."""

    def run(self) -> list[nodes.Node]:
        return [self._section(name, parser) for name, parser in commands().items()]

    def _section(self, name: str, parser: argparse.ArgumentParser) -> nodes.section:
        title = f"lastblock {name}"
        section = nodes.section(ids=[nodes.make_id(title)], names=[title])
        section += nodes.title(text=title)
        with mock.patch.dict(os.environ, {"COLUMNS": COLUMNS}):
            text = parser.format_help()
        section += nodes.literal_block(text, text, language="none")
        return section


def commands() -> dict[str, argparse.ArgumentParser]:
    """The parser of each command, in the order of the program's own help."""
    groups = [
        action
        for action in make_parser()._actions
        if isinstance(action, argparse._SubParsersAction)
    ]
    return dict(groups[0].choices)


def setup(app: Sphinx) -> dict[str, Any]:
    """Make the directive known to Sphinx."""
    app.add_directive("command-help", CommandHelp)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
