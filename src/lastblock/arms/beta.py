"""Rewards between 0 and 1."""

from typing import Any, NamedTuple

from lastblock.core.families import family
from lastblock.kernels.samplers import beta
from lastblock.kernels.streams import expand


@family()
class Beta(NamedTuple):
    """Rewards from a Beta law with shapes `a` and `b`, whose mean is a / (a + b)."""

    a: float
    b: float

    def validate(self) -> None:
        if self.a <= 0.0 or self.b <= 0.0:
            raise ValueError(f"Beta: a={self.a} and b={self.b} must both be positive")

    @property
    def mean(self) -> float:
        return self.a / (self.a + self.b)

    def parameters(self) -> tuple[float, ...]:
        return self.a, self.b

    def support(self) -> tuple[float, float]:
        return 0.0, 1.0

    @staticmethod
    def draw(
        a: float, b: float, c: float, d: float, table: Any, at: int, word: Any, scratch: Any
    ) -> float:
        expand(scratch, word)
        return beta(scratch, a, b)
