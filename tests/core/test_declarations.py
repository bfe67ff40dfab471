"""Mistakes that are seen when a class is declared, or before it is compiled: what was meant."""

import dataclasses
import os
import re
import sys
from typing import NamedTuple
from unittest import mock

import numpy as np
import pytest

import lastblock as lb
from lastblock.cli.program import main
from lastblock.core.compile_errors import explain_compile_error
from lastblock.kit import detector, enqueue_all, family, policy
from processes import run_python

SOUND = """
from typing import NamedTuple
import numpy as np
from lastblock.kit import argmax, below, enqueue, enqueue_all, kernel, policy, shuffle

@kernel
def helper(s):
    return s.sums[0]

@policy()
class Own(NamedTuple):
    exploration: int = 100

    def layout(self, arms, horizon):
        return [("sums", np.float64, (arms,)), ("pulls", np.int64, (arms,))]

    def start(self, s):
        enqueue_all(s)

    def plan(self, s):
        if s.round <= self.exploration:
            enqueue(s, below(s.stream, s.arms))
        else:
            enqueue(s, np.argmax(s.sums))

    def observe(self, s, arm, reward):
        s.sums[arm] += reward + helper(s)
        s.pulls[arm] += 1
"""
ENVIRONMENT = lb.Stationary([lb.Bernoulli(0.4), lb.Bernoulli(0.6)])


def written(tmp_path, name, old, new):
    """A module with one mistake, where it is, and the registry without it afterwards."""
    text = SOUND.replace(old, new)
    assert text != SOUND
    path = tmp_path / f"{name}.py"
    path.write_text(text)
    line = next(i for i, row in enumerate(text.splitlines(), 1) if new in row)
    return path, line


MISTAKES = """
s.sums[arm] += | s.sum[arm] += | Own.observe: its record has no field 'sum' | did you mean 'sums'?
s.pulls[arm] += 1 | s.pull = 1 | Own.observe: its record has no field 'pull' | mean 'pulls'?
self.exploration: | self.explration: | Own.plan: Own has no parameter 'explra | mean 'exploration'?
enqueue_all(s) | enqueue_al(s) | Own.start: the name 'enqueue_al' is not defined | 'enqueue_all'?
np.argmax(s.sums) | np.argmx(s.sums) | Own.plan: there is no np.argmx | did you mean 'argmax'?
s.sums[0] | s.summs[0] | Own cannot be compiled: its record has no field 'summs' | 'sums'?
s.pulls[arm] += 1 | s.pulls[arm] += len(s) | Own.observe cannot be compiled: | function len found
enqueue(s, np.argmax(s.sums)) | enqueue(s, s.sums[0]) | Own.plan cannot be | not a float64
"""
"""What stands there, what is written instead, what the message says after the place, and a hint."""


@pytest.mark.parametrize("case", MISTAKES.strip().splitlines())
def test_a_mistake_is_one_line_with_file_and_line(tmp_path, monkeypatch, case):
    old, new, message, hint = case.split(" | ")
    path, line = written(tmp_path, f"own_{abs(hash(case))}", old, new)
    monkeypatch.syspath_prepend(tmp_path)
    with mock.patch.dict(lb.POLICIES):
        own = __import__(path.stem).Own
        with pytest.raises(lb.PolicyError) as error:
            lb.simulate(own(), ENVIRONMENT, horizon=10, seed=1)
    said = str(error.value)
    assert said.startswith(f"{path}:{line}: {message}")
    assert hint in said
    assert "\n" not in said
    assert len(said) < 400 + len(str(path))


def test_the_command_says_one_line_and_the_rest_on_demand(tmp_path, capsys, monkeypatch):
    path, line = written(tmp_path, "own_cli", "s.pulls[arm] += 1", "s.pulls[arm] += len(s)")
    scenario = tmp_path / "own.toml"
    scenario.write_text(
        'name = "own"\nhorizon = 20\nreplications = 2\nimports = ["own_cli.py"]\n'
        '[[arms]]\nfamily = "Bernoulli"\nmean = 0.4\n[[arms]]\nfamily = "Bernoulli"\nmean = 0.6\n'
        '[[policies]]\npolicy = "Own"\n'
    )
    monkeypatch.chdir(tmp_path)
    with mock.patch.dict(lb.POLICIES):
        assert main(["run", "own.toml", "--out", "results"]) == 2
        out = capsys.readouterr()
        last = out.err.strip().splitlines()[-1]
        assert last.startswith(f"lastblock: error: {path.name}:{line}: Own.observe cannot be")
        assert "Traceback" not in out.err
        assert main(["run", "own.toml", "--out", "results", "--traceback"]) == 2
    assert "numba.core.errors.TypingError" in capsys.readouterr().err


