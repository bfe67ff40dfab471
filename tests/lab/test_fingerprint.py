"""The code of a user's own classes is part of what determines a chunk."""

import os
import subprocess
import sys
from types import ModuleType, SimpleNamespace
from typing import NamedTuple

import numpy as np
import pytest

import lastblock as lb
from lastblock.kernels.jit import kernel
from lastblock.lab.work.fingerprint import fingerprint

BASE = '''
from typing import NamedTuple
from lastblock.kernels.jit import kernel

FACTOR = {factor}
KINDS = frozenset(["one", "two", "three", "four"])

def deeper(x, offset={offset}):
    return x * FACTOR + {deep} + offset

@kernel
def helper(x):
    return deeper(x) + {constant}

class Mine(NamedTuple):
    """{doc}"""

    level: float = 1.0

    def plan(self, s):
        return helper(s) {operator} self.level

    def validate(self):
        return self.level in KINDS or self.level in {{"five", "six", "seven", "eight"}}
'''


def mine(**changes):
    parts = {
        "factor": 2,
        "offset": 0,
        "deep": 3,
        "constant": 4,
        "operator": "+",
        "doc": "A policy.",
    }
    space = {"__name__": "somebodys_module"}
    exec(BASE.format(**{**parts, **changes}), space)
    return space["Mine"]()


def test_the_packages_own_classes_need_none():
    assert fingerprint(lb.LBSDALM(), lb.Stationary([lb.Bernoulli(0.5), lb.Dirac(1.0)])) == ""


def test_the_same_code_is_the_same():
    assert fingerprint(mine()) == fingerprint(mine()) != ""
    assert fingerprint(mine()) == fingerprint(mine(doc="Other words."))


def test_other_processes_agree():
    program = "from test_fingerprint import fingerprint, mine; print(fingerprint(mine()))"
    folder = os.path.dirname(__file__)
    for seed in "1", "2":  # of the order in sets
        told = subprocess.run(
            [sys.executable, "-c", program],
            env={**os.environ, "PYTHONHASHSEED": seed},
            cwd=folder,
            capture_output=True,
            text=True,
            check=True,
        )
        assert told.stdout.strip() == fingerprint(mine())


@pytest.mark.parametrize(
    "values", [((1.0,), (2.0,)), ([1, [2]], [1, [3]]), (np.array([1.0]), np.array([2.0]))]
)
def test_constants_show(values):
    first, other = (_using(weights=value) for value in values)
    assert fingerprint(first) != fingerprint(other)


def test_what_a_neighbour_defines_shows():
    def neighbour(code):
        module = ModuleType("somebodys_neighbour")
        exec(code, module.__dict__)
        return module

    codes = "def f(): return 1", "def f(): return 2", "def f(): return 1\ndef unused(): return 3"
    first, other, same = (fingerprint(_using(weights=neighbour(code))) for code in codes)
    assert first == same != other


def _using(weights):
    """A policy whose code uses what is called `weights`, and `f` of it."""
    space = {"__name__": "somebodys_module", "weights": weights}
    exec("class Mine(tuple):\n    def plan(self): return weights.f()", space)
    return space["Mine"]()


def test_any_edit_shows():
    edits = [{"factor": 5}, {"deep": 6}, {"constant": 7}, {"operator": "-"}, {"offset": 9}]
    prints = {fingerprint(mine(**edit)) for edit in [{}, *edits]}
    assert len(prints) == len(edits) + 1


def test_a_class_inside_of_others_is_seen():
    outer = lb.Stationary([lb.Bernoulli(0.5), lb.Dirac(1.0)])
    outer.extra = [mine()]
    changed = lb.Stationary([lb.Bernoulli(0.5), lb.Dirac(1.0)])
    changed.extra = [mine(deep=8)]
    assert "" != fingerprint(outer) != fingerprint(changed)


def test_functions_that_call_themselves_end():
    @kernel
    def even(n):
        return n == 0 or odd(n - 1)

    @kernel
    def odd(n):
        return n != 0 and even(n - 1)

    class Circular(NamedTuple):
        n: int = 0

        def plan(self, s: SimpleNamespace) -> bool:
            return bool(even(self.n))

    assert fingerprint(Circular()) != ""
