"""Constant rewards."""

from typing import Any, NamedTuple

from lastblock.core.families import family


@family(movable=True, common=True)
class Dirac(NamedTuple):
    """A reward that is always the same, `mean`."""

    mean: float

    def parameters(self) -> tuple[float, ...]:
        return (self.mean,)

    def support(self) -> tuple[float, float]:
        return self.mean, self.mean

    @staticmethod
    def draw(
        a: float, b: float, c: float, d: float, table: Any, at: int, word: Any, scratch: Any
    ) -> float:
        return a
