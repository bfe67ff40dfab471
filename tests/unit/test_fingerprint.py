"""The code of a user's own classes is part of what determines a chunk."""

from types import SimpleNamespace
from typing import NamedTuple

import lastblock as lb
from lastblock.jit import kernel
from lastblock.lab.fingerprint import fingerprint

BASE = '''
from typing import NamedTuple
from lastblock.jit import kernel

FACTOR = {factor}

def deeper(x):
    return x * FACTOR + {deep}

@kernel
def helper(x):
    return deeper(x) + {constant}

class Mine(NamedTuple):
    """{doc}"""

    level: float = 1.0

    def plan(self, s):
        return helper(s) {operator} self.level
'''


def mine(**changes):
    parts = {"factor": 2, "deep": 3, "constant": 4, "operator": "+", "doc": "A policy."}
    space = {"__name__": "somebodys_module"}
    exec(BASE.format(**{**parts, **changes}), space)
    return space["Mine"]()


def test_the_packages_own_classes_need_none():
    assert fingerprint(lb.LBSDALM(), lb.Stationary([lb.Bernoulli(0.5), lb.Dirac(1.0)])) == ""


def test_the_same_code_is_the_same():
    assert fingerprint(mine()) == fingerprint(mine()) != ""
    assert fingerprint(mine()) == fingerprint(mine(doc="Other words."))


def test_any_edit_shows():
    edits = [{"factor": 5}, {"deep": 6}, {"constant": 7}, {"operator": "-"}]
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
