"""The kit: everything that the author of a policy, a detector or an arm family imports."""

import ast
import importlib
from pathlib import Path

import pytest

import lastblock as lb
from lastblock import kit

PACKAGE = Path(lb.__file__).parent
MODULES = [
    kit,
    kit.describing,
    kit.divergences,
    kit.history,
    kit.marks,
    kit.multiset,
    kit.window,
]
OFFERED = {
    (value.__module__, value.__name__)
    for module in MODULES
    for value in (getattr(module, name) for name in module.__all__)
    if hasattr(value, "__module__") and hasattr(value, "__name__")
}
NAMES = {name for module in MODULES for name in module.__all__}
FILES = [
    file
    for folder in ("policies", "detectors", "arms")
    for file in sorted((PACKAGE / folder).glob("[!_]*.py"))
]


@pytest.mark.parametrize("module", MODULES, ids=lambda module: module.__name__)
def test_the_docstring_is_the_reference(module):
    missing = [name for name in module.__all__ if f"`{name}`" not in module.__doc__]
    assert missing == []
    assert len(set(module.__all__)) == len(module.__all__)
    public = {name for name in vars(module) if not name.startswith("_")}
    assert public == set(module.__all__)


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
        value = getattr(importlib.import_module(module), name)
        known = name in NAMES or (getattr(value, "__module__", None), name) in OFFERED
        assert known, f"{file.name} imports {name} from {module}"


def test_it_is_an_attribute():
    assert lb.kit is kit
    assert "kit" in lb.__all__
