"""Every Python block and command of the documentation runs, and every link leads somewhere."""

import re
import shlex
from pathlib import Path
from unittest import mock

import pytest

import lastblock as lb
from conformance import checks
from lastblock.cli.parser import make_parser

ROOT = Path(__file__).parents[1]
PAGES = sorted([*ROOT.glob("*.md"), *ROOT.glob("docs/**/*.md")])
BLOCK = re.compile(r"^```python\n(.*?)^```", re.DOTALL | re.MULTILINE)
COMMAND = re.compile(r"^lastblock .*$", re.MULTILINE)
LINK = re.compile(r"\]\(([^)#]+)\)")
CASES = [
    pytest.param(code, id=f"{page.relative_to(ROOT)}-{i}")
    for page in PAGES
    for i, code in enumerate(BLOCK.findall(page.read_text()))
]


@pytest.mark.parametrize("code", CASES)
def test_block_runs(code, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with mock.patch.dict(lb.POLICIES):  # a block may define a policy
        known = set(lb.POLICIES)
        exec(compile(code, "<block>", "exec"), {"__name__": "block"})
        for name in set(lb.POLICIES) - known:
            assert_conforms(lb.POLICIES[name])


def assert_conforms(cls):
    """A policy in the documentation is one to copy from."""
    elsewhere = {checks.check_jit_changes_nothing}  # needs a module that a new process can import
    for example in cls.examples():
        for check in checks.CHECKS:
            if check not in elsewhere:
                check(example)


def commands():
    shells = re.compile(r"^```(?:sh)?\n(.*?)^```", re.DOTALL | re.MULTILINE)
    for page in PAGES:
        for block in shells.findall(page.read_text()):
            yield from COMMAND.findall(block)


def test_commands_are_understood():
    lines = list(commands())
    assert len(lines) > 10
    for line in lines:
        words = shlex.split(re.split(r" [|>&]", line)[0], comments=True)
        make_parser().parse_args(words[1:])  # ends the test if it does not know an argument


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_links_lead_somewhere(page):
    for target in LINK.findall(BLOCK.sub("", page.read_text())):
        assert (page.parent / target).exists(), target
