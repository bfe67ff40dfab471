"""The laws of delays: how long simulated rewards take to come."""

from dataclasses import asdict, dataclass
from typing import Any, ClassVar, TypeAlias

from lastblock.engine.lateness import FIXED, GEOMETRIC, PARETO, Late
from lastblock.kernels.streams import Stream
from lastblock.support.checks import at_least, number


@dataclass(frozen=True)
class FixedDelay:
    """Every reward comes after the same number of further decisions.

    Parameters
    ----------
    steps
        The number of decisions between a decision and its reward; 0 for rewards that come at once.
    never
        The share of rewards that never come. Nobody says which: they are not forgotten.
    """

    law: ClassVar[str] = "fixed"
    steps: int
    never: float = 0.0

    def __post_init__(self) -> None:
        at_least(0, self.steps, "steps")
        _check_never(self.never)

    def numbers(self) -> tuple[int, float, float, float]:
        """Return the number of the law, its two parameters, and `never`, for kernels."""
        return FIXED, float(self.steps), 0.0, float(self.never)


@dataclass(frozen=True)
class GeometricDelay:
    """After each further decision a reward comes with the same probability.

    Parameters
    ----------
    mean
        The mean delay, in decisions.
    never
        The share of rewards that never come. Nobody says which: they are not forgotten.
    """

    law: ClassVar[str] = "geometric"
    mean: float
    never: float = 0.0

    def __post_init__(self) -> None:
        if not number(self.mean, "mean") >= 0.0:
            raise ValueError(f"mean={self.mean} must not be negative")
        _check_never(self.never)

    def numbers(self) -> tuple[int, float, float, float]:
        """Return the number of the law, its two parameters, and `never`, for kernels."""
        return GEOMETRIC, float(self.mean), 0.0, float(self.never)


@dataclass(frozen=True)
class ParetoDelay:
    """Delays with a heavy tail: P(delay ≥ d) = (1 + d / scale)^−shape, for whole d.

    Parameters
    ----------
    scale
        The size of a usual delay, in decisions: half of the delays are below
        scale · (2^(1 / shape) − 1).
    shape
        The exponent of the tail. With a shape of at most 1 delays have no mean.
    never
        The share of rewards that never come. Nobody says which: they are not forgotten.
    """

    law: ClassVar[str] = "pareto"
    scale: float
    shape: float
    never: float = 0.0

    def __post_init__(self) -> None:
        for name in ("scale", "shape"):
            if not number(getattr(self, name), name) > 0.0:
                raise ValueError(f"{name}={getattr(self, name)} must be positive")
        _check_never(self.never)

    def numbers(self) -> tuple[int, float, float, float]:
        """Return the number of the law, its two parameters, and `never`, for kernels."""
        return PARETO, float(self.scale), float(self.shape), float(self.never)


Delay: TypeAlias = FixedDelay | GeometricDelay | ParetoDelay

DELAYS: dict[str, type[FixedDelay] | type[GeometricDelay] | type[ParetoDelay]] = {
    cls.law: cls for cls in (FixedDelay, GeometricDelay, ParetoDelay)
}
"""The laws by their names in scenario files."""


def describe_delay(delay: Delay) -> dict[str, Any]:
    """Return a delay as plain data."""
    return {"law": delay.law, **asdict(delay)}


def check_delay(delay: Delay | None) -> None:
    """Raise a `ValueError` if `delay` is neither None nor the law of a delay."""
    if delay is not None and not isinstance(delay, tuple(DELAYS.values())):
        known = ", ".join(cls.__name__ for cls in DELAYS.values())
        raise ValueError(f"delay={delay!r} must be one of {known}, such as FixedDelay(100)")


def book_of(delay: Delay | None, key: Stream, horizon: int) -> Late | None:
    """Return what the engine needs to keep late rewards; None if rewards come at once."""
    return None if delay is None else Late.empty(*delay.numbers(), key, horizon)


def _check_never(never: float) -> None:
    if not 0.0 <= number(never, "never") < 1.0:
        raise ValueError(f"never={never} must be at least 0 and below 1")
