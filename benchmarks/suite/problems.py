"""Random problems for the comparison of policies; each is a function of its number.

`problem(index, half)` always returns the same problem: `index` decides its kind, and a generator
seeded with `half` and `index` draws everything else. The authors of a policy choose its constants
on the development half. The test half has other seeds and is run once, at the end. A test half that
has been looked at is a test no more: it keeps its problems under another name, and a new one is
drawn.

Each arm has a level in [0, 1], which the problem's family turns into an arm. Where the levels of
all arms are drawn anew, one arm leads the others by at least `LEAD`. Horizons are log-uniform
between 5 000 and 100 000.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass
from statistics import NormalDist
from typing import Any, Literal, TypeAlias, get_args

import numpy as np

from lastblock.arms.bernoulli import Bernoulli
from lastblock.arms.beta import Beta
from lastblock.arms.discrete import Discrete
from lastblock.arms.exponential import Exponential
from lastblock.arms.gaussian import Gaussian
from lastblock.arms.poisson import Poisson
from lastblock.environments.drifting import Drifting, Sinusoid, Table
from lastblock.environments.piecewise import Piecewise

Half: TypeAlias = Literal["development", "test", "first-test", "second-test", "third-test"]
HALVES = get_args(Half)
SEEDS: dict[Half, int] = {
    "development": 0,
    "first-test": 1,
    "second-test": 2,
    "third-test": 3,
    "test": 4,
}
"""The seed of each half. "first-test" was the test half of the first round, "second-test" and
"third-test" were those of trials in the second round. All of them have been looked at."""

FIRST_FURTHER = 10
"""The smallest seed of problems that belong to no half."""

EACH = 5
"""The number of problems of each kind in a half."""

LEAD = 0.08
SHORTEST, LONGEST = 5_000, 100_000
ARMS = (2, 3, 5, 10, 20)
"""The possible numbers of arms; few, because each needs a compilation of every policy."""
DRIFTING_ARMS = (2, 5)

Levels: TypeAlias = list[float]
Draw: TypeAlias = np.random.Generator
MakeArm: TypeAlias = Callable[[float], Any]


@dataclass(frozen=True)
class SuiteProblem:
    """An environment with a horizon, and what policies with parameters may know about it."""

    title: str
    kind: str
    environment: Any
    horizon: int
    changes: int
    """Γ, the number of times at which some arm changes; if the arms drift, the best arm."""
    seed: int
    """The seed of the replications."""


def count() -> int:
    """Return the number of problems in a half."""
    return EACH * len(KINDS)


def problem(index: int, half: Half = "development") -> SuiteProblem:
    """Return problem `index` of a half.

    Raises a `ValueError` if `half` is unknown, or `index` is not between 0 and `count() − 1`.

    >>> problem(0).kind, problem(0) is problem(0), problem(0).horizon == problem(0).horizon
    ('stationary', False, True)
    """
    if half not in HALVES:
        raise ValueError(f"half={half!r} must be one of {', '.join(map(repr, HALVES))}")
    if not 0 <= index < count():
        raise ValueError(f"index={index} must lie between 0 and {count() - 1}")
    return _drawn(half, SEEDS[half], index)


def further_problem(index: int, seed: int) -> SuiteProblem:
    """Return problem `index` of those that `seed` gives, which belong to no half.

    They are for authors who want more problems for development: five of a kind are few. Raises a
    `ValueError` if `seed` is below 10, because the halves have such seeds, or `index` is negative.
    """
    if seed < FIRST_FURTHER:
        raise ValueError(f"seed={seed} must be {FIRST_FURTHER} or more; the halves have the others")
    if index < 0:
        raise ValueError(f"index={index} must not be negative")
    return _drawn(f"further {seed}", seed, index)


def _drawn(name: str, seed: int, index: int) -> SuiteProblem:
    kind = list(KINDS)[index % len(KINDS)]
    draw = np.random.default_rng([seed, index])
    horizon = round(math.exp(draw.uniform(math.log(SHORTEST), math.log(LONGEST))))
    about, environment, changes = KINDS[kind](draw, horizon)
    title = f"{name} {index}: {kind}, {environment.n_arms} arms, {about}, T = {horizon}"
    return SuiteProblem(title, kind, environment, horizon, changes, 1000 * seed + index)


# Families: each function returns a description and a function from a level in [0, 1] to an arm.


def _bernoulli(draw: Draw) -> tuple[str, MakeArm]:
    return "Bernoulli", lambda level: Bernoulli(0.05 + 0.9 * level)


def _rare(draw: Draw) -> tuple[str, MakeArm]:
    return "rare Bernoulli", lambda level: Bernoulli(0.005 + 0.15 * level)


def _gaussian(draw: Draw) -> tuple[str, MakeArm]:
    origin, scale = draw.normal(0.0, 10.0), 10.0 ** draw.uniform(-2.0, 2.0)
    sigma = draw.uniform(0.2, 1.0)
    about = f"Gaussian (σ {sigma:.2f})"
    return about, lambda level: Gaussian(origin + scale * level, sigma * scale)


def _exponential(draw: Draw) -> tuple[str, MakeArm]:
    return "exponential", lambda level: Exponential(0.2 + level)


def _poisson(draw: Draw) -> tuple[str, MakeArm]:
    return "Poisson", lambda level: Poisson(0.2 + 4.0 * level)


def _beta(draw: Draw) -> tuple[str, MakeArm]:
    size = draw.uniform(1.0, 8.0)
    return "beta", lambda level: Beta(size * (0.05 + 0.9 * level), size * (0.95 - 0.9 * level))


def _heavy(draw: Draw) -> tuple[str, MakeArm]:
    """Make arms with lognormal rewards, approximated by 512 quantiles of equal probability."""
    sigma = draw.uniform(1.0, 2.0)
    normal = NormalDist()
    values = np.exp([sigma * normal.inv_cdf((i + 0.5) / 512) for i in range(512)])
    values /= values.mean()
    chances = [1.0 / 512] * 512
    return f"lognormal (σ {sigma:.2f})", lambda level: Discrete(
        ((0.2 + level) * values).tolist(), chances
    )


MOVABLE = (_bernoulli, _gaussian, _exponential, _poisson)
ARM_MAKERS = (*MOVABLE, _rare, _beta)


# Levels of the arms, and times of changes.


def _spread(draw: Draw, arms: int, top: tuple[float, float] = (0.4, 1.0)) -> Levels:
    """Draw a level within `top` for one arm, and levels at least LEAD below for the others."""
    best = draw.uniform(*top)
    levels = draw.uniform(0.0, best - LEAD, arms)
    levels[draw.integers(arms)] = best
    return [float(level) for level in levels]


def _best(levels: Levels) -> int:
    return int(np.argmax(levels))


def _starts(draw: Draw, horizon: int, changes: int) -> list[int]:
    """Draw times of changes; each phase has at least a quarter of the mean length."""
    least = horizon / (4.0 * (changes + 1))
    free = np.sort(draw.uniform(0.0, horizon - least * (changes + 1), changes))
    return [int(t + least * (i + 1)) for i, t in enumerate(free)]


Made: TypeAlias = tuple[str, Any, int]
"""A description, the environment, and the number of changes."""


def _piecewise(
    draw: Draw,
    horizon: int,
    changes: int,
    change: Callable[[Levels], Levels],
    *,
    families: Any = ARM_MAKERS,
    top: tuple[float, float] = (0.4, 1.0),
) -> Made:
    """Make a problem whose levels `change` replaces at random times."""
    about, make = families[draw.integers(len(families))](draw)
    levels = _spread(draw, int(draw.choice(ARMS)), top)
    phases = {0: [make(level) for level in levels]}
    for start in _starts(draw, horizon, changes):
        levels = change(levels)
        phases[start] = [make(level) for level in levels]
    return f"{about}, {changes} changes", Piecewise(phases), changes


# Kinds of problems.


def _stationary(draw: Draw, horizon: int) -> Made:
    """Make a problem whose arms never change."""
    return _piecewise(draw, horizon, 0, list, families=(*ARM_MAKERS, _heavy))


def _few(draw: Draw, horizon: int) -> Made:
    """Make a problem in which all arms change, one to three times."""
    changes = int(draw.integers(1, 4))
    return _piecewise(draw, horizon, changes, lambda levels: _spread(draw, len(levels)))


def _many(draw: Draw, horizon: int) -> Made:
    """Make a problem in which all arms change, five to twenty times."""
    changes = int(draw.integers(5, 21))
    return _piecewise(draw, horizon, changes, lambda levels: _spread(draw, len(levels)))


def _single(draw: Draw, horizon: int) -> Made:
    """Make a problem in which each change concerns a single random arm."""

    def change(levels: Levels) -> Levels:
        levels = list(levels)
        levels[draw.integers(len(levels))] = float(draw.uniform())
        return levels

    return _piecewise(draw, horizon, int(draw.integers(2, 9)), change)


def _rise(draw: Draw, horizon: int) -> Made:
    """Make a problem in which another arm rises above the best one, whose level stays the same."""

    def change(levels: Levels) -> Levels:
        levels, best = list(levels), _best(levels)
        riser = (best + int(draw.integers(1, len(levels)))) % len(levels)
        levels[riser] = levels[best] + float(draw.uniform(0.08, 0.2))
        return levels

    return _piecewise(draw, horizon, int(draw.integers(1, 4)), change, top=(0.2, 0.4))


def _fall(draw: Draw, horizon: int) -> Made:
    """Make a problem in which the best arm falls below the second; the others stay the same."""

    def change(levels: Levels) -> Levels:
        levels, best = list(levels), _best(levels)
        second = max(level for k, level in enumerate(levels) if k != best)
        levels[best] = float(draw.uniform(0.0, 0.8) * second)
        return levels

    return _piecewise(draw, horizon, int(draw.integers(1, 3)), change)


def _irrelevant(draw: Draw, horizon: int) -> Made:
    """Make a problem in which all arms but the best one change, and stay worse than it."""

    def change(levels: Levels) -> Levels:
        best = _best(levels)
        new = [float(level) for level in draw.uniform(0.0, levels[best] - LEAD, len(levels))]
        new[best] = levels[best]
        return new

    return _piecewise(draw, horizon, int(draw.integers(2, 11)), change)


def _variance(draw: Draw, horizon: int) -> Made:
    """Make a problem of Gaussian arms whose standard deviation changes, but not their means."""
    changes = int(draw.integers(1, 6))
    levels = _spread(draw, int(draw.choice(ARMS)))
    phases = {}
    for start in [0, *_starts(draw, horizon, changes)]:
        sigma = 0.2 * 5.0 ** draw.uniform()
        phases[start] = [Gaussian(level, sigma) for level in levels]
    return f"Gaussian, {changes} changes of σ", Piecewise(phases), changes


def _tails(draw: Draw, horizon: int) -> Made:
    """Make a problem of lognormal arms that all change, one to three times."""
    changes = int(draw.integers(1, 4))
    return _piecewise(
        draw, horizon, changes, lambda levels: _spread(draw, len(levels)), families=(_heavy,)
    )


def _wave(draw: Draw, horizon: int, shortest: float, longest: float) -> Made:
    """Make a problem of sinusoidal means, with periods about from `shortest` to `longest`."""
    about, make = MOVABLE[draw.integers(len(MOVABLE))](draw)
    period = math.exp(draw.uniform(math.log(shortest), math.log(longest)))
    arms, paths = [], []
    for _ in range(int(draw.choice(DRIFTING_ARMS))):
        amplitude = draw.uniform(0.1, 0.5)
        centre = draw.uniform(amplitude, 1.0 - amplitude)
        low, high = make(0.0).mean, make(1.0).mean
        arms.append(make(centre))
        paths.append(
            Sinusoid(
                centre=low + (high - low) * centre,
                amplitude=(high - low) * amplitude,
                period=period * draw.uniform(0.8, 1.25),
                phase=draw.uniform(),
            )
        )
    return _drifting(f"{about}, period {period:.0f}", arms, paths, horizon)


def _slow(draw: Draw, horizon: int) -> Made:
    """Make a problem in which every mean goes up and down about one to four times."""
    return _wave(draw, horizon, horizon / 4, horizon)


def _fast(draw: Draw, horizon: int) -> Made:
    """Make a problem in which every mean goes up and down once in about 500 to 4000 steps."""
    return _wave(draw, horizon, 500.0, 4000.0)


def _walk(draw: Draw, horizon: int) -> Made:
    """Make a problem in which every mean moves in straight lines between random levels."""
    about, make = MOVABLE[draw.integers(len(MOVABLE))](draw)
    knots = int(draw.integers(3, 13))
    times = [0, *_starts(draw, horizon, knots - 1)]
    arms, paths = [], []
    for _ in range(int(draw.choice(DRIFTING_ARMS))):
        means = [float(make(level).mean) for level in draw.uniform(0.0, 1.0, knots)]
        arms.append(make(0.5))
        paths.append(Table(means, times))
    return _drifting(f"{about}, {knots} knots", arms, paths, horizon)


def _drifting(about: str, arms: Any, paths: Any, horizon: int) -> Made:
    """Make a problem with drifting arms; Γ counts the changes of the best arm, at least 1."""
    environment = Drifting(arms, paths)
    best = np.argmax([environment.means(t) for t in range(0, horizon, 10)], axis=1)
    takeovers = int(np.count_nonzero(np.diff(best)))
    return about, environment, max(1, takeovers)


KINDS: dict[str, Callable[[Draw, int], Made]] = {
    "stationary": _stationary,
    "few": _few,
    "many": _many,
    "single": _single,
    "rise": _rise,
    "fall": _fall,
    "irrelevant": _irrelevant,
    "variance": _variance,
    "tails": _tails,
    "slow": _slow,
    "fast": _fast,
    "walk": _walk,
}
"""The kinds of problems by name: what changes, and how. Problem i is of kind i modulo their
number."""


def calm_problems() -> dict[str, Piecewise]:
    """Return one stationary environment for each family, on which to count false alarms."""
    draw = np.random.default_rng(2021)
    levels = (0.3, 0.5, 0.8)
    return {
        about: Piecewise({0: [make(level) for level in levels]})
        for about, make in (family(draw) for family in (*ARM_MAKERS, _heavy))
    }
