"""Off-policy estimates by inverse propensities, plain (IPS) and self-normalised (SNIPS)."""

from dataclasses import dataclass
from statistics import NormalDist

import numpy as np
import numpy.typing as npt

from lastblock.support.checks import number


@dataclass(frozen=True)
class Weighted:
    """A mean reward, estimated from weighted events, and its standard error over the events."""

    value: float
    standard_error: float

    def interval(self, confidence: float = 0.95) -> tuple[float, float]:
        """An interval for the mean reward, by the normal approximation over the events."""
        return normal_interval(self.value, self.standard_error, confidence)

    def __str__(self) -> str:
        return f"{self.value:.4g} ± {self.standard_error:.2g}"


@dataclass(frozen=True)
class Estimate:
    """The mean reward of a policy that did not decide, from a log of one that did."""

    ips: Weighted
    """(1/n) Σ w r: unbiased; its error grows with the weights."""
    snips: Weighted
    """Σ w r / Σ w: slightly biased, mostly the smaller error; a constant reward is itself."""
    effective: float
    """(Σ w)² / Σ w²: so many events of the policy's own would say as much."""
    largest_weight: float
    events: int

    def __repr__(self) -> str:
        return (
            f"<Estimate: IPS {self.ips}, SNIPS {self.snips}, "
            f"{self.events} events worth {self.effective:.1f}>"
        )


def estimate(weights: npt.NDArray[np.float64], rewards: npt.NDArray[np.float64]) -> Estimate:
    """Both estimates from the weights w = π(arm) / propensity; at least one weight is positive."""
    n = rewards.size
    largest = float(weights.max())
    # Only ratios of weights matter below, so their squares cannot overflow.
    ratios = weights / largest
    total = float(ratios.sum())
    mean = float((ratios * rewards).sum() / total)
    worth = weights * rewards
    return Estimate(
        ips=Weighted(
            float(worth.mean()),
            float(worth.std(ddof=1) / np.sqrt(n)) if n > 1 else float("nan"),
        ),
        # The first-order error of a ratio of means.
        snips=Weighted(
            mean,
            float(np.sqrt(np.square(ratios * (rewards - mean)).sum()) / total)
            if n > 1
            else float("nan"),
        ),
        effective=total**2 / float(np.square(ratios).sum()),
        largest_weight=largest,
        events=n,
    )


def normal_interval(value: float, error: float, confidence: float) -> tuple[float, float]:
    """value ± z · error."""
    reach = NormalDist().inv_cdf(0.5 + check_confidence(confidence) / 2.0) * error
    return value - reach, value + reach


def check_confidence(confidence: float) -> float:
    """A share, or a ValueError."""
    confidence = number(confidence, "confidence")
    if not 0.0 < confidence < 1.0:
        raise ValueError(f"confidence={confidence} must lie in (0, 1)")
    return confidence
