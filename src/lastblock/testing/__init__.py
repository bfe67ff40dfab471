"""The conformance suite: check a policy, a change detector or an arm family of your own. ::

    import lastblock.testing

    lastblock.testing.check_policy(MyPolicy())        # raises an AssertionError, or nothing
    lastblock.testing.check_detector(MyDetector())
    lastblock.testing.check_family(MyArm(0.5))

All checks run, and the error names every one that failed and says what was seen. In a test suite,
make each check a test of its own::

    import pytest
    from lastblock.testing import policy_checks

    @pytest.mark.parametrize("check", policy_checks(*MyPolicy.examples()), ids=str)
    def test_my_policy(check):
        check()

The checks by name are `POLICY_CHECKS`, `DETECTOR_CHECKS` and `FAMILY_CHECKS`; the first line of a
check's docstring says what it asks for. Seeds are fixed: a check that passes, passes again. Nothing
here needs a test runner.
"""

from lastblock.testing.detectors import DETECTOR_CHECKS, check_detector, detector_checks
from lastblock.testing.families import FAMILY_CHECKS, check_family, family_checks
from lastblock.testing.policies import POLICY_CHECKS, check_policy, policy_checks
from lastblock.testing.suite import Check

__all__ = [
    "DETECTOR_CHECKS",
    "FAMILY_CHECKS",
    "POLICY_CHECKS",
    "Check",
    "check_detector",
    "check_family",
    "check_policy",
    "detector_checks",
    "family_checks",
    "policy_checks",
]
