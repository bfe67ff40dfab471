"""Counts lines of code and modules by package: ``python -m benchmarks.size``.

Blank lines, comments and docstrings do not count. A line of import is one of the lines of an import
statement. With --against, the table also has the counts of another commit, read through git.
"""

import ast
import functools
import io
import re
import subprocess
import tarfile
import tokenize
from collections import Counter
from pathlib import Path
from typing import NamedTuple

from benchmarks.options import Parser

ROOT = Path(__file__).parent.parent
FOLDERS = {"src": "src/lastblock", "tests": "tests", "benchmarks": "benchmarks"}
PROTOCOL = "src/lastblock/core/protocol.py"
IGNORED = {
    *(tokenize.COMMENT, tokenize.NL, tokenize.NEWLINE),
    *(tokenize.INDENT, tokenize.DEDENT, tokenize.ENDMARKER),
}


class Size(NamedTuple):
    """The counts of one tree."""

    lines: Counter[str]
    """Lines of code by package, such as "src/core"; by folder, such as "src"."""
    modules: Counter[str]
    imports: Counter[str]
    methods: frozenset[str]
    """The names of the methods that a policy may have."""


def docstrings(tree: ast.Module) -> set[int]:
    """Return the numbers of the lines of all docstrings."""
    owners = (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)
    return {
        line
        for node in ast.walk(tree)
        if isinstance(node, owners) and ast.get_docstring(node, clean=False) is not None
        for line in range(node.body[0].lineno, (node.body[0].end_lineno or 0) + 1)
    }


@functools.cache
def lines_of_code(source: str) -> int:
    """Return how many lines hold code."""
    found: set[int] = set()
    for token in tokenize.generate_tokens(io.StringIO(source).readline):
        if token.type not in IGNORED:
            found.update(range(token.start[0], token.end[0] + 1))
    return len(found - docstrings(ast.parse(source)))


@functools.cache
def lines_of_imports(source: str) -> int:
    """Return how many lines are parts of import statements."""
    return sum(
        (node.end_lineno or 0) + 1 - node.lineno
        for node in ast.walk(ast.parse(source))
        if isinstance(node, ast.Import | ast.ImportFrom)
    )


def policy_methods(sources: dict[str, str]) -> frozenset[str]:
    """Return the methods that the protocol lists or a policy defines, without constructors."""
    about = ast.get_docstring(ast.parse(sources[PROTOCOL])) or ""
    listed = about.partition("A change detector")[0]
    found = set(re.findall(r"^ +(\w+)\((?:self|cls)\b", listed, re.M))
    for path, source in sources.items():
        if path.startswith("src/lastblock/policies/"):
            for node in ast.parse(source).body:
                if isinstance(node, ast.ClassDef):
                    own = [each for each in node.body if isinstance(each, ast.FunctionDef)]
                    if {"layout", "plan"} <= {each.name for each in own}:
                        found.update(each.name for each in own if is_method(each, node.name))
    return frozenset(found)


def is_method(node: ast.FunctionDef, policy: str) -> bool:
    """Return whether a policy's public function is neither a property nor a constructor."""
    decorators = {ast.unparse(each) for each in node.decorator_list}
    makes = node.returns is not None and ast.unparse(node.returns).strip("'") in (policy, "Self")
    return node.name[0] != "_" and "property" not in decorators and not makes


def measured(sources: dict[str, str]) -> Size:
    """Count a tree, given as the sources of its modules by their paths."""
    size = Size(Counter(), Counter(), Counter(), policy_methods(sources))
    for path, source in sources.items():
        for name, folder in FOLDERS.items():
            if path.startswith(folder + "/"):
                package, slash, _ = path.removeprefix(folder + "/").partition("/")
                for key in (name, f"{name}/{package if slash else '.'}"):
                    size.lines[key] += lines_of_code(source)
                    size.imports[key] += lines_of_imports(source)
                    size.modules[key] += 1
    return size


def working_tree() -> dict[str, str]:
    """Return the sources of all modules here."""
    return {
        path.relative_to(ROOT).as_posix(): path.read_text(encoding="utf-8")
        for folder in FOLDERS.values()
        for path in sorted((ROOT / folder).rglob("*.py"))
    }


def committed(commit: str) -> dict[str, str]:
    """Return the sources of all modules of a commit.

    Raises
    ------
    ValueError
        If git does not know the commit.
    """
    command = ["git", "-C", str(ROOT), "archive", commit, *FOLDERS.values()]
    done = subprocess.run(command, capture_output=True, check=False)
    if done.returncode:
        raise ValueError(done.stderr.decode().strip().splitlines()[0])
    with tarfile.open(fileobj=io.BytesIO(done.stdout)) as archive:
        return {
            name: opened.read().decode()
            for name in archive.getnames()
            if name.endswith(".py") and (opened := archive.extractfile(name)) is not None
        }


def rows(now: Size, before: Size | None) -> list[str]:
    """Return the table, in Markdown."""

    def row(name: str, *counts: tuple[int, int]) -> str:
        cells = [f"{old} | {new}" if before else str(new) for old, new in counts]
        return f"| {name} | {' | '.join(cells)} |"

    past = before or now
    titles = ["lines of code", "modules", "lines of imports"]
    if before:
        titles = [f"{title}, {when}" for title in titles for when in ("before", "now")]
    lines = [f"| | {' | '.join(titles)} |", "|---" * (len(titles) + 1) + "|"]
    for key in sorted(now.modules | past.modules):
        pairs = [(old[key], new[key]) for old, new in zip(past[:3], now[:3], strict=True)]
        lines.append(row(key if "/" in key else f"**{key}**", *pairs))
    lines.append("")
    for when, size in (("before", before), ("now", now)):
        if size is not None:
            methods = f"{len(size.methods)}: {', '.join(sorted(size.methods))}"
            lines.append(f"Methods that a policy may have {when}: {methods}")
    return lines


def main() -> None:
    parser = Parser("size", __doc__, "some seconds")
    parser.add_argument("--against", metavar="COMMIT", help="also count this commit")
    options = parser.parse_args()
    before = None
    if options.against is not None:
        try:
            before = measured(committed(options.against))
        except ValueError as error:
            parser.error(f"--against: {error}")
    print("\n".join(rows(measured(working_tree()), before)))


if __name__ == "__main__":
    main()
