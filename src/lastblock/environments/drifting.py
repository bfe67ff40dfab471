"""Environments whose means move all the time."""

import math
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from lastblock.core.families import Arm, Families
from lastblock.core.registry import validated
from lastblock.environments.piecewise import check_arms, encode
from lastblock.kernels.jit import kernel
from lastblock.kernels.streams import Stream
from lastblock.support.checks import whole


@validated
class Sinusoid(NamedTuple):
    """centre + amplitude · sin(2π (t / period + phase))."""

    centre: float
    amplitude: float
    period: float
    phase: float = 0.0

    def validate(self) -> None:
        if self.period <= 0.0:
            raise ValueError(f"Sinusoid: period={self.period} must be positive")

    def at(self, t: int) -> float:
        return float(wave(t, self.centre, self.amplitude, 1.0 / self.period, self.phase))

    def extremes(self) -> tuple[float, float]:
        return self.centre - abs(self.amplitude), self.centre + abs(self.amplitude)


@validated
class Table(NamedTuple):
    """Values at given times, linear between them, constant after the last.

    Without `times` there is one value a time step.
    """

    values: Sequence[float]
    times: Sequence[int] | None = None

    def validate(self) -> None:
        if len(self.values) == 0:
            raise ValueError("Table: values is empty; give at least one value")
        if self.times is not None:
            times = list(self.times)
            if len(times) != len(self.values):
                raise ValueError(f"Table: {len(times)} times for {len(self.values)} values")
            if times[0] != 0 or times != sorted(set(times)):
                raise ValueError(f"Table: times={times} must start at 0 and increase")

    def knots(self) -> npt.NDArray[np.float64]:
        """The times of the values."""
        times = range(len(self.values)) if self.times is None else self.times
        return np.array(times, dtype=np.float64)

    def at(self, t: int) -> float:
        return float(between(t, self.knots(), np.asarray(self.values, dtype=np.float64)))

    def extremes(self) -> tuple[float, float]:
        return float(min(self.values)), float(max(self.values))


@kernel
def wave(t: int, centre: float, amplitude: float, frequency: float, phase: float) -> float:
    """A sinusoid at t."""
    return centre + amplitude * math.sin(2.0 * math.pi * (t * frequency + phase))


@kernel
def between(t: int, knots: Any, values: Any) -> float:
    """Linear interpolation at t."""
    right = int(np.searchsorted(knots, t, side="right"))
    if right == knots.shape[0]:
        return float(values[right - 1])
    left = right - 1
    share = (t - knots[left]) / (knots[right] - knots[left])
    return float(values[left] + share * (values[right] - values[left]))


class Paths(NamedTuple):
    """The kernel's view of drifting arms; the cursor is the time itself."""

    waves: npt.NDArray[np.float64]  # centre, amplitude, frequency, phase of each arm
    first: npt.NDArray[np.int64]  # where the arm's knots start …
    last: npt.NDArray[np.int64]  # … and end; none for a sinusoid
    knots: npt.NDArray[np.float64]
    values: npt.NDArray[np.float64]
    codes: npt.NDArray[np.int64]
    parameters: npt.NDArray[np.float64]
    tables: npt.NDArray[np.float64]
    offsets: npt.NDArray[np.int64]
    families: Families

    def seek(self, t: int, cursor: int) -> int:
        return t

    def phase(self, cursor: int) -> int:
        return 0

    def mean(self, cursor: int, arm: int) -> float:
        i, j = self.first[arm], self.last[arm]
        if i == j:
            w = self.waves[arm]
            return wave(cursor, w[0], w[1], w[2], w[3])
        return between(cursor, self.knots[i:j], self.values[i:j])

    def best(self, cursor: int) -> float:
        best = self.mean(cursor, 0)
        for k in range(1, self.first.shape[0]):
            best = max(best, self.mean(cursor, k))
        return best

    def sample(self, cursor: int, arm: int, draw: np.uint64, scratch: Stream) -> float:
        p = self.parameters
        return self.families.draw(
            self.codes[0, arm],
            self.mean(cursor, arm),  # the first parameter of a family that can drift
            p[0, arm, 1],
            p[0, arm, 2],
            p[0, arm, 3],
            self.tables,
            self.offsets[0, arm],
            draw,
            scratch,
        )


class Drifting:
    """Arms whose means follow a path in time.

    Parameters
    ----------
    arms
        The family of each arm and its other parameters; its mean is replaced by the path.
    means
        The path of each arm's mean: a `Sinusoid` or a `Table`.

    Examples
    --------
    >>> import lastblock as lb
    >>> env = lb.Drifting(
    ...     [lb.Bernoulli(0.5), lb.Gaussian(0.5, 0.1)],
    ...     means=[lb.Sinusoid(0.5, 0.4, period=2000), lb.Table([0.2, 0.8], times=[0, 1000])],
    ... )
    >>> env.means(500).round(3), round(env.best_mean(0), 3)
    (array([0.9, 0.5]), 0.5)
    """

    changes: tuple[int, ...] = ()

    def __init__(self, arms: Sequence[Arm], means: "Sequence[Sinusoid | Table]") -> None:
        self.arms = check_arms(arms)
        if isinstance(means, Sinusoid | Table) or not isinstance(means, Sequence):
            raise ValueError(f"means={means!r} must be a list of paths, one for each arm")
        self.paths = tuple(means)
        if len(self.paths) != len(self.arms):
            raise ValueError(f"means: {len(self.paths)} paths for {len(self.arms)} arms")
        for arm, path in zip(self.arms, self.paths, strict=True):
            if not isinstance(path, Sinusoid | Table):
                raise ValueError(f"means: {path!r} is not a path; use Sinusoid or Table")
            if not getattr(arm, "movable", False):
                raise ValueError(f"{arm!r} cannot drift: its mean is not one of its parameters")
            for extreme in path.extremes():  # the family itself says what it cannot be
                arm._replace(mean=extreme)  # type: ignore[attr-defined]  # every arm is a NamedTuple

    def __repr__(self) -> str:
        return f"Drifting({list(self.arms)}, means={list(self.paths)})"

    @property
    def n_arms(self) -> int:
        return len(self.arms)

    def means(self, t: int) -> npt.NDArray[np.float64]:
        """The mean of each arm at time step t (from 0)."""
        t = whole(t, "t")
        if t < 0:
            raise ValueError(f"t={t} must not be negative")
        return np.array([path.at(t) for path in self.paths])

    def best_mean(self, t: int) -> float:
        """The largest mean at time step t (from 0)."""
        return float(self.means(t).max())

    def compile(self, horizon: int) -> Paths:
        """The kernel's view."""
        waves = np.zeros((self.n_arms, 4))
        knots: list[npt.NDArray[np.float64]] = []
        values: list[npt.NDArray[np.float64]] = []
        ends = [0]
        for k, path in enumerate(self.paths):
            size = 0
            if isinstance(path, Sinusoid):
                waves[k] = path.centre, path.amplitude, 1.0 / path.period, path.phase
            else:
                knots.append(path.knots())
                values.append(np.asarray(path.values, dtype=np.float64))
                size = len(values[-1])
            ends.append(ends[-1] + size)
        return Paths(
            waves=waves,
            first=np.array(ends[:-1], dtype=np.int64),
            last=np.array(ends[1:], dtype=np.int64),
            knots=np.concatenate([np.empty(0), *knots]),
            values=np.concatenate([np.empty(0), *values]),
            **encode([self.arms]),
        )
