"""The code of a user's own classes is part of what determines a chunk."""

import hashlib
import importlib
import os
import subprocess
import sys
from types import ModuleType, SimpleNamespace
from typing import NamedTuple

import numpy as np
import pytest

import lastblock as lb
from lastblock.core.layout import state_dtype
from lastblock.core.rounds import enqueue
from lastblock.kernels import provenance
from lastblock.kernels.fingerprint import fingerprint
from lastblock.kernels.jit import kernel

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


POLICY = """
{imports}

class Mine(tuple):
    def plan(self, s):
        return f(s)
"""


def reading(imports):
    """The fingerprint of a policy that calls `f`, which this code defines."""
    space = {"__name__": "somebodys_module"}
    exec(POLICY.format(imports=imports), space)
    return fingerprint(space["Mine"]())


OTHERS = [  # what the name `f` refers to, before and after an edit that leaves the bytecode
    ("from math import sqrt as f", "from math import log as f"),
    ("import numpy as np; f = np.sqrt", "import numpy as np; f = np.log1p"),
    ("f = abs", "f = float"),
    ("f = max", "f = min"),
    (
        "from lastblock.kernels.streams import below as f",
        "from lastblock.kernels.streams import uniform as f",
    ),
    ("import lastblock as lb; f = lb.UCB1", "import lastblock as lb; f = lb.IMED"),
    ("from scipy.special import expit as f", "from scipy.special import logit as f"),
    ("from scipy.stats import skew as f", "from scipy.stats import kurtosis as f"),
    ("from math import sqrt as f", "from cmath import sqrt as f"),
    ("f = str.lower", "f = str.upper"),
    ("f = {1: 2}.get", "f = {1: 3}.get"),
    ("from functools import partial; f = partial(max, 1)", "f = max"),
    (
        "from functools import partial; f = partial(max, 1)",
        "from functools import partial; f = partial(max, 2)",
    ),
    (
        "import functools\n@functools.lru_cache\ndef f(s): return s",
        "import functools\n@functools.lru_cache\ndef f(s): return -s",
    ),
    (
        "def a(s): return 1\ndef b(s): return 2\ndef g(s): return a(s) + b(s)\nf = [g, a]",
        "def a(s): return 1\ndef b(s): return 2\ndef g(s): return a(s) + b(s)\nf = [g, b]",
    ),
    (
        "import functools\nimport numpy as np\n@functools.wraps(np.dot)\ndef f(s): return 1",
        "import functools\nimport numpy as np\n@functools.wraps(np.dot)\ndef f(s): return 2",
    ),
    (
        "from contextlib import contextmanager\n@contextmanager\ndef f(s): yield 1",
        "from contextlib import contextmanager\n@contextmanager\ndef f(s): yield 2",
    ),
    (
        "from numba import njit\n@njit(fastmath=False)\ndef f(s): return s",
        "from numba import njit\n@njit(fastmath=True)\ndef f(s): return s",
    ),
    (
        "class Settings: pass\nf = Settings(); f.rate = 1",
        "class Settings: pass\nf = Settings(); f.rate = 2",
    ),
    (
        "from dataclasses import make_dataclass as m; f = m('S', [('a', int, 1)])",
        "from dataclasses import make_dataclass as m; f = m('S', [('a', int, 2)])",
    ),
    ("import numpy as np; f = np.dtype('f4').type", "import numpy as np; f = np.dtype('f8').type"),
    ("def g(): return 1\nf = {len, g}", "def g(): return 2\nf = {len, g}"),
]


@pytest.mark.parametrize(("before", "after"), OTHERS)
def test_what_a_name_refers_to_shows(before, after):
    assert reading(before) == reading(before) != ""
    assert reading(before) != reading(after)


def test_a_name_means_the_same_in_every_process():
    program = (
        "import scipy.optimize; from test_fingerprint import OTHERS, reading\n"
        "for pair in OTHERS: print(*map(reading, pair))"
    )
    told = subprocess.run(
        [sys.executable, "-c", program],
        env={**os.environ, "PYTHONHASHSEED": "3"},
        cwd=os.path.dirname(__file__),
        capture_output=True,
        text=True,
        check=True,
    )
    assert told.stdout.splitlines() == [f"{reading(a)} {reading(b)}" for a, b in OTHERS]


