"""Policies, detectors and arms with one mistake each, and the checks that must find it.

Run without the JIT, in a process of its own: compiling them all would take minutes. Prints what was
found as JSON.
"""

import json

import arm_mutants
import detector_mutants
import policy_mutants

import lastblock as lb
from lastblock import testing


def escaped(checks, mutants):
    """The mutants that a check which should find them lets pass, and what the others are told."""
    passed, told = [], {}
    for subject, names in mutants:
        for name in names:
            try:
                checks[name](subject)
            except Exception as error:
                told[f"{type(subject).__name__}-{name}"] = f"{type(error).__name__}: {error}"
            else:
                passed.append(f"{type(subject).__name__}-{name}")
    return passed, told


def complaint(check, subject, **options):
    """What a whole run of the checks says."""
    try:
        check(subject, **options)
    except AssertionError as error:
        return str(error)
    return None


def main():
    found = {
        "policies": escaped(testing.POLICY_CHECKS, policy_mutants.POLICIES),
        "detectors": escaped(testing.DETECTOR_CHECKS, detector_mutants.DETECTORS),
        "arms": escaped(testing.FAMILY_CHECKS, arm_mutants.ARMS),
        "sound": [
            complaint(testing.check_policy, policy_mutants.SOUND),
            complaint(testing.check_detector, detector_mutants.SOUND),
            complaint(testing.check_family, arm_mutants.SOUND),
        ],
        "all": complaint(testing.check_detector, lb.DETECTORS["LazyReset"]()),
        "skipped": complaint(
            testing.check_detector,
            lb.DETECTORS["Blind"](),
            skip=["a_clear_change_is_noticed", "it_restarts_a_policy"],
        ),
    }
    print(json.dumps(found))


if __name__ == "__main__":
    main()
