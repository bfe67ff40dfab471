"""Stationary environments, and environments that change at known times."""

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from lastblock.core.families import (
    PARAMETERS,
    Arm,
    Families,
    code_of,
    families,
    hull_of,
    is_arm,
    scale_of,
    table_of,
    undeclared,
)
from lastblock.core.support import Scale, Support
from lastblock.kernels.streams import Stream
from lastblock.support.checks import whole

LARGEST_MEAN = 1e290
"""Bound on the absolute value of a mean; sums of larger rewards could overflow."""


class Phases(NamedTuple):
    """A piecewise stationary environment as arrays for the kernels; the cursor is the phase."""

    starts: npt.NDArray[np.int64]
    means: npt.NDArray[np.float64]
    bests: npt.NDArray[np.float64]
    codes: npt.NDArray[np.int64]
    parameters: npt.NDArray[np.float64]
    tables: npt.NDArray[np.float64]
    offsets: npt.NDArray[np.int64]
    families: Families

    def seek(self, t: int, cursor: int) -> int:
        while cursor + 1 < self.starts.shape[0] and t >= self.starts[cursor + 1]:
            cursor += 1
        return cursor

    def phase(self, cursor: int) -> int:
        return cursor

    def mean(self, cursor: int, arm: int) -> float:
        return float(self.means[cursor, arm])

    def best(self, cursor: int) -> float:
        return float(self.bests[cursor])

    def sample(self, cursor: int, arm: int, draw: np.uint64, scratch: Stream) -> float:
        p = self.parameters
        return self.families.draw(
            self.codes[cursor, arm],
            p[cursor, arm, 0],
            p[cursor, arm, 1],
            p[cursor, arm, 2],
            p[cursor, arm, 3],
            self.tables,
            self.offsets[cursor, arm],
            draw,
            scratch,
        )


def encode(phases: Sequence[Sequence[Arm]]) -> dict[str, Any]:
    """Return the codes, parameters and tables of the arms of each phase, as arrays for kernels."""
    shape = len(phases), len(phases[0])
    parameters = np.zeros((*shape, PARAMETERS))
    codes = np.zeros(shape, dtype=np.int64)
    offsets = np.zeros(shape, dtype=np.int64)
    tables: list[npt.NDArray[np.float64]] = []
    length = 0
    for i, arms in enumerate(phases):
        for k, arm in enumerate(arms):
            codes[i, k] = code_of(arm)
            numbers = arm.parameters()
            parameters[i, k, : len(numbers)] = numbers
            tables.append(table_of(arm))
            offsets[i, k] = length
            length += len(tables[-1])
    return {
        "codes": codes,
        "parameters": parameters,
        "tables": np.concatenate(tables),
        "offsets": offsets,
        "families": families(set(codes.ravel().tolist())),
    }


def check_arm_list(arms: Sequence[Arm], where: str = "arms") -> tuple[Arm, ...]:
    """Return the arms as a tuple.

    Raises a `ValueError`, which starts with `where`, if they are not a list of at least two arms
    of registered families.
    """
    if not isinstance(arms, Sequence) or isinstance(arms, str):
        raise ValueError(f"{where}={arms!r} must be a list of arms")
    if is_arm(arms):  # a tuple of its parameters
        raise ValueError(f"{where}={arms!r} is a single arm; give a list of arms")
    checked = tuple(arms)
    for arm in checked:
        code_of(arm)
        if not abs(arm.mean) < LARGEST_MEAN:
            raise ValueError(
                f"{where}: {arm!r} has a mean beyond {LARGEST_MEAN:g}; use a smaller one"
            )
    if len(checked) < 2:
        raise ValueError(f"{where}: a bandit needs at least 2 arms, not {len(checked)}; add arms")
    return checked


