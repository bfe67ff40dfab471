"""Off-policy estimates by inverse propensities: plain (IPS) and self-normalised (SNIPS)."""

import math
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt

from lastblock.support.intervals import student_reach
from lastblock.support.json_safe import json_fields, json_safe

ROUNDED = 1e-3
"""The relative distance within which numbers count as equal, since files round propensities."""

SURE = 20.0
"""A deviation is not chance if chance has it with probability at most exp(−SURE)."""

ENOUGH = 100.0
"""The effective number of events below which the spread of the weights is not known well enough to
say that their average is not chance."""


@dataclass(frozen=True)
class Weighted:
    """A mean reward, estimated from weighted events."""

    value: float
    """The estimate."""
    standard_error: float
    """Its standard error over the events; NaN with one event."""
    effective: float = field(repr=False)
    """The effective number of events, for `interval`."""

    def interval(self, confidence: float = 0.95) -> tuple[float, float]:
        """Return an interval for the mean reward, by Student's t.

        It has as many degrees of freedom as there are effective events, less one. With few of them
        it contains the truth too seldom, since weighted rewards are skewed. No interval knows of
        rewards that the log does not show: if all rewards are 0, it is (0, 0).

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
        reach = student_reach(confidence, self.effective - 1.0) * self.standard_error
        return self.value - reach, self.value + reach

    def to_dict(self) -> dict[str, object]:
        """Return the value, its error and its 95 % interval as plain JSON values."""
        found = json_fields(self, leave_out=("effective",))
        return {**found, "interval": json_safe(list(self.interval()))}

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
    """The number n of events that count: those in which the policy could be followed."""
    left_out: int = 0
    """The number of the other events of the log."""
    reason: str = ""
    """Why they are left out, in words; empty if none is."""

    def to_dict(self) -> dict[str, object]:
        """Return the estimates, their errors and 95 % intervals as plain JSON values.

        Numbers that are infinite or NaN become None.
        """
        return json_fields(self)

    def __repr__(self) -> str:
        others = f"; {self.left_out} others left out: {self.reason}" if self.left_out else ""
        return (
            f"<Estimate: IPS {self.ips}, SNIPS {self.snips}, "
            f"{self.events} events worth {self.effective:.1f}{others}>"
        )


def estimate(
    weights: npt.NDArray[np.float64],
    rewards: npt.NDArray[np.float64],
    left_out: int = 0,
    reason: str = "",
) -> Estimate:
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
            effective,
        ),
        # This is the first-order error of a ratio of means.
        snips=Weighted(
            mean,
            float(np.sqrt(np.square(ratios * (rewards - mean)).sum()) / total)
            if n > 1
            else float("nan"),
            effective,
        ),
        effective=effective,
        largest_weight=largest,
        events=n,
        left_out=left_out,
        reason=reason if left_out else "",
    )


def check_weights(weights: npt.NDArray[np.float64]) -> None:
    """Raise a ValueError if the weights cannot be those of a policy that could be followed.

    Given the past, each weight has the mean 1, whatever the policies: Σ π(arm) over the arms that
    could be chosen. So their average differs from 1 by chance alone, unless the policy takes arms
    that could not be chosen, or the propensities are wrong.
    """
    n, largest = weights.size, float(weights.max())
    ratios = weights / largest  # their squares cannot overflow
    total, squares = float(ratios.sum()), float(np.square(ratios).sum())
    if total**2 < ENOUGH * squares:
        return
    mean = largest * total / n
    error = largest * math.sqrt(max(0.0, squares - total**2 / n)) / n
    if abs(mean - 1.0) > math.sqrt(2.0 * SURE) * error + ROUNDED:
        raise ValueError(
            f"the weights of {n} events average {mean:.4g} ± {error:.2g}, and would average 1 if "
            "the target could be followed in all of them; name the column of the arms that could "
            "be chosen, choices='…', give only the events in which all of the target's arms could "
            "be, or check the propensities"
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
