"""The names of the package: what users find in it, and what they are told about the others."""

import ast
import inspect
import re
import subprocess
import sys
from pathlib import Path

import pytest

import lastblock as lb

INIT = "src/lastblock/__init__.py"


def forgotten(registered, exported):
    """What to add to `__init__.py` for the package's own classes that it does not export."""
    return [
        f'{INIT} does not export {cls.__name__}; add "from {cls.__module__} import {cls.__name__}" '
        f'and, in __all__, "{cls.__name__}"'
        for cls in registered
        if cls.__module__.partition(".")[0] == "lastblock"
        and (getattr(lb, cls.__name__, None) is not cls or cls.__name__ not in exported)
    ]


@pytest.mark.parametrize("registry", [lb.POLICIES, lb.DETECTORS, lb.FAMILIES])
def test_all_that_is_registered_is_exported(registry):
    missing = forgotten(registry.values(), lb.__all__)
    assert not missing, "\n".join(missing)


def test_all_names_exist_once():
    assert len(set(lb.__all__)) == len(lb.__all__)
    assert [name for name in lb.__all__ if not hasattr(lb, name)] == []


def imports(file):
    """The full names that a file of the package imports."""
    for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
        if isinstance(node, ast.ImportFrom):
            yield from (f"{node.module}.{alias.name}" for alias in node.names)
        elif isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)


def test_no_folder_imports_private_names_of_another():
    source = Path(lb.__file__).parents[1]
    wrong = []
    for file in source.glob("lastblock/**/*.py"):
        home = ".".join(file.relative_to(source).parent.parts)
        for name in imports(file):
            owner = re.match(r"(lastblock\b.*?)\._(?!_)", name)
            if owner is not None and not f"{owner[1]}.".startswith(f"{home}."):
                wrong.append(f"{file.relative_to(source)} imports {name}")
    assert wrong == []


@pytest.mark.parametrize(
    ("wrong", "right"),
    [("Thomson", "Thompson"), ("lbsda_lm", "LBSDALM"), ("labs", "lab"), ("zzz", "")],
)
def test_a_misspelt_name(wrong, right):
    hint = f"; did you mean '{right}'?" if right else ""
    with pytest.raises(AttributeError) as error:
        getattr(lb, wrong)
    assert str(error.value) == f"module 'lastblock' has no attribute '{wrong}'{hint}"


def test_an_unknown_name_cannot_be_imported():
    with pytest.raises(ImportError, match="zzz"):
        from lastblock import zzz  # noqa: F401, PLC0415  # likewise


SLOW = ("concurrent.futures", "difflib", "numba", "numpy.polynomial", "sqlite3", "statistics")
"""Modules that an import of lastblock need not wait for."""


def test_what_few_programs_use_is_imported_when_it_is_used():
    code = (
        "import sys, lastblock as lb; "
        "unused = [f'lastblock.{room}' for room in lb._ROOMS] + ['lastblock.live.summary']; "
        f"assert not {{*unused, *{SLOW}}} & {{*sys.modules}}; "
        "assert {'lab', 'store', 'Store', 'simulate', 'Thompson'} <= {*dir(lb)}; "
        "lb.lab.Scenario; assert 'lastblock.lab' in sys.modules; "
        "assert lb.store.Store is lb.Store and 'Store' in vars(lb); "
        "from lastblock import *; assert Store is lb.Store and simulate is lb.simulate"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


def test_checkers_read_where_a_name_is_imported_from_on_first_use():
    tree = ast.parse((Path(lb.__file__)).read_text(encoding="utf-8"))
    blocks = [node.body for node in tree.body if isinstance(node, ast.If)]
    imports = [node for node in blocks[0] if isinstance(node, ast.ImportFrom)]
    read = {alias.name: node.module for node in imports for alias in node.names}
    rooms = [name for name, module in read.items() if module == "lastblock"]
    assert set(rooms) <= set(lb._ROOMS)
    named = {name: f"lastblock.{module}" for name, module in lb._ON_FIRST_USE.items()}
    assert named == {name: module for name, module in read.items() if name not in rooms}
    assert set(named) <= set(lb.__all__)


@pytest.mark.parametrize("cls", [getattr(lb, name) for name in lb.POLICIES if hasattr(lb, name)])
def test_every_parameter_of_a_policy_is_documented(cls):
    headings = re.findall(r"^    ([\w, ]+)$", cls.__doc__, re.MULTILINE)
    documented = {name for heading in headings for name in heading.split(", ")}
    given = inspect.signature(cls).parameters
    assert [name for name in given if name not in documented] == []
