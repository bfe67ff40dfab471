"""Code for classes from outside the package is kept as long as the classes stay the same."""

import os
from pathlib import Path

import pytest

import lastblock
from lastblock.kernels import own_code
from lastblock.kernels.jit import DISABLED
from processes import run_python

pytestmark = pytest.mark.skipif(DISABLED, reason="nothing is compiled")

SOURCE = """
from typing import NamedTuple
import lastblock as lb
from lastblock.kit import enqueue

@lb.policy()
class Constant(NamedTuple):
    unused: float = 0.0

    def layout(self, arms, horizon):
        return []
    def start(self, s):
        enqueue(s, ARM)
    def plan(self, s):
        enqueue(s, ARM)
    def observe(self, s, arm, reward):
        pass
"""
PROGRAM = """
import importlib
import sys
import numpy as np
import lastblock as lb
from lastblock.core.layout import state_dtype
from lastblock.engine.live import open_live
from lastblock.kernels.jit import is_kept, specialise
from lastblock.kernels.record_arrays import RecordArray
from lastblock.kernels.streams import key_of

def opened(policy):
    states = np.zeros(1, state_dtype(policy, 2))
    arguments = policy, RecordArray(states), 2, key_of(1), 0
    kept = is_kept(open_live, *arguments)
    specialise(open_live, *arguments)(*arguments)
    print("kept" if kept else "compiled", states["queue"][0, 0])

for arm in sys.argv[1]:
    opened(importlib.import_module(f"always_{arm}").Constant())
    lb.POLICIES.pop("Constant", None)
if len(sys.argv) > 2:
    exec(open(sys.argv[2]).read(), {"__name__": "__main__"})  # as in a notebook: no file
    opened(lb.POLICIES["Constant"]())
"""


def run(arms, folder, *more, written=(0, 1)):
    for arm in (0, 1):
        file = folder / f"always_{arm}.py"
        file.write_text(SOURCE.replace("ARM", str(written[arm])))
        os.utime(file, (10**9, 10**9))
    where = {
        "PYTHONPATH": f"{Path(lastblock.__file__).parents[1]}{os.pathsep}{folder}",
        "NUMBA_CACHE_DIR": folder / "cache",
        "PYTHONDONTWRITEBYTECODE": 1,  # Python's own cache looks at times and sizes
    }
    done = run_python("-c", PROGRAM, arms, *more, **where)
    assert done.returncode == 0, done.stderr
    return done.stdout.splitlines()


def test_unchanged_classes_are_compiled_once_and_changed_ones_again(tmp_path):
    # Code without a file is never kept.
    nowhere = tmp_path / "always_0.py"
    assert run("0", tmp_path, nowhere) == ["compiled 0", "compiled 0"]
    # Another process finds it. Several versions in one process: each keeps its own code.
    kept = ["kept 0", "compiled 1", "kept 0", "kept 1"]
    assert run("0101", tmp_path, nowhere) == [*kept, "compiled 0"]
    # A damaged file costs a compilation. As many characters, at the same time: another class.
    for file in tmp_path.rglob("*open_live*.nbc"):
        file.write_bytes(file.read_bytes()[:1000])
    damaged, other = run("10", tmp_path, written=(1, 1))
    assert damaged == "compiled 1"
    assert other.endswith(" 1")


def test_the_oldest_of_many_folders_go(tmp_path, monkeypatch):
    monkeypatch.setattr(own_code, "_KEPT_FOLDERS", 3)
    for age in range(1, 6):
        folder = tmp_path / f"own-{age}"
        folder.mkdir()
        os.utime(folder, (10**9 - age, 10**9 - age))
    (tmp_path / "engine").mkdir()
    current = own_code.own_folder(tmp_path, "new")
    names = {path.name for path in tmp_path.iterdir()}
    assert names == {current.name, "own-1", "own-2", "engine"}
