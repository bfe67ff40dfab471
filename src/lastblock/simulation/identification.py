"""The search for the best arm in a simulation: what to recommend when, and when to stop.

It reads what was played, so that no kernel knows of it and other simulations cost what they did.
"""

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from lastblock.core.support import Support
from lastblock.environments.drifting import Drifting
from lastblock.support.checks import number
from lastblock.support.json_safe import json_safe
from lastblock.theory.confidence_sequences import (
    Bounded,
    Coins,
    FiniteVariance,
    Model,
    Rewards,
    log_evidence_at_most,
    log_evidence_between,
)

Floats = npt.NDArray[np.float64]

EVERY_PULL = 500
"""Up to this number of pulls the verdict is asked for after each of them …"""

STRIDE = 1.002
"""… and later whenever there are 0.2 % more. To ask more often would hardly stop sooner."""

_AT_ONCE = 16


@dataclass(frozen=True)
class Identification:
    """How well the best arm was found. `simulate` makes it, with `confidence=`.

    After each number of pulls, the arm with the largest mean of its rewards is recommended; if
    several have it, each with the same probability. We stop when `Bandit.verdict` would say so.
    """

    confidence: float
    """The confidence of the verdict."""
    times: npt.NDArray[np.int64]
    """The numbers of pulls after which the recommendation was judged: those of the `Run`."""
    simple_regret: Floats
    """The largest mean minus the mean of the recommended arm, both true. Shape (replications,
    times)."""
    wrong: Floats
    """The probability that the recommended arm is not a best one, given the rewards so far: 0 or 1,
    or between if several arms have the largest mean. Shape (replications, times)."""
    stopped: npt.NDArray[np.int64]
    """After how many pulls each replication stopped; −1 if it did not, up to the horizon. The
    verdict is asked for after each of the first 500 pulls, and later at every 0.2 % more."""
    stopped_wrong: npt.NDArray[np.bool_]
    """Whether each replication stopped with an arm that is not a best one."""

    @property
    def replications(self) -> int:
        """The number of replications."""
        return int(self.stopped.size)

    @property
    def undecided(self) -> float:
        """The share of replications that did not stop."""
        return float(np.mean(self.stopped < 0))

    def mean_simple_regret(self) -> Floats:
        """Return the mean simple regret at each of `times`."""
        return np.asarray(self.simple_regret.mean(axis=0))

    def error_probability(self) -> Floats:
        """Return the share of wrong recommendations at each of `times`."""
        return np.asarray(self.wrong.mean(axis=0))

    def stopping_error(self) -> tuple[float, float]:
        """Return the share of replications that stopped with a wrong arm, and its standard error.

        It should be at most 1 − `confidence`.
        """
        share = float(np.mean(self.stopped_wrong))
        return share, math.sqrt(share * (1.0 - share) / self.replications)

    def mean_stopping_time(self) -> tuple[float, float]:
        """Return the mean number of pulls until the stop, and its standard error.

        Both are infinite if a replication did not stop: ask `quantile`, or for a longer horizon.
        """
        if np.any(self.stopped < 0):
            return math.inf, math.inf
        n = self.replications
        error = float(self.stopped.std(ddof=1)) / math.sqrt(n) if n > 1 else math.nan
        return float(self.stopped.mean()), error

    def quantile(self, q: float) -> float:
        """Return a quantile of the number of pulls until the stop; infinite beyond the horizon.

        Parameters
        ----------
        q
            The probability of the quantile, in [0, 1]; 0.5 gives the median.

        Raises
        ------
        ValueError
            If `q` is not a number in [0, 1].
        """
        q = number(q, "q")
        if not 0.0 <= q <= 1.0:
            raise ValueError(f"q={q} must lie in [0, 1]")
        times = np.where(self.stopped < 0, np.inf, self.stopped)
        return float(np.quantile(times, q, method="inverted_cdf"))

    def to_dict(self) -> dict[str, object]:
        """Return curves and figures as plain JSON values; what is infinite becomes None."""
        error, _ = self.stopping_error()
        found = {
            "confidence": self.confidence,
            "times": self.times,
            "simple_regret": self.mean_simple_regret(),
            "error_probability": self.error_probability(),
            "stopped": self.stopped,
            "stopping_error": error,
            "mean_stopping_time": self.mean_stopping_time()[0],
            "undecided": self.undecided,
        }
        return {name: json_safe(value) for name, value in found.items()}

    def __repr__(self) -> str:
        mean, error = self.mean_stopping_time()
        middle = f"mean {mean:.1f} ± {error:.1f}" if mean < math.inf else "undecided in some"
        wrong = self.stopping_error()[0]
        return (
            f"<Identification at {100 * self.confidence:g} %: stopped after {middle} pulls, "
            f"median {self.quantile(0.5):g}; wrong in {100 * wrong:.2g} %, "
            f"undecided {100 * self.undecided:.2g} %>"
        )


def check_world(environment: Any, delay: object) -> None:
    """Raise a ValueError unless the search for the best arm makes sense in an environment."""
    if environment.changes or isinstance(environment, Drifting):
        raise ValueError(
            "confidence: the search for the best arm needs arms whose means do not change; use "
            "Stationary or Prior, or leave confidence out"
        )
    if delay is not None:
        raise ValueError(
            "confidence: a verdict on rewards that come late is not simulated; leave delay or "
            "confidence out"
        )


