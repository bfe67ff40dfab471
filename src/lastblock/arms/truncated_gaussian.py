"""Gaussian rewards conditioned to lie in an interval."""

import functools
import math
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from lastblock.core.families import family
from lastblock.core.parameters import Positive
from lastblock.kernels.samplers import normal_quantile
from lastblock.kernels.streams import to_open_unit

Floats = npt.NDArray[np.float64]


@functools.cache
def _quadrature() -> tuple[Floats, Floats]:
    """Return the nodes and weights of Gauss and Legendre on [−1, 1]."""
    return np.polynomial.legendre.leggauss(24)


def _cdf(x: float) -> float:
    return 0.5 * math.erfc(-x / math.sqrt(2.0))


def _density(x: float) -> float:
    return math.exp(-0.5 * x * x) / math.sqrt(2.0 * math.pi)


@family()
class TruncatedGaussian(NamedTuple):
    """Rewards from a normal law (`location`, `scale`) conditioned on [`low`, `high`].

    `mean` is the mean of the truncated law, from which regret is computed.
    """

    location: float
    scale: Positive
    low: float = 0.0
    high: float = 1.0

    def validate(self) -> None:
        if self.low >= self.high:
            raise ValueError(f"TruncatedGaussian: low={self.low} must lie below high={self.high}")
        lower, upper, _ = self._standard()
        if _cdf(upper) - _cdf(lower) < 1e-12:
            raise ValueError(
                f"TruncatedGaussian: [{self.low}, {self.high}] is too far from "
                f"location={self.location} for scale={self.scale}; move the interval"
            )

    def _standard(self) -> tuple[float, float, float]:
        """Return the standardised ends, reflected into the lower tail, where the cdf is precise."""
        lower = (self.low - self.location) / self.scale
        upper = (self.high - self.location) / self.scale
        return (-upper, -lower, -1.0) if lower > 0.0 else (lower, upper, 1.0)

    @property
    def mean(self) -> float:
        lower, upper, sign = self._standard()
        if upper - lower < 1.0:  # differences of the formula below would lose digits
            nodes, weights = _quadrature()
            z = 0.5 * (lower + upper) + 0.5 * (upper - lower) * nodes
            weights = weights * np.exp(-0.5 * (z - lower) * (z + lower))
            mean = self.location + sign * self.scale * float(weights @ z / weights.sum())
        else:
            mass = _cdf(upper) - _cdf(lower)
            mean = self.location + sign * self.scale * (_density(lower) - _density(upper)) / mass
        return min(max(mean, self.low), self.high)

    def parameters(self) -> tuple[float, ...]:
        lower, upper, sign = self._standard()
        return self.location, sign * self.scale, _cdf(lower), _cdf(upper)

    def table(self) -> tuple[float, float]:
        return self.low, self.high

    def support(self) -> tuple[float, float]:
        return self.low, self.high

    @staticmethod
    def draw(
        a: float, b: float, c: float, d: float, table: Any, at: int, word: Any, scratch: Any
    ) -> float:
        x = a + b * normal_quantile(c + to_open_unit(word) * (d - c))
        return float(min(max(x, table[at]), table[at + 1]))  # rounding may step over an end