def test_an_error_without_a_place_names_the_class():
    class Own(NamedTuple):
        x: int = 1

    said = str(explain_compile_error(RuntimeError("out of registers"), [Own]))
    assert said == "Own cannot be compiled: out of registers"


@pytest.mark.parametrize(
    ("decorate", "word"), [(policy, "policy"), (detector, "detector"), (family, "family")]
)
def test_forgotten_parentheses_and_dataclasses(decorate, word):
    class Plain:
        x: int = 1

    with pytest.raises(TypeError, match=rf"^write @{word}\(\) above class Plain: the"):
        decorate(Plain)
    with pytest.raises(TypeError, match=r"^Plain is not a NamedTuple, .*: write class Plain"):
        decorate()(Plain)
    with pytest.raises(TypeError, match=r"^Plain is a dataclass, .*: leave out @dataclass"):
        decorate()(dataclasses.dataclass(Plain))


class Bare(NamedTuple):
    """All that a policy needs."""

    x: int = 1

    def layout(self, arms, horizon):
        return [("sums", np.float64, (arms,))]

    def start(self, s):
        enqueue_all(s)

    def plan(self, s):
        enqueue_all(s)

    def observe(self, s, arm, reward):
        s.sums[arm] += reward


def variant(**changes):
    return type("Variant", (Bare,), {"__module__": __name__, "__slots__": (), **changes})


METHODS = [
    ({"plan": None}, "Variant has no method plan; add def plan(self, s):"),
    ({"observe": None, "obseve": print}, "no method observe; did you mean observe by obseve?"),
    (
        {"plan": lambda self, state: None},
        "plan(self, state): write def plan(self, s): names",
    ),
    ({"full": lambda self, s: False}, "Variant.full(self, s): write def full(self, s, arm):"),
    ({"explain": lambda self: None}, "Variant.explain(self): write def explain(self, s):"),
]


@pytest.mark.parametrize(("changes", "message"), METHODS)
def test_methods_and_their_arguments(changes, message):
    with pytest.raises(TypeError, match=re.escape(message)):
        policy()(variant(**changes))


@pytest.mark.parametrize(
    ("layout", "message"),
    [
        (None, "Variant.layout must return a list of fields, such as"),
        ([("sums",)], "('sums',) is not a field"),
        ([("queue", np.int64)], "'queue' is the name of the engine's field; choose another"),
        ([("a", np.int64), ("a", np.int64)], "'a' is the name of another field; choose another"),
        ([("a", str)], "'a' has the type <U0; fields are numbers"),
        ([("a", "flaot")], "'a' has no numpy type but 'flaot'"),
        ([("a b", np.int64)], "('a b', <class 'numpy.int64'>) is not a field"),
    ],
)
def test_layouts(layout, message):
    with mock.patch.dict(lb.POLICIES):
        own = policy()(variant(layout=lambda self, arms, horizon: layout))
        with pytest.raises(lb.PolicyError, match=re.escape(message)):
            lb.simulate(own(), ENVIRONMENT, horizon=10)


CALLS = """
lb.EpsilonGreedy(epsilom=0.1) | EpsilonGreedy has no parameter 'epsilom'; did you mean 'epsilon'?
lb.Bernoulli(men=0.5) | Bernoulli has no parameter 'men'; did you mean 'mean'?
lb.SWLBSDA() | SWLBSDA needs window: SWLBSDA(window
lb.Bernoulli(0.1, 0.2) | Bernoulli takes 1 parameters, not 2: Bernoulli(mean)
lb.UCB1()._replace(scael=1.0) | scael
"""


@pytest.mark.parametrize("case", CALLS.strip().splitlines())
def test_parameters(case):
    call, message = case.split(" | ")
    with pytest.raises((TypeError, ValueError), match=re.escape(message)):
        eval(call, {"lb": lb})


def test_a_misspelt_field_with_the_jit_off(tmp_path):
    """Also of a name that numpy's records have: `sum`."""
    written(tmp_path, "own_plain", "return s.sums[0]", "return s.sum[0]")
    run = "import lastblock as lb; from own_plain import Own; " + (
        "lb.simulate(Own(), lb.Stationary([lb.Bernoulli(0.4)] * 2), horizon=10)"
    )
    path = os.pathsep.join([str(tmp_path), *filter(None, sys.path)])
    done = run_python("-c", run, NUMBA_DISABLE_JIT=1, PYTHONPATH=path)
    last = done.stderr.strip().splitlines()[-1]
    assert "PolicyError: Own.observe (arm " in last
    assert last.endswith("the record has no field 'sum'; did you mean 'sums'?")
