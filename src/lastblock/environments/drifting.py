"""Environments whose means change continually."""

import math
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from lastblock.core.families import Arm, Families, hull_of, scale_of, undeclared
from lastblock.core.parameters import Positive
from lastblock.core.registry import validated
from lastblock.core.support import Scale, Support
from lastblock.environments.piecewise import check_arm_list, encode
from lastblock.kernels.jit import kernel
from lastblock.kernels.streams import Stream
from lastblock.support.checks import whole


@validated
class Sinusoid(NamedTuple):
    """The path centre + amplitude · sin(2π (t / period + phase)) of an arm's mean.

    Parameters
    ----------
    centre
        The mean over one period.
    amplitude
        The largest distance from `centre`.
    period
        The length of a wave in time steps; positive.
    phase
        Where the wave starts, as a share of the period.

    Examples
    --------
    >>> import lastblock as lb
    >>> lb.Sinusoid(0.5, 0.25, period=2000).at(500)
    0.75
    """

    centre: float
    amplitude: float
    period: Positive
    phase: float = 0.0

    def at(self, t: int) -> float:
        """Return the mean at time step `t`."""
        return float(wave(t, self.centre, self.amplitude, 1.0 / self.period, self.phase))

    def extremes(self) -> tuple[float, float]:
        """Return the smallest and the largest mean of the path."""
        return self.centre - abs(self.amplitude), self.centre + abs(self.amplitude)

    def extreme_times(self) -> tuple[int, int]:
        """Return the first time steps at which the mean is about smallest and largest."""
        high = (0.25 if self.amplitude >= 0.0 else 0.75) - self.phase
        return round((high + 0.5) % 1.0 * self.period), round(high % 1.0 * self.period)


@validated
class Table(NamedTuple):
    """A path of an arm's mean through given values: linear between them, constant after the last.

    Parameters
    ----------
    values
        The means; at least one.
    times
        The time step of each value, increasing from 0. Default: 0, 1, 2, …

    Examples
    --------
    >>> import lastblock as lb
    >>> lb.Table([0.25, 0.75], times=[0, 1000]).at(500)
    0.5
    """

    values: Sequence[float]
    times: Sequence[int] | None = None

    def validate(self) -> None:
        if len(self.values) == 0:
            raise ValueError("Table: values is empty; give at least one value")
        if self.times is not None:
            times = list(self.times)
            if len(times) != len(self.values):
                raise ValueError(
                    f"Table: {len(times)} times for {len(self.values)} values; "
                    "give one time for each value"
                )
            if times[0] != 0 or times != sorted(set(times)):
                raise ValueError(f"Table: times={times} must start at 0 and increase")

    def knots(self) -> npt.NDArray[np.float64]:
        """Return the time steps of the values."""
        times = range(len(self.values)) if self.times is None else self.times
        return np.array(times, dtype=np.float64)

    def at(self, t: int) -> float:
        """Return the mean at time step `t`."""
        return float(between(t, self.knots(), np.asarray(self.values, dtype=np.float64)))

    def extremes(self) -> tuple[float, float]:
        """Return the smallest and the largest mean of the path."""
        return float(min(self.values)), float(max(self.values))

    def extreme_times(self) -> tuple[int, int]:
        """Return the first time steps at which the mean is smallest and largest."""
        knots, values = self.knots(), np.asarray(self.values, dtype=np.float64)
        return int(knots[values.argmin()]), int(knots[values.argmax()])


@kernel
def wave(t: int, centre: float, amplitude: float, frequency: float, phase: float) -> float:
    """Return the value of a sinusoid at time `t`."""
    return centre + amplitude * math.sin(2.0 * math.pi * (t * frequency + phase))


@kernel
def between(t: int, knots: Any, values: Any) -> float:
    """Return the linear interpolation of `values` at time `t`; constant after the last knot."""
    right = int(np.searchsorted(knots, t, side="right"))
    if right == knots.shape[0]:
        return float(values[right - 1])
    left = right - 1
    share = (t - knots[left]) / (knots[right] - knots[left])
    return float(values[left] + share * (values[right] - values[left]))


