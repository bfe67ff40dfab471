"""Finitely many rewards."""

import math
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from lastblock.core.families import family
from lastblock.kernels.streams import to_unit


@family(common=True)
class Discrete(NamedTuple):
    """Rewards that take each of `values` with its probability; `probabilities` sum to 1."""

    values: Sequence[float]
    probabilities: Sequence[float]

    def validate(self) -> None:
        if len(self.values) != len(self.probabilities) or len(self.values) == 0:
            raise ValueError(
                f"Discrete: {len(self.values)} values and {len(self.probabilities)} probabilities; "
                "give one probability for each value, and at least one"
            )
        if min(self.probabilities) < 0.0:
            raise ValueError(f"Discrete: probabilities={self.probabilities} must not be negative")
        total = math.fsum(self.probabilities)
        if abs(total - 1.0) > 1e-9:
            raise ValueError(
                f"Discrete: probabilities={self.probabilities} sum to {total}; they must sum to 1"
            )

    @property
    def mean(self) -> float:
        return math.fsum(v * p for v, p in zip(self.values, self.probabilities, strict=True))

    def parameters(self) -> tuple[float, ...]:
        return (float(len(self.values)),)

    def table(self) -> npt.NDArray[np.float64]:
        """Return the cumulative probabilities, then the values."""
        cumulative = np.cumsum(np.asarray(self.probabilities, dtype=np.float64))
        cumulative[np.flatnonzero(np.asarray(self.probabilities) > 0.0)[-1] :] = 1.0
        return np.concatenate([cumulative, np.asarray(self.values, dtype=np.float64)])

    def support(self) -> tuple[float, float]:
        pairs = zip(self.values, self.probabilities, strict=True)
        possible = [value for value, chance in pairs if chance > 0.0]
        return min(possible), max(possible)

    @staticmethod
    def draw(
        a: float, b: float, c: float, d: float, table: Any, at: int, word: Any, scratch: Any
    ) -> float:
        u = to_unit(word)
        low, high = at, at + int(a) - 1
        while low < high:  # the first cumulative probability above u
            middle = (low + high) // 2
            if table[middle] > u:
                high = middle
            else:
                low = middle + 1
        return float(table[low + int(a)])