def test_a_random_generator_is_known_by_its_kind_alone():
    """Its state comes from the clock, and chunks would be computed again for ever."""
    one, other = "from numpy.random import random as f", "from numpy.random import normal as f"
    fresh = "import numpy as np; f = np.random.default_rng()"
    assert reading(one) == reading(one) != reading(other)
    assert reading(fresh) == reading(fresh)


def test_a_file_of_the_users_may_be_named_like_one_of_pythons(tmp_path, monkeypatch):
    monkeypatch.syspath_prepend(tmp_path)
    prints = set()
    for result in 1, 2:
        (tmp_path / "this.py").write_text(f"def f(s): return {result}" + " " * result)
        monkeypatch.delitem(sys.modules, "this", raising=False)
        prints.add(reading("from this import f"))
    assert len(prints) == 2


def test_what_is_imported_in_a_method_shows(tmp_path, monkeypatch):
    monkeypatch.syspath_prepend(tmp_path)
    prints = set()
    for result in 1, 2:
        (tmp_path / "my_helper.py").write_text(f"def g(s): return {result}" + " " * result)
        monkeypatch.delitem(sys.modules, "my_helper", raising=False)
        prints.add(reading("def f(s):\n    from my_helper import g\n    return g(s)"))
    assert len(prints) == 2


def install(folder, version, code):
    """Put a package into a folder of installed packages, as pip leaves it."""
    module = folder / "somebodys_package.py"
    module.write_text(code)
    about = folder / "somebodys_package.dist-info"
    about.mkdir(exist_ok=True)
    (about / "METADATA").write_text(
        f"Metadata-Version: 2.1\nName: somebodys-package\nVersion: {version}\n"
    )
    digest = hashlib.sha256(code.encode()).hexdigest()
    (about / "RECORD").write_text(f"somebodys_package.py,sha256={digest},{len(code)}\n")


def test_installed_packages_are_known_by_version_and_files(tmp_path, monkeypatch):
    monkeypatch.setattr(provenance, "_site_folders", lambda: (str(tmp_path.resolve()),))
    monkeypatch.syspath_prepend(tmp_path)
    prints = []
    for version, code in [
        ("1.0", "def g(s): return 1\ndef h(s): return 1"),
        ("1.0", "def g(s): return 1\ndef h(s): return 1"),
        ("1.1", "def g(s): return 1\ndef h(s): return 1"),
        ("1.1", "def g(s): return 1\ndef h(s): return 22"),  # installed anew, of the same version
    ]:
        install(tmp_path, version, code)
        monkeypatch.delitem(sys.modules, "somebodys_package", raising=False)
        importlib.invalidate_caches()
        provenance.installed.cache_clear()
        prints.append(reading("from somebodys_package import g as f"))
        assert prints[-1] != reading("from somebodys_package import h as f")
    assert prints[0] == prints[1]
    assert len(set(prints)) == 3
    provenance.installed.cache_clear()


def test_what_belongs_to_a_lock_or_itself_is_no_trouble():
    assert reading("import threading; f = threading.Lock()") != ""
    assert reading("f = []; f.append(f)") != ""
    assert reading("class S: pass\nf = S(); f.f = f") != ""
    assert reading("import logging; f = logging.getLogger('x')") == reading(
        "import logging; f = logging.getLogger('x')"
    )


def test_a_policys_own_use_does_not_change_it():
    """What is compiled or cached in between is not a matter of code."""
    policy, world = Circling(), lb.Stationary([lb.Bernoulli(0.5), lb.Dirac(1.0)])
    before = fingerprint(policy, world)
    world.compile(10)
    state_dtype(policy, 2, 10)
    assert fingerprint(policy, world) == before != ""


@lb.policy()
class Circling(NamedTuple):
    """Every arm in turn."""

    step: int = 1

    def layout(self, arms, horizon):
        return []

    def start(self, s):
        enqueue(s, 0)

    def plan(self, s):
        enqueue(s, s.round % s.arms)

    def observe(self, s, arm, reward):
        pass


del lb.POLICIES["Circling"]  # other tests go through all policies
