"""Code is compiled ahead, in several processes, and found by every later process."""

import pytest

import lastblock as lb
from lastblock.kernels.background import compiling
from lastblock.kernels.jit import DISABLED
from lastblock.live import warming
from processes import run_python

POLICY = lb.EpsilonGreedy()  # quick to compile, and compiled for these rooms by other tests

pytestmark = pytest.mark.skipif(DISABLED, reason="nothing is compiled")


def test_what_is_compiled_ahead_is_found_by_a_new_process():
    lb.warm(POLICY, 3)
    program = """
import numba.core.compiler as compiler
import lastblock as lb

def refuse(*_, **__):
    raise AssertionError("this compiles")

compiler.compile_extra = refuse
(row,) = lb.warm(lb.EpsilonGreedy(), 4)
assert row.was_there and row.seconds == 0.0
bandit = lb.Bandit(lb.EpsilonGreedy(), ["a", "b", "c"], seed=1)
assert bandit.is_compiled
print(bandit.ask().arm)
"""
    done = run_python("-c", program)
    assert (done.returncode, done.stdout.strip() in [*"abc"]) == (0, True), done.stderr


def test_a_bandit_is_compiled_from_the_start():
    done = lb.warm([POLICY, lb.EpsilonGreedy(0.3)], rooms=(3, 4))
    assert [(row.policy, row.room) for row in done] == [(POLICY, 4), (lb.EpsilonGreedy(0.3), 4)]
    with compiling("soon"):
        assert lb.Bandit(POLICY, 3).is_compiled
        assert lb.Bandit(lb.EpsilonGreedy(0.2), 4).is_compiled


@pytest.fixture
def pretended(monkeypatch):
    """Code that nobody compiles; the pretended cache, by class and room."""
    kept = set()
    code = warming.LiveCode

    def key(self):
        return type(self.policy).__name__, self.room, self.floors

    monkeypatch.setattr(code, "compile", lambda self: kept.add(key(self)))
    monkeypatch.setattr(code, "is_kept", lambda self: key(self) in kept)
    monkeypatch.setattr(code, "signature", property(key))
    return kept


def test_the_table_says_what_was_there(pretended, capsys):
    pretended.add(("UCB1", 4, False))
    done = lb.warm([lb.UCB1(), lb.Thompson()], rooms=[5, 4], processes=1, progress=True)
    assert [row[1:3] for row in done] == [(4, True), (8, False), (4, False), (8, False)]
    lines = str(done).splitlines()
    assert lines[0].split() == ["policy", "room", "code"]
    assert lines[1].split() == ["UCB1()", "4", "was", "there"]
    assert "compiled in 0.0 s" in lines[2]
    assert "0/3" in capsys.readouterr().err
    assert all(row.was_there for row in lb.warm([lb.UCB1(), lb.Thompson()], rooms=[5, 4]))


def test_policies_that_share_code_are_compiled_once(pretended):
    done = lb.warm([lb.UCB1(), lb.UCB1(scale=0.5), lb.UCB1()], 4, processes=1, floors=True)
    assert [row.was_there for row in done] == [False, False]
    assert pretended == {("UCB1", 4, True)}


def test_policies_with_equal_numbers_are_not_the_same(pretended):
    one, other = lb.EpsilonGreedy(0.5, 0.0), lb.PHE(0.5)
    assert len(lb.warm([one, other, one], 4, processes=1)) == 2


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        ({"processes": 0}, "processes=0 must be at least 1"),
        ({"policies": "UCB1"}, r"policy='UCB1' is not a policy; did you mean UCB1\(\)"),
        ({"policies": [lb.UCB1(), 3]}, "policy=3 is not a policy"),
        ({"rooms": 1}, "rooms=1 must be at least 2"),
        ({"policies": lb.SWLBSDA(window=3), "rooms": 8}, "window=3 is too small for 5 arms"),
    ],
)
def test_mistakes(arguments, told, pretended):
    with pytest.raises(ValueError, match=told):
        lb.warm(**{"policies": POLICY, **arguments})
    assert pretended == set()
