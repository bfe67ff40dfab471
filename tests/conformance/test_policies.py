"""Every policy meets every check, with the parameters of its `examples`.

Examples that differ in numbers alone, and so have the same record and the same compiled code, meet
some checks as trials only: those of what a live bandit does with any policy. What hardly depends on
the policy is tried with ten policies in `make test`, and with all as a trial.
"""

import pytest

import lastblock as lb
from lastblock.core.layout import state_dtype
from lastblock.testing import POLICY_CHECKS, worlds
from lastblock.testing.reproducible import exact_traces, expect_same_trace
from lastblock.testing.without_jit import work_without_jit
from processes import once_for_all_workers
from trials import QUICK_POLICIES, trial

EXAMPLES = [example for cls in lb.POLICIES.values() for example in cls.examples()]
# A process a policy would be slow: one serves all, below.
CHECKS = {name: check for name, check in POLICY_CHECKS.items() if name != "jit_changes_nothing"}

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

pytestmark = pytest.mark.usefixtures("shared_records")


def types_of(value):
    """The types of a policy's parameters, and of those of the policies within it."""
    inner = value if hasattr(value, "_fields") else ()
    return type(value), *map(types_of, inner)


def cases():
    """Every example with every check."""
    known = set()
    for example in EXAMPLES:
        kind = types_of(example), state_dtype(example, worlds.ARMS, worlds.HORIZON)
        for name, check in CHECKS.items():
            is_repeated = kind in known and name in OF_ANY_POLICY
            is_rare = name in OF_FEW_POLICIES and type(example).__name__ not in QUICK_POLICIES
            marks = [trial] if is_repeated or is_rare else []
            yield pytest.param(example, check, id=f"{example!r}-{name}", marks=marks)
        known.add(kind)


def test_checks_for_trials_are_checks():
    assert set(CHECKS) >= OF_ANY_POLICY | OF_FEW_POLICIES


@pytest.mark.parametrize(("policy", "check"), list(cases()))
def test_policy(policy, check):
    check(policy)


@pytest.fixture(scope="session")
def without_jit(tmp_path_factory):
    def play():
        return work_without_jit(exact_traces, EXAMPLES)

    played = once_for_all_workers(tmp_path_factory, "played_without_jit", play)
    return dict(zip(map(repr, EXAMPLES), played, strict=True))


@pytest.mark.parametrize("policy", EXAMPLES, ids=repr)
def test_jit_changes_nothing(policy, without_jit):
    expect_same_trace(exact_traces([policy])[0], without_jit[repr(policy)])


@pytest.mark.parametrize("cls", lb.POLICIES.values(), ids=lambda cls: cls.__name__)
def test_declarations(cls):
    assert cls.examples()
    assert all(isinstance(example, cls) for example in cls.examples())
    for name in ("shift_invariant", "scale_invariant", "grows"):
        assert all(isinstance(getattr(example, name), bool) for example in cls.examples())
