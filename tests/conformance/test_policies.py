"""Every policy meets every check, with the parameters of its `examples`.

Examples that differ in numbers alone, and so have the same record and the same compiled code, meet
some checks as trials only: those of what a live bandit does with any policy. What hardly depends on
the policy is tried with three policies in `make test`, and with all as a trial.
"""

import pytest

import lastblock as lb
from lastblock.core.layout import state_dtype
from lastblock.testing import POLICY_CHECKS, check_policy, worlds
from lastblock.testing.reproducible import exact_traces, expect_same_trace
from lastblock.testing.without_jit import work_without_jit
from processes import once_for_all_workers
from trials import trial

EXAMPLES = [example for cls in lb.POLICIES.values() for example in cls.examples()]
JIT = "jit_changes_nothing"  # a process a policy would be slow: one serves all, below

OF_ANY_POLICY = {
    "a_forced_arm_is_taken_in",
    "a_store_takes_tokens_again_and_again",
    "absent_arms_are_as_if_retired",
    "arms_come_and_go",
    "decisions_of_others_are_learnt",
    "paused_arms_are_not_taken",
    "room_changes_no_decision",
    "state_is_bounded",
    "words_come_for_every_policy",
}

OF_FEW_POLICIES = {
    "a_store_takes_tokens_again_and_again",  # the store's own tests try all but the policy
    "compiling_in_the_middle_changes_nothing",  # for which each policy is compiled once more
    "paused_arms_are_not_taken",  # `absent_arms_are_as_if_retired` leaves arms out of each policy
}
FEW = lb.LBSDAGM, lb.KLUCB, lb.Restarting


def types_of(value):
    """The types of a policy's parameters, and of those of the policies within it."""
    inner = value if hasattr(value, "_fields") else ()
    return type(value), *map(types_of, inner)


def cases():
    """Every example with the checks that it leaves out; a trial has those instead."""
    known = set()
    for example in EXAMPLES:
        kind = types_of(example), state_dtype(example, worlds.ARMS, worlds.HORIZON)
        left_out = OF_ANY_POLICY if kind in known else set()
        left_out = left_out | (set() if isinstance(example, FEW) else OF_FEW_POLICIES)
        yield pytest.param(example, {JIT} | left_out, id=repr(example))
        if left_out:
            others = POLICY_CHECKS.keys() - left_out
            yield pytest.param(example, others, id=f"{example!r}-more", marks=trial)
        known.add(kind)


@pytest.mark.parametrize(("policy", "skip"), list(cases()))
def test_policy(policy, skip):
    check_policy(policy, skip=skip, progress=False)


@pytest.fixture(scope="session")
def without_jit(tmp_path_factory):
    def play():
        return work_without_jit(exact_traces, EXAMPLES)

    played = once_for_all_workers(tmp_path_factory, "played_without_jit", play)
    return dict(zip(map(repr, EXAMPLES), played, strict=True))


@pytest.mark.parametrize("cls", lb.POLICIES.values(), ids=lambda cls: cls.__name__)
def test_jit_changes_nothing(cls, without_jit):
    assert cls.examples()
    for policy in cls.examples():
        assert isinstance(policy, cls)
        expect_same_trace(exact_traces([policy])[0], without_jit[repr(policy)])