class Examiner:
    """Judges replications, one at a time, and collects what it finds."""

    def __init__(
        self,
        confidence: float,
        times: npt.NDArray[np.int64],
        replications: int,
        arms: int,
        support: Support | None,
    ) -> None:
        self._threshold = math.log(arms - 1) - math.log1p(-confidence)
        self._arms = arms
        self._support = support
        horizon = int(times[-1])
        self._looks = np.union1d(_looks(horizon), times)
        self._taken = np.searchsorted(self._looks, times)
        self.found = Identification(
            confidence,
            times,
            np.empty((replications, times.size)),
            np.empty((replications, times.size)),
            np.full(replications, -1, np.int64),
            np.zeros(replications, np.bool_),
        )
        self._span = np.searchsorted(self._looks, np.arange(1, horizon + 1))

    def judge(
        self, place: int, means: Floats, arms: npt.NDArray[np.int64], rewards: Floats
    ) -> None:
        """Judge a replication with these true means, arms and rewards."""
        gaps = means.max() - means
        model, shift = self._model(rewards)
        so_far = self._so_far(arms, rewards, shift)
        seen = np.where(so_far.number > 0.0, so_far.mean, -np.inf)
        is_first = seen[self._taken] == seen[self._taken].max(axis=1, keepdims=True)
        share = is_first / is_first.sum(axis=1, keepdims=True)
        self.found.simple_regret[place] = share @ gaps
        self.found.wrong[place] = share @ (gaps > 0.0)
        look = self._stop(model, so_far, seen)
        if look is not None:
            self.found.stopped[place] = self._looks[look]
            self.found.stopped_wrong[place] = gaps[int(np.argmax(seen[look]))] > 0.0

    def _model(self, rewards: Floats) -> tuple[Model, float]:
        """Return what is known of the rewards, and a number to subtract from them in sums."""
        support = self._support
        if support is None or not (math.isfinite(support.low) and math.isfinite(support.high)):
            is_positive = support is not None and support.low >= 0.0
            return FiniteVariance(low=0.0 if is_positive else -math.inf), float(rewards.mean())
        if support == Support(0.0, 1.0) and bool(np.all((rewards == 0.0) | (rewards == 1.0))):
            return Coins(), 0.0
        if support.low == support.high:
            return FiniteVariance(), 0.0
        return Bounded(support.low, support.high), support.low

    def _so_far(self, arms: npt.NDArray[np.int64], rewards: Floats, shift: float) -> Rewards:
        """Return the rewards of each arm up to each look."""
        shape = self._looks.size, self._arms
        cells = self._span * self._arms + arms
        size = shape[0] * shape[1]

        def summed(weights: Floats | None) -> Floats:
            found: Floats = np.bincount(cells, weights, size).reshape(shape).cumsum(axis=0)
            return found.astype(np.float64)

        moved = rewards - shift
        counts, sums, squares = summed(None), summed(moved), summed(moved * moved)
        low, high = np.full(size, np.inf), np.full(size, -np.inf)
        np.minimum.at(low, cells, rewards)
        np.maximum.at(high, cells, rewards)
        low = np.minimum.accumulate(low.reshape(shape), axis=0)
        high = np.maximum.accumulate(high.reshape(shape), axis=0)
        safe = np.maximum(counts, 1.0)
        spread = np.maximum(squares - sums * (sums / safe), 0.0)
        width = np.where(counts > 0.0, high, 0.0) - np.where(counts > 0.0, low, 0.0)
        return Rewards(counts, shift + sums / safe, spread, width)

    def _stop(self, model: Model, so_far: Rewards, seen: Floats) -> int | None:
        """Return the first look at which the verdict is to stop, or None."""
        looks, arms = so_far.number.shape
        flat = Rewards(*(column.ravel() for column in so_far))
        leader = np.argmax(seen, axis=1)
        rivals = np.array([[j for j in range(arms) if j != k] for k in range(arms)])[leader]
        first = (np.arange(looks) * arms)[:, None]
        better = np.broadcast_to(first + leader[:, None], rivals.shape)
        worse = first + rivals
        # An arm without rewards is not ruled out.
        is_possible = np.all(so_far.number > 0.0, axis=1).nonzero()[0]
        if is_possible.size == 0:
            return None
        most = log_evidence_at_most(
            model, flat, better[is_possible].ravel(), worse[is_possible].ravel()
        )
        enough = most.reshape(is_possible.size, -1).min(axis=1) >= self._threshold
        candidates = is_possible[enough]
        for begin in range(0, candidates.size, _AT_ONCE):
            some = candidates[begin : begin + _AT_ONCE]
            found = log_evidence_between(model, flat, better[some].ravel(), worse[some].ravel())
            stops = found.reshape(some.size, -1).min(axis=1) >= self._threshold
            if stops.any():
                return int(some[int(np.argmax(stops))])
        return None


def _looks(horizon: int) -> npt.NDArray[np.int64]:
    """Return the numbers of pulls after which the verdict is asked for."""
    first = np.arange(1, min(horizon, EVERY_PULL) + 1)
    if horizon <= EVERY_PULL:
        return first
    steps = math.ceil(math.log(horizon / EVERY_PULL) / math.log(STRIDE))
    later = np.ceil(EVERY_PULL * STRIDE ** np.arange(1, steps + 1)).astype(np.int64)
    return np.unique(np.concatenate([first, np.minimum(later, horizon)]))
