"""Every policy meets every check, with the parameters of its `examples`."""

import pytest

import lastblock as lb
from lastblock.testing import POLICY_CHECKS
from lastblock.testing.reproducible import exact_traces, expect_same_trace
from lastblock.testing.without_jit import work_without_jit
from processes import once_for_all_workers

EXAMPLES = [example for cls in lb.POLICIES.values() for example in cls.examples()]
# A process a policy would be slow: one serves all, below.
CHECKS = {name: check for name, check in POLICY_CHECKS.items() if name != "jit_changes_nothing"}

pytestmark = pytest.mark.usefixtures("shared_records")


@pytest.mark.parametrize("check", CHECKS.values(), ids=CHECKS)
@pytest.mark.parametrize("policy", EXAMPLES, ids=repr)
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
