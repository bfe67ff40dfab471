"""Every policy meets every check, with the parameters of its `examples`."""

import pytest

import lastblock as lb
from conformance import checks

EXAMPLES = [example for cls in lb.POLICIES.values() for example in cls.examples()]
# A process a policy would be slow: one serves all, below.
CHECKS = [check for check in checks.CHECKS if check is not checks.check_jit_changes_nothing]


@pytest.mark.parametrize("check", CHECKS, ids=lambda check: check.__name__.removeprefix("check_"))
@pytest.mark.parametrize("policy", EXAMPLES, ids=repr)
def test_policy(policy, check):
    check(policy)


@pytest.fixture(scope="session")
def without_jit():
    return dict(zip(map(repr, EXAMPLES), checks.traces_without_jit(EXAMPLES), strict=True))


@pytest.mark.parametrize("policy", EXAMPLES, ids=repr)
def test_jit_changes_nothing(policy, without_jit):
    assert checks.exact_traces([policy]) == [without_jit[repr(policy)]]


@pytest.mark.parametrize("cls", lb.POLICIES.values(), ids=lambda cls: cls.__name__)
def test_declarations(cls):
    assert cls.examples()
    assert all(isinstance(example, cls) for example in cls.examples())
    for name in ("shift_invariant", "scale_invariant", "grows"):
        assert isinstance(getattr(cls, name), bool)
