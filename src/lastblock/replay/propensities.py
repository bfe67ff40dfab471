"""Off-policy estimates by inverse propensities, plain (IPS) and self-normalised (SNIPS)."""

from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from lastblock.support.intervals import normal_interval, ratio_interval

MANY = 10_000.0
"""With so many effective events all intervals are alike, and the normal one is the quickest."""


class Events(NamedTuple):
    """What an estimate was made of: a sum over events, divided by another one."""

    above: npt.NDArray[np.float64]
    below: npt.NDArray[np.float64]
    counts: npt.NDArray[np.float64]
    """How many events are alike."""
    effective: float


@dataclass(frozen=True)
class Weighted:
    """A mean reward, estimated from weighted events, and its standard error over the events."""

    value: float
    standard_error: float
    events: Events | None = field(default=None, repr=False, compare=False)
    """What it was made of; None if that is not known."""

    def interval(self, confidence: float = 0.95) -> tuple[float, float]:
        """An interval for the mean reward, by empirical likelihood over the events.

        It follows the skewness of weighted rewards, which the normal interval ignores: with few
        effective events that one holds the truth too seldom. From 10 000 effective events on, where
        the two agree, it is the normal one. Rewards that no event has shown yet are beyond it: if
        all are 0, it is (0, 0).

        Parameters
        ----------
        confidence
            The share of such intervals that hold the true mean reward.
        """
        low, high = normal_interval(self.value, self.standard_error, confidence)
        if self.events is None or not self.standard_error > 0.0 or self.events.effective >= MANY:
            return low, high
        above, below, counts, effective = self.events
        return ratio_interval(above, below, counts, confidence, effective - 1.0)

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
    effective = total**2 / float(np.square(ratios).sum())
    return Estimate(
        ips=Weighted(
            float(worth.mean()),
            float(worth.std(ddof=1) / np.sqrt(n)) if n > 1 else float("nan"),
            _events(worth, np.ones(n), effective),
        ),
        # The first-order error of a ratio of means.
        snips=Weighted(
            mean,
            float(np.sqrt(np.square(ratios * (rewards - mean)).sum()) / total)
            if n > 1
            else float("nan"),
            _events(ratios * rewards, ratios, effective),
        ),
        effective=effective,
        largest_weight=largest,
        events=n,
    )


def _events(
    above: npt.NDArray[np.float64], below: npt.NDArray[np.float64], effective: float
) -> Events | None:
    """The events, with those that add nothing above as a single one; None if there are too many."""
    if effective >= MANY:
        return None
    adding = above != 0.0
    others, counts = np.unique(below[~adding], return_counts=True)
    return Events(
        np.concatenate([above[adding], np.zeros(others.size)]),
        np.concatenate([below[adding], others]),
        np.concatenate([np.ones(int(adding.sum())), counts]),
        effective,
    )