class Paths(NamedTuple):
    """Drifting arms as arrays for the kernels; the cursor is the time step itself."""

    waves: npt.NDArray[np.float64]  # centre, amplitude, frequency, phase of each arm
    first: npt.NDArray[np.int64]  # the arm's knots are knots[first:last] …
    last: npt.NDArray[np.int64]  # … and first = last for a sinusoid
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
            self.mean(cursor, arm),  # the mean is the first parameter of every family that drifts
            p[0, arm, 1],
            p[0, arm, 2],
            p[0, arm, 3],
            self.tables,
            self.offsets[0, arm],
            draw,
            scratch,
        )


class Drifting:
    """An environment in which the mean of each arm follows a path in time.

    Parameters
    ----------
    arms
        The arms. They give the families and all parameters but the means.
    means
        The path of each arm's mean: a `Sinusoid` or a `Table`.

    Raises
    ------
    ValueError
        If an arm cannot drift (its mean is not a parameter of its family), or if a path leaves
        the range of means that the family allows.

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
        self.arms = check_arm_list(arms)
        if isinstance(means, Sinusoid | Table) or not isinstance(means, Sequence):
            raise ValueError(
                f"means={means!r} must be a list of paths (Sinusoid or Table), one for each arm"
            )
        self.paths = tuple(means)
        if len(self.paths) != len(self.arms):
            raise ValueError(
                f"means: {len(self.paths)} paths for {len(self.arms)} arms; "
                "give one path for each arm"
            )
        for arm, path in zip(self.arms, self.paths, strict=True):
            if not isinstance(path, Sinusoid | Table):
                raise ValueError(f"means: {path!r} is not a path; use Sinusoid or Table")
            if not getattr(arm, "movable", False):
                raise ValueError(f"{arm!r} cannot drift: its mean is not one of its parameters")
        for k, (arm, path) in enumerate(zip(self.arms, self.paths, strict=True)):
            for mean, time in zip(path.extremes(), path.extreme_times(), strict=True):
                try:
                    arm._replace(mean=mean)  # type: ignore[attr-defined]  # it is a NamedTuple
                except ValueError as error:
                    raise ValueError(
                        f"means[{k}] is {mean:.6g} at time step {time}, but {error}"
                    ) from None

    def __repr__(self) -> str:
        return f"Drifting({list(self.arms)}, means={list(self.paths)})"

    @property
    def n_arms(self) -> int:
        """The number of arms."""
        return len(self.arms)

    @property
    def support(self) -> Support | None:
        """The rewards of all arms; None if the family of one of them does not say."""
        return hull_of(self._extremes())

    @property
    def reward_scale(self) -> Scale | None:
        """Where the rewards lie, at any time; None if an arm has no standard deviation `std`."""
        return scale_of(self._extremes())

    @property
    def undeclared(self) -> str | None:
        """The name of an arm family here that does not say which rewards it gives."""
        return undeclared(self._extremes())

    def _extremes(self) -> list[Arm]:
        """Return each arm twice: with the smallest and with the largest mean that it ever has."""
        return [
            arm._replace(mean=extreme)  # type: ignore[attr-defined]  # every arm is a NamedTuple
            for arm, path in zip(self.arms, self.paths, strict=True)
            for extreme in path.extremes()
        ]

    def means(self, t: int) -> npt.NDArray[np.float64]:
        """Return the mean of each arm at time step `t`, counted from 0."""
        t = whole(t, "t")
        if t < 0:
            raise ValueError(f"t={t} must not be negative")
        return np.array([path.at(t) for path in self.paths])

    def best_mean(self, t: int) -> float:
        """Return the largest mean at time step `t`, counted from 0."""
        return float(self.means(t).max())

    def compile(self, horizon: int) -> Paths:
        """Return the environment as arrays for the kernels; `simulate` calls this."""
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
