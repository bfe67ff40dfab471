"""The files of a user's own classes, and what they import, are part of what determines a chunk."""

import hashlib
import importlib
import os
import shutil
import sys
from types import ModuleType

import pytest

import lastblock as lb
from lastblock.core.layout import state_dtype
from lastblock.kernels import fingerprint as module
from lastblock.kernels.fingerprint import fingerprint
from processes import run_python

OLD = (10**9, 10**9)
MINE = """
from typing import NamedTuple
{imports}

class Mine(NamedTuple):
    level: float = 1.0

    def plan(self, s):
        {method}
        return f(s)
"""
FILES = {
    "my_policy.py": MINE.format(imports="from my_helpers.first import f", method="pass"),
    "my_helpers/__init__.py": "",
    "my_helpers/first.py": "from .second import g\n\ndef f(s):\n    return g(s)\n",
    "my_helpers/second.py": "def g(s):\n    import my_last\n    return my_last.h(s)\n",
    "my_last.py": "from math import sqrt as h\n",
    "apart.py": "UNUSED = 1\n",
}


@pytest.fixture
def write(tmp_path, monkeypatch):
    """Write files where Python finds them, older than this process; import what they define."""
    monkeypatch.syspath_prepend(tmp_path)

    def written(files, name="my_policy", class_name="Mine"):
        for path, text in files.items():
            (tmp_path / path).parent.mkdir(exist_ok=True)
            (tmp_path / path).write_text(text)
            os.utime(tmp_path / path, OLD)
        forget()
        for cache in tmp_path.rglob("__pycache__"):
            shutil.rmtree(cache)
        importlib.invalidate_caches()
        return getattr(importlib.import_module(name), class_name)

    def forget():
        tops = {path.partition("/")[0].removesuffix(".py") for path in FILES}
        for known in [each for each in sys.modules if each.partition(".")[0] in tops]:
            del sys.modules[known]

    yield written
    forget()


def test_the_packages_own_classes_need_none():
    assert fingerprint(lb.LBSDALM(), lb.Stationary([lb.Bernoulli(0.5), lb.Dirac(1.0)])) == ""


def test_any_edit_of_a_file_that_is_imported_shows(write):
    before = fingerprint(write(FILES)())
    assert before == fingerprint(write(FILES)(level=2.0)) != ""
    edits = {
        "my_policy.py": FILES["my_policy.py"].replace("f(s)", "-f(s)"),
        "my_helpers/__init__.py": "import sys\n",
        "my_helpers/first.py": FILES["my_helpers/first.py"].replace("g(s)", "g(s) + 1"),
        "my_helpers/second.py": FILES["my_helpers/second.py"] + "\n",
        "my_last.py": "from math import log as h\n",  # the bytecode that uses it is the same
    }
    prints = {fingerprint(write({**FILES, path: text})()) for path, text in edits.items()}
    assert len({before, *prints}) == 1 + len(edits)
    assert fingerprint(write({**FILES, "apart.py": "UNUSED = 2\n"})()) == before


def test_other_processes_agree(write, tmp_path):
    mine = fingerprint(write(FILES)())
    program = (
        "from my_policy import Mine\nfrom lastblock.kernels.fingerprint import fingerprint\n"
        "print(fingerprint(Mine()))"
    )
    for folder in tmp_path, tmp_path / "moved":
        if folder != tmp_path:
            shutil.copytree(tmp_path, folder)
        path = os.pathsep.join([str(folder), *filter(None, sys.path)])
        told = run_python("-c", program, PYTHONHASHSEED=1, PYTHONPATH=path)
        assert told.stdout.strip() == mine, told.stderr


def test_a_class_inside_of_others_is_seen(write):
    outer = lb.Stationary([lb.Bernoulli(0.5), lb.Dirac(1.0)])
    outer.extra = [{"mine": write(FILES)()}]
    assert fingerprint(outer) == fingerprint(write(FILES)()) != ""
    assert fingerprint(lb.Restarting(lb.LBSDALM(), lb.MeanShift())) == ""


@pytest.mark.parametrize(
    "code",
    [
        "class Mine(tuple): pass",
        "def make():\n    class Inner(tuple): pass\n    return Inner\nMine = make()",
        "Mine = lambda: [lambda s: s]",
    ],
    ids=["cell", "factory", "lambda"],
)
def test_code_that_no_file_tells_has_none(code, write):
    if code.startswith("class"):
        space = {"__name__": "somebodys_cell"}
        exec(code, space)
        assert fingerprint(space["Mine"]()) is None
        sys.modules["somebodys_cell"] = ModuleType("somebodys_cell")
        sys.modules["somebodys_cell"].Mine = space["Mine"]
        assert fingerprint(space["Mine"]()) is None
        del sys.modules["somebodys_cell"]
        return
    assert fingerprint(write({"my_policy.py": code})()) is None


@pytest.mark.parametrize("path", ["my_policy.py", "my_last.py"])
def test_a_file_that_has_changed_since_python_started_tells_nothing(path, write, tmp_path):
    mine = write(FILES)
    (tmp_path / path).write_text(FILES[path])  # Python may have read another text
    assert fingerprint(mine()) is None
    (tmp_path / path).unlink()
    assert fingerprint(mine()) is None or path == "my_last.py"


def test_a_file_of_the_users_may_be_named_like_one_of_pythons(write, monkeypatch):
    prints = set()
    for result in 1, 2:
        monkeypatch.delitem(sys.modules, "this", raising=False)
        own = MINE.format(imports="from this import f", method="pass")
        files = {"my_policy.py": own, "this.py": f"def f(s): return {result}"}
        prints.add(fingerprint(write(files)()))
        monkeypatch.delitem(sys.modules, "this", raising=False)
    assert len(prints) == 2


def test_installed_packages_are_known_by_version_and_files(tmp_path, monkeypatch, write):
    site = tmp_path / "site"
    site.mkdir()
    folders = *module._folders(), str(site.resolve())
    monkeypatch.setattr(module, "_folders", lambda: folders)
    monkeypatch.syspath_prepend(site)
    prints = []
    for version, code in [
        ("1.0", "def f(s): return 1"),
        ("1.0", "def f(s): return 1"),
        ("1.1", "def f(s): return 1"),
        ("1.1", "def f(s): return 22"),  # installed anew, of the same version
    ]:
        (site / "somebodys_package.py").write_text(code)
        about = site / "somebodys_package.dist-info"
        about.mkdir(exist_ok=True)
        (about / "METADATA").write_text(
            f"Metadata-Version: 2.1\nName: somebodys-package\nVersion: {version}\n"
        )
        digest = hashlib.sha256(code.encode()).hexdigest()
        (about / "RECORD").write_text(f"somebodys_package.py,sha256={digest},{len(code)}\n")
        monkeypatch.delitem(sys.modules, "somebodys_package", raising=False)
        module._version.cache_clear()
        own = MINE.format(imports="from somebodys_package import f", method="import nowhere")
        prints.append(fingerprint(write({"my_policy.py": own})()))
    assert prints[0] == prints[1]
    assert len(set(prints)) == 3
    assert None not in prints
    module._version.cache_clear()


def test_a_policys_own_use_does_not_change_it(write):
    """What is compiled or cached in between is not a matter of code."""
    world = lb.Stationary([lb.Bernoulli(0.5), lb.Dirac(1.0)])
    mine = write({"my_policy.py": MINE.format(imports="f = abs", method="pass")})()
    before = fingerprint(mine, world)
    world.compile(10)
    state_dtype(lb.LBSDALM(), 2, 10)
    assert fingerprint(mine, world) == before != ""
