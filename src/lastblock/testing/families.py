"""The checks of an arm family, by name."""

import math
from collections.abc import Callable, Collection, Sequence

import numpy as np
import numpy.typing as npt

from lastblock.arms.dirac import Dirac
from lastblock.core.failures import specialise
from lastblock.core.families import PARAMETERS, Arm, arm_support, code_of
from lastblock.core.protocol import EnvironmentTable
from lastblock.environments.piecewise import Stationary
from lastblock.kernels.jit import DISABLED, entry
from lastblock.kernels.streams import Stream
from lastblock.testing import declared
from lastblock.testing.expectations import expect, expect_same
from lastblock.testing.suite import Check, list_checks, run_all
from lastblock.testing.without_jit import work_without_jit
from lastblock.testing.worlds import SEED

DRAWS = 2000 if DISABLED else 50_000
FEW = 500
STANDARD_ERRORS = 5.0
"""How far an average may lie off: a correct sampler fails with one seed in two million."""


@entry
def draw_rewards(
    table: EnvironmentTable,
    words: npt.NDArray[np.uint64],
    order: npt.NDArray[np.int64],
    scratch: Stream,
    rewards: npt.NDArray[np.float64],
) -> None:
    """Draw the reward of each word, in the given order."""
    for j in range(order.shape[0]):
        i = order[j]
        rewards[i] = table.sample(0, 0, words[i], scratch)


def drawn(
    arm: Arm, count: int, *, backwards: bool = False, garbage: int = 0
) -> npt.NDArray[np.float64]:
    """Return rewards of an arm through an environment, from the same words every time."""
    words = np.random.default_rng(SEED).integers(0, 2**64, count, dtype=np.uint64)
    order = np.arange(count, dtype=np.int64)
    scratch = np.full(4, garbage, np.uint64)
    rewards = np.empty(count)
    table = Stationary([arm, Dirac(0.0)]).compile(count)
    arguments = table, words, order[::-1].copy() if backwards else order, scratch, rewards
    specialise(draw_rewards, *arguments)(*arguments)
    return rewards


def samples_match_the_mean(arm: Arm) -> None:
    """The average of 50 000 rewards lies within five standard errors of `mean`."""
    rewards = drawn(arm, DRAWS)
    average = float(rewards.mean())
    error = float(rewards.std(ddof=1)) / math.sqrt(DRAWS)
    rounding = 1e-9 * max(1.0, abs(arm.mean))
    expect(
        abs(average - arm.mean) <= STANDARD_ERRORS * error + rounding,
        f"{DRAWS} rewards have the average {average:.6g}, with a standard error of {error:.2g}; "
        f"`mean` says {arm.mean:.6g}",
    )


def rewards_are_finite(arm: Arm) -> None:
    """No reward is NaN or infinite."""
    rewards = drawn(arm, DRAWS)
    strange = rewards[~np.isfinite(rewards)]
    expect(strange.size == 0, f"{strange.size} of {DRAWS} rewards are {strange[:1]}")


def rewards_lie_in_the_support(arm: Arm) -> None:
    """No reward lies outside `support`, if the family has that method."""
    support = arm_support(arm)
    if support is not None:
        rewards = drawn(arm, DRAWS)
        low, high = float(rewards.min()), float(rewards.max())
        expect(
            support.low <= low and high <= support.high,
            f"rewards go from {low:.6g} to {high:.6g}; `support` says {support}",
        )


def one_word_a_step(arm: Arm) -> None:
    """A reward depends on its random word alone, not on earlier words nor on `scratch`.

    Only then do policies that are compared meet common random numbers.
    """
    expect_same(
        "rewards of the same words, drawn backwards, with something else in `scratch`",
        drawn(arm, FEW, backwards=True, garbage=0xA5).tolist(),
        drawn(arm, FEW).tolist(),
    )


def parameters_fit(arm: Arm) -> None:
    """`parameters` returns up to four finite numbers; a movable arm's mean is the first of them."""
    numbers = arm.parameters()
    fit = len(numbers) <= PARAMETERS and all(math.isfinite(number) for number in numbers)
    expect(fit, f"parameters() returns {numbers!r}; it must return up to {PARAMETERS} numbers")
    if getattr(arm, "movable", False):
        expect(
            "mean" in arm._asdict() and numbers[0] == arm.mean,
            f"declared movable=True, but its first parameter, {numbers[:1]}, is not its field "
            f"`mean`, {arm.mean}",
        )


def jit_changes_nothing(arm: Arm) -> None:
    """Compiled or not, rewards are the same to the last bit."""
    (plain,) = work_without_jit(exact_rewards, [arm])
    expect_same("rewards with the JIT on and off", exact_rewards([arm])[0], plain)


def exact_rewards(arms: Sequence[Arm]) -> list[list[str]]:
    """Return some rewards of each arm, in hexadecimal."""
    return [[reward.hex() for reward in drawn(arm, FEW).tolist()] for arm in arms]


FAMILY_CHECKS: dict[str, Callable[[Arm], None]] = {
    check.__name__: check
    for check in (
        samples_match_the_mean,
        rewards_are_finite,
        rewards_lie_in_the_support,
        one_word_a_step,
        parameters_fit,
        jit_changes_nothing,
        declared.wrong_types_are_rejected,
    )
}
"""Every check of an arm family: a function that takes an arm and raises an AssertionError."""


def family_checks(*arms: Arm, skip: Collection[str] = ()) -> list[Check[Arm]]:
    """Return the checks of some arms, one by one, for a parametrised test.

    Parameters
    ----------
    *arms
        Arms with the parameters to test.
    skip
        Names of checks to leave out.

    Returns
    -------
    list of Check
        Call one to run it.

    Raises
    ------
    ValueError
        If an argument is not an arm, or a name in `skip` is not that of a check.
    """
    for arm in arms:
        code_of(arm)
    return list_checks(FAMILY_CHECKS, arms, skip)


def check_family(arm: Arm, *, skip: Collection[str] = (), progress: bool | None = None) -> None:
    """Run every check on an arm family, also after one has failed.

    Parameters
    ----------
    arm
        An arm of the family. Choose parameters for which 50 000 rewards show their mean: not a
        probability of one in a million, nor tails without a variance.
    skip
        Names of checks to leave out.
    progress
        Show a bar; by default when it takes over two seconds and the output is a terminal.

    Raises
    ------
    AssertionError
        If some checks fail. The message names each of them, and says what was seen.
    ValueError
        If `arm` is not an arm, or a name in `skip` is not that of a check.
    """
    __tracebackhide__ = True
    run_all(family_checks(arm, skip=skip), progress)
