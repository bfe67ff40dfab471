"""What a parameter may be, said in its annotation: ``scale: Positive = 1.0``.

`@policy` and the other decorators convert each parameter to its type, and then call the rules in
its annotation, which are functions of the instance and the parameter's name. What involves several
parameters is for the method `validate`.
"""

from collections.abc import Callable
from typing import Annotated, Any, NamedTuple, TypeAlias

from lastblock.kernels.divergences import Family

Rule: TypeAlias = Callable[[Any, str], None]
"""Raises a ValueError unless the parameter of this name is sound."""


class Range(NamedTuple):
    """The rule that a parameter lies between two bounds, either of which may be missing."""

    least: float | None = None
    most: float | None = None
    above: float | None = None
    """The parameter is larger than this; instead of `least`."""
    below: float | None = None
    """The parameter is smaller than this; instead of `most`."""
    unit: str = ""
    """What it counts, for the message: "steps"."""
    hint: str = ""
    """What to do instead, for the message: "for 0 use Dirac"."""

    def __contains__(self, value: object) -> bool:
        x: Any = value
        return (
            (self.least is None or x >= self.least)
            and (self.most is None or x <= self.most)
            and (self.above is None or x > self.above)
            and (self.below is None or x < self.below)
        )

    def __call__(self, owner: Any, name: str) -> None:
        value = getattr(owner, name)
        if value not in self:
            unit = f" {self.unit}" if self.unit else ""
            hint = f"; {self.hint}" if self.hint else ""
            raise ValueError(f"{type(owner).__name__}: {name}={value} must {self}{unit}{hint}")

    def __repr__(self) -> str:
        defaults = self._field_defaults
        said = [f"{name}={x!r}" for name, x in self._asdict().items() if x != defaults[name]]
        return f"Range({', '.join(said)})"  # signatures show it

    def __str__(self) -> str:
        low, high = self._bound(self.least, self.above), self._bound(self.most, self.below)
        match self:
            case Range(most=None, below=None, above=0.0):
                return "be positive"
            case Range(most=None, below=None, least=0.0):
                return "not be negative"
            case Range(most=None, below=None):
                return f"be at least {low}"
            case Range(unit="") if self.least is not None or self.most is not None:
                left, right = "(["[self.above is None], ")]"[self.below is None]
                return f"lie in {left}{low}, {high}{right}"
        return f"lie between {low} and {high}"

    @staticmethod
    def _bound(closed: float | None, opened: float | None) -> str:
        """Return a bound as people write it: 1000000 and 1e-9."""
        bound = opened if closed is None else closed
        return "" if bound is None else f"{bound:.15g}".replace("e-0", "e-").replace("e+", "e")


class ForArms(NamedTuple):
    """A rule that depends on the number of arms, too: `check_arms` calls it."""

    check: Callable[[Any, str, int], None]


def for_gaussian(owner: Any, name: str) -> None:
    """Raise a ValueError if a parameter of the Gaussian family is given for another family."""
    value = getattr(owner, name)
    if owner.family != Family.GAUSSIAN and value != owner._field_defaults[name]:
        raise ValueError(
            f"{type(owner).__name__}: {name}={value} is for family='gaussian' only; leave it out"
        )


Positive: TypeAlias = Annotated[float, Range(above=0.0)]
NotNegative: TypeAlias = Annotated[float, Range(0.0)]
Share: TypeAlias = Annotated[float, Range(0.0, 1.0)]
Chance: TypeAlias = Annotated[float, Range(above=0.0, below=1.0)]
Discount: TypeAlias = Annotated[float, Range(above=0.0, most=1.0)]
Sigma: TypeAlias = Annotated[float, Range(above=0.0), for_gaussian]
