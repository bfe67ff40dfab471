"""The shipped conformance suite itself: what it finds, how it says so, and how it is called."""

import json
import re
from pathlib import Path
from typing import NamedTuple
from unittest import mock

import numpy as np
import pytest

import lastblock as lb
from lastblock import kit, testing
from lastblock.kernels import jit
from lastblock.testing import expectations
from lastblock.testing.suite import Check, run_all
from processes import run_python

HERE = Path(__file__).parent


@pytest.fixture(scope="module")
def found():
    done = run_python(HERE / "mutants.py", NUMBA_DISABLE_JIT=1)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


@pytest.mark.parametrize("kind", ["policies", "detectors", "arms"])
def test_every_mistake_is_found(found, kind):
    escaped, told = found[kind]
    assert escaped == []
    assert all(message.partition(": ")[2] for message in told.values())


@pytest.mark.parametrize(
    ("kind", "checks"),
    [
        ("policies", testing.POLICY_CHECKS),
        ("detectors", testing.DETECTOR_CHECKS),
        ("arms", testing.FAMILY_CHECKS),
    ],
)
def test_every_check_finds_a_mistake(found, kind, checks):
    caught = {name.partition("-")[2] for name in found[kind][1]}
    # Bad rewards are refused before a policy sees them, and the mutants are not compiled.
    missing = {"bad_rewards_change_nothing", "compiling_in_the_middle_changes_nothing"}
    assert set(checks) - caught <= missing


class Rounding(NamedTuple):
    """Pulls the arms in turn, and computes what compiled code computes otherwise."""

    unused: float = 0.0

    def layout(self, arms, horizon):
        return [("seen", np.int64)]

    def start(self, s):
        s.seen = 0
        kit.enqueue_all(s)

    def plan(self, s):
        kit.enqueue(s, s.round % s.arms)

    def observe(self, s, arm, reward):
        s.seen += np.float32(0.1) * 3 > 0.3  # compiled code computes this in double precision


@pytest.mark.skipif(jit.DISABLED, reason="nothing is compiled")
def test_compiled_code_that_differs_from_python_is_found():
    check = testing.POLICY_CHECKS["compiling_in_the_middle_changes_nothing"]
    with mock.patch.dict(lb.POLICIES):
        policy = lb.policy()(Rounding)()
        with pytest.raises(AssertionError, match="plain Python and compiled code have different"):
            check(policy)


def test_what_is_sound_passes(found):
    assert found["sound"] == [None, None, None]


def test_all_failures_are_named_with_what_was_seen(found):
    head, *lines = found["all"].split("\n- ")
    assert head == "LazyReset(zeros=8) fails 2 of 7 checks"
    assert [line.partition(":")[0] for line in lines] == [
        "reset_sets_what_it_reads",
        "it_restarts_a_policy",
    ]
    assert "start() does not set detector.size, detector.old, detector.new" in lines[1]
    assert found["skipped"] is None


def test_checks_by_name():
    checks = testing.policy_checks(lb.UCB1(), lb.UCB1(scale=0.5), skip=["jit_changes_nothing"])
    assert len(checks) == 2 * (len(testing.POLICY_CHECKS) - 1)
    assert len({str(check) for check in checks}) == len(checks)
    assert str(checks[-1]) == f"UCB1(scale=0.5)-{list(testing.POLICY_CHECKS)[-1]}"
    assert repr(checks[-1]) == f"<Check {checks[-1]}>"
    assert {check.name for check in checks} == set(testing.POLICY_CHECKS) - {"jit_changes_nothing"}


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: testing.check_policy(lb.UCB1), "policy=UCB1 is a class; give an instance"),
        (lambda: testing.check_policy(3), "policy=3 is not a policy"),
        (lambda: testing.check_detector(lb.UCB1()), "is not a change detector"),
        (lambda: testing.check_family(lb.UCB1()), "is not an arm"),
        (
            lambda: testing.policy_checks(lb.UCB1(), skip=["jit_change_nothing"]),
            "there is no check 'jit_change_nothing'; did you mean 'jit_changes_nothing'?",
        ),
        (lambda: testing.family_checks(skip=["zzz"]), "the checks are samples_match_the_mean, "),
    ],
)
def test_what_cannot_be_checked(call, message):
    with pytest.raises(ValueError, match=re.escape(message)):
        call()


def test_one_check_names_itself():
    check = Check("likes_me", 3, lambda subject: expectations.fail(f"{subject} does not"))
    with pytest.raises(AssertionError, match=r"^likes_me: 3 does not$"):
        check()


def test_equal_failures_share_an_entry():
    def bad(subject):
        raise TypeError("x" * 5000)

    checks = [Check("a", 3, bad), Check("b", 3, print), Check("c", 3, bad)]
    with pytest.raises(AssertionError) as error:
        run_all(checks, progress=None)
    text = str(error.value)
    assert text.startswith("3 fails 2 of 3 checks\n- a, c: TypeError: xxx")
    assert len(text) < 2100
    assert isinstance(error.value.__cause__, TypeError)


@pytest.mark.parametrize(
    ("seen", "expected", "message"),
    [
        ([1, 2, 3], [1, 5, 3], "arms: first difference at 1, 2 instead of 5"),
        ([1, 2], [1, 2, 3], "arms: 2 instead of 3"),
    ],
)
def test_where_two_runs_differ(seen, expected, message):
    with pytest.raises(AssertionError, match=f"^{message}$"):
        expectations.expect_same("arms", seen, expected)
    expectations.expect_same("arms", seen, seen)


def test_an_error_must_be_the_right_one():
    def refuse(error):
        raise error

    expectations.expect_value_error("x", lambda: refuse(ValueError("x=3 is wrong")), "x=3")
    for action, message in [
        (lambda: None, "accepted; it must raise a ValueError that mentions 'x=3'"),
        (lambda: refuse(ValueError("no")), "does not mention 'x=3', it says 'no'"),
        (lambda: refuse(KeyError("x=3")), "raised KeyError instead of a ValueError"),
    ]:
        with pytest.raises(AssertionError, match=message):
            expectations.expect_value_error("x", action, "x=3")


def test_a_class_without_a_file():
    class Homeless(NamedTuple):
        zeros: int = 1

    Homeless.__module__ = "nowhere"
    with pytest.raises(AssertionError, match="Homeless is defined in 'nowhere', which has no file"):
        testing.DETECTOR_CHECKS["jit_changes_nothing"](Homeless())


SCRIPT = """
from typing import NamedTuple
import lastblock as lb
from lastblock.kit import family, to_unit

@family()
class Own(NamedTuple):
    mean: float
    def parameters(self):
        return (self.mean,)
    @staticmethod
    def draw(a, b, c, d, table, at, word, scratch):
        return 2.0 * a * to_unit(word)

"""
CALL = "lb.testing.check_family(Own(3.0))\nprint('sound')\n"


def test_in_a_script(tmp_path):
    """The second process imports the script from its file, under another name."""
    script = tmp_path / "script.py"
    script.write_text(
        f"{SCRIPT}if __name__ == '__main__':\n    {CALL.replace(chr(10), chr(10) + '    ')}"
    )
    done = run_python(str(script), NUMBA_DISABLE_JIT="1")
    assert done.stdout == "sound\n", done.stderr


def test_in_a_script_that_runs_when_it_is_imported(tmp_path):
    script = tmp_path / "script.py"
    script.write_text(SCRIPT + CALL)
    done = run_python(str(script), NUMBA_DISABLE_JIT="1")
    assert done.returncode == 1
    assert "put the call into a function, or under: if __name__ == '__main__':" in done.stderr
