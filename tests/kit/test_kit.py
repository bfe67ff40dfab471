"""The kit: everything that the author of a policy, a detector or an arm family imports."""

import ast
import importlib
from pathlib import Path

import pytest

import lastblock as lb
from lastblock import kit

PACKAGE = Path(lb.__file__).parent
MODULES = [kit.divergences, kit.history, kit.marks, kit.multiset, kit.window]
"""Offered as a whole; the kit's docstring has a table of each."""

OFFERED = {
    (value.__module__, value.__name__)
    for value in (getattr(kit, name) for name in kit.__all__)
    if hasattr(value, "__module__") and hasattr(value, "__name__")
}
FILES = [
    file
    for folder in ("policies", "detectors", "arms")
    for file in sorted((PACKAGE / folder).glob("[!_]*.py"))
]


def test_the_docstring_is_the_reference():
    assert [name for name in kit.__all__ if f"`{name}`" not in kit.__doc__] == []
    assert len(set(kit.__all__)) == len(kit.__all__)
    assert {name for name in vars(kit) if not name.startswith("_")} == set(kit.__all__)


def imported(file):
    """What a file takes from below its own layer: the module and the name."""
    for node in ast.walk(ast.parse(file.read_text())):
        if isinstance(node, ast.ImportFrom) and node.module is not None:
            if node.module.startswith(("lastblock.core", "lastblock.kernels", "lastblock.support")):
                for alias in node.names:
                    yield node.module, alias.name


@pytest.mark.parametrize("file", FILES, ids=lambda file: f"{file.parent.name}/{file.name}")
def test_our_own_need_nothing_else(file):
    """What the authors of the library import, others can import from the kit."""
    for module, name in imported(file):
        source = importlib.import_module(module)
        value = getattr(source, name)
        known = name in kit.__all__ or (getattr(value, "__module__", None), name) in OFFERED
        documented = source in MODULES and f"`{name}`" in kit.__doc__
        assert known or documented, f"{file.name} imports {name} from {module}"


def test_it_is_an_attribute():
    assert lb.kit is kit
    assert "kit" in lb.__all__
