"""Off-policy estimates by inverse propensities: plain (IPS) and self-normalised (SNIPS)."""

from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from lastblock.support.intervals import normal_interval, ratio_interval

MANY = 10_000.0
"""From this effective number of events on we use the normal interval: all agree, it is fastest."""


class Events(NamedTuple):
    """The events behind an estimate, which is the sum of `above` divided by the sum of `below`."""

    above: npt.NDArray[np.float64]
    """The numerators."""
    below: npt.NDArray[np.float64]
    """The denominators."""
    counts: npt.NDArray[np.float64]
    """How many events have this numerator and denominator."""
    effective: float
    """The effective number of events."""


@dataclass(frozen=True)
class Weighted:
    """A mean reward, estimated from weighted events."""

    value: float
    """The estimate."""
    standard_error: float
    """Its standard error over the events; NaN with one event."""
    events: Events | None = field(default=None, repr=False, compare=False)
    """The events, for `interval`; None if there are so many that it uses the normal law."""

    def interval(self, confidence: float = 0.95) -> tuple[float, float]:
        """Return an interval for the mean reward, by empirical likelihood over the events.

        It follows the skewness of weighted rewards. The normal interval ignores it, and contains
        the truth too seldom with few effective events. From 10 000 effective events on the two
        agree, and this is the normal one. No interval knows of rewards that the log does not show:
        if all rewards are 0, it is (0, 0).

        Parameters
        ----------
        confidence
            The share of such intervals that contain the true mean reward.

        Returns
        -------
        tuple of float
            The lower and the upper end.

        Raises
        ------
        ValueError
            If `confidence` does not lie between 0 and 1.
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
    """Estimates of the mean reward of a policy from the log of another one.

    `Replay.estimate` returns it. The weight w of an event is the probability of its arm under the
    policy, divided by the propensity.
    """

    ips: Weighted
    """(1/n) Σ w r. It is unbiased; its error grows with the weights."""
    snips: Weighted
    """Σ w r / Σ w. It is slightly biased, mostly with a smaller error, and exact if all rewards are
    equal."""
    effective: float
    """(Σ w)² / Σ w²: the number of events of the policy's own that would say as much."""
    largest_weight: float
    """The largest weight of an event."""
    events: int
    """The number of events in the log."""

    def __repr__(self) -> str:
        return (
            f"<Estimate: IPS {self.ips}, SNIPS {self.snips}, "
            f"{self.events} events worth {self.effective:.1f}>"
        )


def estimate(weights: npt.NDArray[np.float64], rewards: npt.NDArray[np.float64]) -> Estimate:
    """Return both estimates from the weights w = π(arm) / propensity, not all of which are 0."""
    n = rewards.size
    largest = float(weights.max())
    # Below only ratios of weights matter; with these, squares cannot overflow.
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
        # This is the first-order error of a ratio of means.
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


def check_probabilities(
    values: Any, name: str, *shapes: tuple[int, ...]
) -> npt.NDArray[np.float64]:
    """Return an array of one of these shapes with values in [0, 1], or raise a ValueError."""
    try:
        table = np.asarray(values, dtype=np.float64)
    except (TypeError, ValueError):
        raise ValueError(f"{name} must be probabilities, not {type(values).__name__}") from None
    if table.shape not in shapes:
        wanted = " or ".join(str(shape) for shape in shapes)
        raise ValueError(f"{name} has the shape {table.shape}; give {wanted}")
    if not ((table >= 0.0) & (table <= 1.0)).all():
        raise ValueError(f"{name}: probabilities must lie in [0, 1]")
    return table


def _events(
    above: npt.NDArray[np.float64], below: npt.NDArray[np.float64], effective: float
) -> Events | None:
    """Return the events, those without reward counted together; None if there are too many."""
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
