"""Every Python block and command of the documentation runs, and every link leads somewhere."""

import contextlib
import re
import shlex
import sys
from pathlib import Path
from unittest import mock

import pytest

import lastblock as lb
from lastblock.cli.parser import make_parser
from lastblock.testing import DETECTOR_CHECKS, FAMILY_CHECKS, POLICY_CHECKS

ROOT = Path(__file__).parents[1]
PAGES = sorted([*ROOT.glob("*.md"), *ROOT.glob("docs/**/*.md"), *ROOT.glob(".github/**/*.md")])
BLOCK = re.compile(r"^```python\n(.*?)^```", re.DOTALL | re.MULTILINE)
FENCED = re.compile(r"^```.*?^```", re.DOTALL | re.MULTILINE)
HEADING = re.compile(r"^#+ (.*)$", re.MULTILINE)
PRINTS = re.compile(r"# prints: (.*)$", re.MULTILINE)  # a promise that a block makes
COMMAND = re.compile(r"^lastblock .*$", re.MULTILINE)
BENCHMARK = re.compile(r"python -m benchmarks\.(\w+)")
LINK = re.compile(r"\]\(([^)\s]+)\)")
FIGURE = re.compile(r"!\[([^\]]*)\]\(([^)]+)\)(.*?)(?=\n#|\Z)", re.DOTALL)
MAKES_FIGURES = (
    *("make reproduce", "lastblock reproduce", "lastblock plot"),
    *("python -m benchmarks.", "python docs/"),
    "at commit ",  # of a finished study
)
FILE = re.compile(r"# (\w+\.py)\n")  # the first line of a block that later ones import
CHECKS_OF = {"POLICIES": POLICY_CHECKS, "DETECTORS": DETECTOR_CHECKS, "FAMILIES": FAMILY_CHECKS}
CASES = [
    pytest.param(BLOCK.findall(page.read_text())[: i + 1], id=f"{page.relative_to(ROOT)}-{i}")
    for page in PAGES
    for i, _ in enumerate(BLOCK.findall(page.read_text()))
]


@pytest.fixture
def files(tmp_path, monkeypatch):
    """Write blocks that are named as files where other blocks can import them."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(tmp_path)
    modules = []

    def write(blocks):
        for block in blocks:
            if named := FILE.match(block):
                modules.append(Path(named[1]).stem)
                Path(named[1]).write_text(block, encoding="utf-8")

    yield write
    for module in modules:
        sys.modules.pop(module, None)


@pytest.mark.parametrize("blocks", CASES)
def test_block_runs(blocks, files, monkeypatch, request, capsys):
    *earlier, code = blocks
    files(earlier)
    if "SHOP_DATABASE" in code:  # of a page about stores on PostgreSQL
        server = request.getfixturevalue("server")
        monkeypatch.setenv("SHOP_DATABASE", server.url(schema="documents"))
    with contextlib.ExitStack() as stack:
        for registry in CHECKS_OF:  # a block may define a policy, or its like
            stack.enter_context(mock.patch.dict(getattr(lb, registry)))
        names = {"__name__": "block"}
        exec(compile(code, "<block>", "exec"), names)
        printed = capsys.readouterr().out.splitlines()
        assert [line for line in PRINTS.findall(code) if line not in printed] == []
        if not FILE.match(code):  # a file is tested in test_own_package.py
            assert_conforms(names)


def test_the_fleet_of_the_readme_shows_that_it_learns_at_click_rates():
    """Eight arms of 2 and 3 %: by chance it would be one in eight."""
    promised = PRINTS.findall((ROOT / "README.md").read_text(encoding="utf-8"))
    shares = [re.fullmatch(r"the best of eight arms: (\d+)%", line) for line in promised]
    assert [int(share[1]) > 75 for share in shares if share] == [True]


def assert_conforms(names):
    """A policy in the documentation is one to copy from; so is a detector, and an arm."""
    for registry, checks in CHECKS_OF.items():
        for cls in getattr(lb, registry).values():
            if cls.__module__ == "block":
                made = [value for value in names.values() if isinstance(value, cls)]
                for subject in made or [cls()]:
                    for name, check in checks.items():
                        if name != "jit_changes_nothing":  # needs a file to import
                            check(subject)


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


def anchors(page):
    """The places in a page that a link can name, spelt as a forge and the site spell them."""
    headings = HEADING.findall(FENCED.sub("", page.read_text()))
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


def test_benchmarks_that_pages_name_are_programs():
    named = {name for page in PAGES for name in BENCHMARK.findall(page.read_text())}
    assert {"core", "worlds", "fleet"} <= named
    for name in named:
        place = ROOT / "benchmarks" / name
        program = place / "__main__.py" if place.is_dir() else place.with_suffix(".py")
        source = program.read_text(encoding="utf-8")
        assert 'if __name__ == "__main__":' in source, f"python -m benchmarks.{name} does nothing"


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_links_lead_somewhere(page):
    for link in LINK.findall(FENCED.sub("", page.read_text())):
        target, _, anchor = link.partition("#")
        if "://" in target:
            continue
        there = page.parent / target if target else page
        assert there.exists(), link
        assert not anchor or anchor in anchors(there), link


def test_every_picture_is_on_a_page_that_says_what_it_shows_and_which_command_draws_it():
    used = set()
    for page in PAGES:
        for text, target, below in FIGURE.findall(page.read_text()):
            used.add((page.parent / target).resolve())
            assert text, target
            assert any(command in below for command in MAKES_FIGURES), target
    assert used == set(ROOT.glob("docs/images/*"))