class Piecewise:
    """An environment whose arms change at given times, and stay the same between them.

    Parameters
    ----------
    phases
        A dict from the first time step of each phase to its arms. The first phase starts at 0,
        and every phase has the same number of arms.

    Examples
    --------
    >>> import lastblock as lb
    >>> env = lb.Piecewise({
    ...     0: [lb.Bernoulli(0.5), lb.Bernoulli(0.3)],
    ...     3000: [lb.Bernoulli(0.3), lb.Bernoulli(0.7)],
    ... })
    >>> env.means(3000), env.best_mean(0), env.changes
    (array([0.3, 0.7]), 0.5, (3000,))
    """

    def __init__(self, phases: Mapping[int, Sequence[Arm]]) -> None:
        if not isinstance(phases, Mapping) or len(phases) == 0:
            raise ValueError("phases: give a dict from the first time step of a phase to its arms")
        starts = [whole(start, "phases: start") for start in phases]
        if starts[0] != 0:
            raise ValueError(f"phases: the first phase starts at {starts[0]}; it must start at 0")
        if starts != sorted(set(starts)):
            raise ValueError(f"phases: starts {starts} are out of order; they must increase")
        self.phases = tuple(
            check_arm_list(arms, f"phases[{start}]") for start, arms in phases.items()
        )
        sizes = [len(arms) for arms in self.phases]
        if len(set(sizes)) > 1:
            raise ValueError(
                f"phases: the phases have {sizes} arms; every phase needs the same number of arms"
            )
        self.starts = tuple(starts)

    def __repr__(self) -> str:
        phases = dict(zip(self.starts, (list(arms) for arms in self.phases), strict=True))
        return f"{type(self).__name__}({phases})"

    @property
    def n_arms(self) -> int:
        """The number of arms."""
        return len(self.phases[0])

    @property
    def changes(self) -> tuple[int, ...]:
        """The first time step of every phase but the first."""
        return self.starts[1:]

    @property
    def support(self) -> Support | None:
        """The rewards of all arms; None if the family of one of them does not say."""
        return hull_of([arm for arms in self.phases for arm in arms])

    @property
    def reward_scale(self) -> Scale | None:
        """Where the rewards of all arms lie; None if one has no standard deviation `std`."""
        return scale_of([arm for arms in self.phases for arm in arms])

    @property
    def undeclared(self) -> str | None:
        """The name of an arm family here that does not say which rewards it gives."""
        return undeclared(arm for arms in self.phases for arm in arms)

    def phase(self, t: int) -> int:
        """Return the number of the phase at time step `t`; both count from 0."""
        t = whole(t, "t")
        if t < 0:
            raise ValueError(f"t={t} must not be negative")
        return int(np.searchsorted(self.starts, t, side="right")) - 1

    def means(self, t: int) -> npt.NDArray[np.float64]:
        """Return the mean of each arm at time step `t`, counted from 0."""
        return np.array([arm.mean for arm in self.phases[self.phase(t)]])

    def best_mean(self, t: int) -> float:
        """Return the largest mean at time step `t`, counted from 0."""
        return float(self.means(t).max())

    def compile(self, horizon: int) -> Phases:
        """Return the environment as arrays for the kernels; `simulate` calls this.

        Phases that start after `horizon` are included; a simulation does not reach them.
        """
        means = np.array([[arm.mean for arm in arms] for arms in self.phases])
        return Phases(
            starts=np.array(self.starts, dtype=np.int64),
            means=means,
            bests=means.max(axis=1),
            **encode(self.phases),
        )


class Stationary(Piecewise):
    """An environment whose arms never change.

    Parameters
    ----------
    arms
        At least two arms.

    Examples
    --------
    >>> import lastblock as lb
    >>> lb.Stationary([lb.Gaussian(0.0), lb.Dirac(0.1)]).best_mean(0)
    0.1
    """

    def __init__(self, arms: Sequence[Arm]) -> None:
        super().__init__({0: check_arm_list(arms)})

    def __repr__(self) -> str:
        return f"Stationary({list(self.phases[0])})"
