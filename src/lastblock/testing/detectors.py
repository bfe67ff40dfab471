"""The checks of a change detector, by name."""

from collections.abc import Callable, Collection, Sequence
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from lastblock.core.failures import specialise
from lastblock.core.layout import record
from lastblock.core.protocol import Detector, States
from lastblock.core.registry import require_detector
from lastblock.kernels.jit import entry
from lastblock.kernels.record_arrays import RecordArray
from lastblock.policies.restarting import Restarting
from lastblock.policies.thompson import Thompson
from lastblock.testing import declared, live_use, reproducible
from lastblock.testing.expectations import expect, expect_same
from lastblock.testing.suite import Check, list_checks, run_all
from lastblock.testing.without_jit import work_without_jit
from lastblock.testing.worlds import ARMS, SEED

REWARDS = 3000
CHANGE = REWARDS // 2


class Noticed(NamedTuple):
    """What a detector says after each reward."""

    alarm: npt.NDArray[np.uint8]
    size: npt.NDArray[np.int64]
    old: npt.NDArray[np.float64]
    new: npt.NDArray[np.float64]


@entry
def watch(
    detector: Detector,
    states: States,
    arms: npt.NDArray[np.int64],
    rewards: npt.NDArray[np.float64],
    noticed: Noticed,
) -> None:
    """Give a detector rewards one by one, and reset it after an alarm, as `Restarting` does."""
    d = states[0]
    detector.reset(d)
    since = 0
    for i in range(rewards.shape[0]):
        alarm = detector.notice(d, arms[i], rewards[i], i - since)
        noticed.alarm[i] = 1 if alarm else 0
        noticed.size[i] = d.size if alarm else 0
        noticed.old[i] = d.old if alarm else 0.0
        noticed.new[i] = d.new if alarm else 0.0
        if alarm:
            detector.reset(d)
            since = i


def watched(detector: Detector, means: tuple[float, float], garbage: int = 0) -> Noticed:
    """Return what a detector notices of rewards 0 and 1 whose mean changes half-way."""
    rng = np.random.default_rng(SEED)
    chance = np.where(np.arange(REWARDS) < CHANGE, *means)
    rewards = (rng.random(REWARDS) < chance).astype(np.float64)
    arms = rng.integers(0, ARMS, REWARDS)
    states = np.empty(1, record(detector.layout(ARMS)))
    states.view(np.uint8)[:] = garbage
    noticed = Noticed(
        np.empty(REWARDS, np.uint8),
        np.empty(REWARDS, np.int64),
        np.empty(REWARDS),
        np.empty(REWARDS),
    )
    arguments = detector, RecordArray(states), arms, rewards, noticed
    specialise(watch, *arguments)(*arguments)
    return noticed


RISE, FALL = (0.1, 0.9), (0.9, 0.1)


def reset_sets_what_it_reads(detector: Detector) -> None:
    """The same changes are noticed whatever the record held before `reset`."""
    plain = _exact(watched(detector, FALL))
    for garbage in (0xA5, 0xFF):
        expect_same(
            "alarms after a reset of records that held other things",
            _exact(watched(detector, FALL, garbage)),
            plain,
        )


def a_clear_change_is_noticed(detector: Detector) -> None:
    """A fall of coins' mean from 0.9 to 0.1, or a rise, is noticed within 500 rewards an arm.

    One of the two is enough, because a detector may look for one direction only.
    """
    found = [bool(watched(detector, means).alarm[CHANGE:].any()) for means in (RISE, FALL)]
    expect(
        any(found),
        f"no alarm in {CHANGE} rewards after the mean of {ARMS} arms changed between 0.1 and 0.9, "
        "in either direction",
    )


def it_says_what_it_noticed(detector: Detector) -> None:
    """At an alarm `size` counts rewards since the change, and `old` and `new` are finite means."""
    for means in (RISE, FALL):
        noticed = watched(detector, means)
        for i in np.flatnonzero(noticed.alarm).tolist():
            said = f"size={noticed.size[i]}, old={noticed.old[i]}, new={noticed.new[i]}"
            finite = np.isfinite([noticed.old[i], noticed.new[i]]).all()
            expect(
                1 <= noticed.size[i] <= i + 1 and bool(finite),
                f"the alarm after {i + 1} rewards leaves {said}; `size` counts the arm's rewards "
                "since the change, at least 1, and `old` and `new` are its means before and since",
            )


def jit_changes_nothing(detector: Detector) -> None:
    """Compiled or not, alarms are the same, and means are the same to the last bit."""
    (plain,) = work_without_jit(exact_alarms, [detector])
    expect_same("alarms with the JIT on and off", exact_alarms([detector])[0], plain)


def it_restarts_a_policy(detector: Detector) -> None:
    """`Restarting(Thompson(), detector)` passes the checks of a policy that involve a detector."""
    policy = Restarting(Thompson(), detector)
    for check in (
        reproducible.live_is_simulated,
        reproducible.saved_and_loaded_goes_on_alike,
        declared.start_sets_every_number,
        live_use.arms_come_and_go,
    ):
        try:
            check(policy)
        except AssertionError as error:
            raise AssertionError(f"{check.__name__} of {policy!r}: {error}") from error


def exact_alarms(detectors: Sequence[Detector]) -> list[list[list[Any]]]:
    """Return what detectors notice of a rise and of a fall, with floats in hexadecimal."""
    return [
        [*_exact(watched(detector, RISE)), *_exact(watched(detector, FALL))]
        for detector in detectors
    ]


def _exact(noticed: Noticed) -> list[list[Any]]:
    return [
        [i, int(noticed.size[i]), float(noticed.old[i]).hex(), float(noticed.new[i]).hex()]
        for i in np.flatnonzero(noticed.alarm).tolist()
    ]


DETECTOR_CHECKS: dict[str, Callable[[Detector], None]] = {
    check.__name__: check
    for check in (
        reset_sets_what_it_reads,
        a_clear_change_is_noticed,
        it_says_what_it_noticed,
        jit_changes_nothing,
        it_restarts_a_policy,
        declared.wrong_types_are_rejected,
        declared.parameters_survive,
    )
}
"""Every check of a change detector: a function that takes it and raises an AssertionError."""


def detector_checks(*detectors: Detector, skip: Collection[str] = ()) -> list[Check[Detector]]:
    """Return the checks of some change detectors, one by one, for a parametrised test.

    Parameters
    ----------
    *detectors
        Detectors with the parameters to test.
    skip
        Names of checks to leave out.

    Returns
    -------
    list of Check
        Call one to run it.

    Raises
    ------
    ValueError
        If an argument is not a detector, or a name in `skip` is not that of a check.
    """
    for detector in detectors:
        require_detector(detector)
    return list_checks(DETECTOR_CHECKS, detectors, skip)


def check_detector(
    detector: Detector, *, skip: Collection[str] = (), progress: bool | None = None
) -> None:
    """Run every check on a change detector, also after one has failed.

    Parameters
    ----------
    detector
        A detector with the parameters to test. They should be such that it notices coins whose
        mean changes between 0.1 and 0.9.
    skip
        Names of checks to leave out.
    progress
        Show a bar; by default when it takes over two seconds and the output is a terminal.

    Raises
    ------
    AssertionError
        If some checks fail. The message names each of them, and says what was seen.
    ValueError
        If `detector` is not a detector, or a name in `skip` is not that of a check.
    """
    __tracebackhide__ = True
    run_all(detector_checks(detector, skip=skip), progress)
