"""A sliding window over the last τ rewards of all arms together, with counts and sums per arm.

Rewards are added to the sums and subtracted again for years. So that the sums do not drift, they
are compensated: rounding errors are summed up beside them. Sums of whole numbers stay exact.
"""

from typing import Annotated, Any, TypeAlias

import numpy as np
import numpy.typing as npt

from lastblock.core.layout import ARM, COUNT, NOBODY, capacity, record, within
from lastblock.core.parameters import ForArms, Range
from lastblock.core.protocol import Held, Record
from lastblock.kernels.exact_sums import two_sum
from lastblock.kernels.jit import kernel

SMALLEST_WINDOW = 64
LONGEST_WINDOW = 1 << 24


def _fits(owner: Any, name: str, arms: int) -> None:
    window = getattr(owner, name)
    if window < arms:
        raise ValueError(
            f"{type(owner).__name__}: {name}={window} is too small for {arms} arms; choose at "
            f"least {arms}"
        )


FITS_ARMS = ForArms(_fits)
"""The rule that a window is long enough to hold a reward of every arm."""

Window: TypeAlias = Annotated[int, Range(2, LONGEST_WINDOW, unit="pulls"), FITS_ARMS]
"""A parameter that is the length of a window."""


def window_dtype(arms: int, window: int) -> np.dtype[Any]:
    """Return the type of a field with room for the last `window` rewards of all arms."""
    ring = capacity(window, SMALLEST_WINDOW)
    return record(
        [
            ("written", COUNT),  # rewards ever seen
            ("pulls", within(np.int64, 0, ring), (arms,)),  # within the window, as are the sums
            ("high", np.float64, (arms,)),
            ("low", np.float64, (arms,)),
            ("arm", ARM, (ring,)),
            ("reward", np.float64, (ring,)),
        ]
    )


@kernel
def clear(w: Record) -> None:
    """Forget everything."""
    w.written = 0
    for k in range(w.pulls.shape[0]):
        w.pulls[k] = 0
        w.high[k] = 0.0
        w.low[k] = 0.0


@kernel
def slide(w: Record, arm: int, reward: float, window: int) -> None:
    """Take in a reward of `arm`, and forget the reward that came `window` rewards before."""
    mask = w.arm.shape[0] - 1
    if w.written >= window:
        old = (w.written - window) & mask
        if w.arm[old] != NOBODY:  # unless that arm is gone
            _add(w, w.arm[old], -w.reward[old])
            w.pulls[w.arm[old]] -= 1
    new = w.written & mask
    w.arm[new] = arm
    w.reward[new] = reward
    _add(w, arm, reward)
    w.pulls[arm] += 1
    w.written += 1


@kernel
def window_sum(w: Record, arm: int) -> float:
    """Return the sum of the arm's rewards within the window."""
    return float(w.high[arm] + w.low[arm])


@kernel
def _add(w: Record, arm: int, x: float) -> None:
    w.high[arm], error = two_sum(w.high[arm], x)
    w.low[arm] += error


def held(w: Record, arm: int, window: int) -> Held:
    """Return the arm's rewards within the window, for a policy's method `held`. Plain Python."""

    def rewards() -> npt.NDArray[np.float64]:
        last = np.arange(max(0, w.written - window), w.written) % w.arm.shape[0]
        found: npt.NDArray[np.float64] = w.reward[last][w.arm[last] == arm]
        return found

    return Held(float(w.pulls[arm]), rewards=rewards)
