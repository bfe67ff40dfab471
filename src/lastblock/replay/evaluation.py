"""What a replay has shown of a policy."""

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from lastblock.core.protocol import Policy
from lastblock.live.labels import Label
from lastblock.support.intervals import check_confidence, normal_interval


def ratio(sums: npt.NDArray[Any], counts: npt.NDArray[np.int64]) -> npt.NDArray[np.float64]:
    """Means; NaN of nothing."""
    means = np.full(counts.size, np.nan)
    np.divide(sums, counts, out=means, where=counts > 0)
    return means


@dataclass(frozen=True)
class Evaluation:
    """The outcome of `Replay.evaluate`: a policy's mean reward, and how sure the log makes us."""

    policy: Policy
    arms: tuple[Label, ...]
    events: int
    """Events of the log: what each pass reads, unless a horizon ends it."""
    times: npt.NDArray[np.int64]
    """Numbers of events read at which the next two were taken; the last one is `events`."""
    matched: npt.NDArray[np.int64]
    """Matched events so far, (replications, times)."""
    reward: npt.NDArray[np.float64]
    """Their rewards, added up; like `matched`."""
    pulls: npt.NDArray[np.int64]
    """Matched events of each arm, (replications, K)."""
    errors: npt.NDArray[np.float64]
    """Standard error of each pass over its matched events; NaN if there is but one."""
    resampled: npt.NDArray[np.float64]
    """Mean reward of each pass over a resampled log; empty without `bootstrap`.

    With the same seed, pass i of every policy reads the same one.
    """
    best_mean: float
    """The largest mean of an arm over the whole log: as a maximum it flatters that arm."""
    seconds: float
    """Time taken, without compilation."""

    @property
    def replications(self) -> int:
        return int(self.matched.shape[0])

    @property
    def estimates(self) -> npt.NDArray[np.float64]:
        """The mean reward of the matched events, pass by pass."""
        return np.asarray(self.reward[:, -1] / self.matched[:, -1])

    @property
    def estimate(self) -> float:
        """The policy's mean reward: the mean over the passes."""
        return float(self.estimates.mean())

    @property
    def standard_error(self) -> float:
        """How far off one pass is; what that covers is in `covers`.

        With bootstrap passes it is their standard deviation, else the standard error over matched
        events (its root mean square, if there are several passes). More passes over one log do not
        divide it: they all read the same events.
        """
        if self.resampled.size:
            return float(self.resampled.std(ddof=1))
        return float(np.sqrt(np.square(self.errors).mean()))

    def interval(self, confidence: float = 0.95) -> tuple[float, float]:
        """An interval for the mean reward: see `covers` for what it covers.

        Quantiles of the bootstrap passes, if there are any; else the normal approximation.
        """
        if self.resampled.size:
            tail = 0.5 - check_confidence(confidence) / 2.0
            low, high = np.quantile(self.resampled, [tail, 1.0 - tail])
            return float(low), float(high)
        return normal_interval(self.estimate, self.standard_error, confidence)

    @property
    def covers(self) -> str:
        """What the standard error and the interval cover, and what they do not."""
        if self.resampled.size:
            return (
                "another log like this one: other events, what the policy would have learned from "
                "them, and its own randomness"
            )
        return (
            "the noise of the rewards, given the arms that were pulled; not what the policy would "
            "have learned from another log (for that, bootstrap)"
        )

    @property
    def seed_error(self) -> float:
        """Standard error over the policy's own randomness alone, on this log; NaN with one pass."""
        if self.replications < 2:
            return math.nan
        return float(self.estimates.std(ddof=1) / math.sqrt(self.replications))

    def curve(self) -> npt.NDArray[np.float64]:
        """Mean reward of the events matched up to each of `times`, all passes together; or NaN."""
        matched = self.matched.sum(axis=0)
        reward = self.reward.sum(axis=0)
        return ratio(reward, matched)

    def regret(self) -> npt.NDArray[np.float64]:
        """What `best_mean` would have earned on as many events, less what was earned: the mean."""
        return np.asarray((self.best_mean * self.matched - self.reward).mean(axis=0))

    def __repr__(self) -> str:
        return (
            f"<Evaluation of {self.policy}: {self.estimate:.4g} ± {self.standard_error:.2g}, "
            f"{self.matched[:, -1].mean():.1f} of {self.events} events matched, "
            f"{self.replications} × replayed>"
        )
