"""Mistakes in a user's own policy, detector or arm family: an error that says where, no crash."""

import json
import sys
from pathlib import Path
from unittest import mock

import pytest

import lastblock as lb
from lastblock.core.layout import layout_id, record_of
from lastblock.kernels.background import compiling
from processes import run_python
from trials import trial

sys.path.insert(0, str(Path(__file__).parent))  # as a user's own folder would be
# The import registers classes, which other tests must not find; `registered` does it again.
with mock.patch.dict(lb.POLICIES), mock.patch.dict(lb.DETECTORS), mock.patch.dict(lb.FAMILIES):
    from wrong_policies import (
        ARMS,
        ENVIRONMENT,
        LATE,
        MISTAKES,
        NUMBERS,
        Wrong,
        WrongArm,
        WrongDetector,
        all_messages,
        live,
        messages_of_master,
        simulated,
    )


@pytest.fixture(autouse=True, scope="module")
def registered():
    with (
        mock.patch.dict(lb.POLICIES, Wrong=Wrong),
        mock.patch.dict(lb.DETECTORS, WrongDetector=WrongDetector),
        mock.patch.dict(lb.FAMILIES, WrongArm=WrongArm),
    ):
        yield


UNUSED = {"full reads outside"}  # a simulation and a fleet of this policy never ask whether full


@pytest.fixture(scope="module")
def plain():
    """What a process with the JIT off says."""
    done = run_python(Path(__file__).with_name("wrong_policies.py"), NUMBA_DISABLE_JIT=1)
    assert done.returncode == 0, done.stderr
    return [json.loads(line) for line in done.stdout.splitlines()]


@pytest.fixture(scope="module")
def compiled():
    return all_messages()


def check_message(mistake, message):
    method, what = MISTAKES[mistake]
    assert message is not None
    assert message.startswith(f"Wrong.{method} (")
    where, _, said = message.partition("): ")
    assert f"round {1 if method == 'start' else LATE}" in where
    assert what in said.replace("an index is", "index is").replace(" 3 is out", " is out") or (
        "out of bounds" in what and "is out of bounds" in said
    )
    assert "\n" not in message


@pytest.mark.parametrize("mistake", MISTAKES)
@pytest.mark.parametrize("jit", ["compiled", "plain"])
def test_every_mistake_has_an_error_with_its_method_and_round(request, jit, mistake):
    found = request.getfixturevalue(jit)
    simulated, lived, in_fleet, undone = (found if jit == "compiled" else found[0][0])[mistake]
    check_message(mistake, lived)
    assert undone, "the live bandit's state is not what it was before the call"
    if mistake in UNUSED:
        assert (simulated, in_fleet) == (None, None)
        return
    check_message(mistake, simulated)
    check_message(mistake, in_fleet)
    if MISTAKES[mistake][0] == "observe":
        assert "(arm " in simulated
        assert "(arm " in lived


@pytest.mark.parametrize("mistake", MISTAKES)
def test_a_replay_says_the_same(plain, mistake):
    check_message(mistake, plain[0][1][mistake])


@pytest.mark.parametrize("jit", ["compiled", "plain"])
def test_detectors_arms_and_wrapped_policies(request, jit):
    found = request.getfixturevalue(jit)
    found = found if jit == "compiled" else found[0][0]
    assert found["detector 0"] == found["arm 0"] == [None]
    assert found["detector 1"][0].startswith("WrongDetector.notice (arm ")
    assert "round 5" in found["detector 1"][0]
    assert found["detector 2"][0].startswith("WrongDetector.reset (round 1")
    for number, what in [(1, "out of bounds"), (2, "finite"), (3, "support")]:
        assert found[f"arm {number}"][0].startswith("WrongArm.draw (arm 1, round ")
        assert what in found[f"arm {number}"][0]
    assert found["inside"][0].startswith("Wrong.plan (round 5): no arm is queued")


@pytest.mark.parametrize("jit", [pytest.param("compiled", marks=trial), "plain"])
def test_inside_of_master_a_policy_is_told_what_it_is_told_alone(plain, jit):
    found = plain[2] if jit == "plain" else messages_of_master()
    for mistake, message in found.items():
        check_message(mistake, message)


def test_our_own_policies_keep_the_rules_and_are_the_same_when_checked(plain):
    assert plain[1] == []


def test_a_sound_policy_is_not_disturbed():
    assert simulated(Wrong()) is None
    assert live(Wrong()) == live(Wrong(), compiled=False) == (None, True)


@pytest.mark.parametrize("mistake", MISTAKES)
def test_a_bandit_that_is_not_compiled_yet_says_the_same(mistake):
    with compiling("never"):
        message, undone = live(Wrong(NUMBERS[mistake]), compiled=False)
    check_message(mistake, message)
    assert "wrong_policies.py:" in message or "queued" in message
    assert undone


def test_checks_cost_no_byte_and_our_own_policies_nothing():
    checked = record_of(Wrong(), ARMS, None)
    assert "checked" in (checked.names or ())
    assert "checked" not in (record_of(lb.UCB1(), ARMS, None).names or ())
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Wrong, "_is_checked", False)
        unchecked = record_of(Wrong(), ARMS, None)
        assert "checked" not in (unchecked.names or ())
        assert unchecked.itemsize == checked.itemsize
        assert layout_id(unchecked) == layout_id(checked)  # so states can be loaded either way
        same = [
            lb.simulate(Wrong(), ENVIRONMENT, horizon=50, seed=1).regret.tobytes(),
        ]
    same.append(lb.simulate(Wrong(), ENVIRONMENT, horizon=50, seed=1).regret.tobytes())
    assert same[0] == same[1]


def test_the_conformance_suite_checks_also_what_is_switched_off():
    wrong = Wrong(NUMBERS["plan queues nothing"])
    check = lb.testing.policy_checks(wrong)[0]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Wrong, "_is_checked", False)
        with pytest.raises(
            AssertionError, match=r"every_round_can_be_played: Wrong.plan \(round 5"
        ):
            check()
        assert Wrong._is_checked is False
