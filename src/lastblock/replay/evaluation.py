"""The outcome of a replay: mean rewards, their uncertainty, and paired differences."""

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from lastblock.core.protocol import Policy
from lastblock.drawing.names import short_names
from lastblock.live.labels import Label
from lastblock.support.checks import line
from lastblock.support.intervals import check_confidence, normal_interval
from lastblock.support.json_safe import json_fields, json_safe
from lastblock.support.rounding import rounded
from lastblock.support.spelling import advice

if TYPE_CHECKING:
    from lastblock.drawing.canvas import Picture


def ratio(sums: npt.NDArray[Any], counts: npt.NDArray[np.int64]) -> npt.NDArray[np.float64]:
    """Return sums / counts, NaN where the count is 0."""
    means = np.full(counts.size, np.nan)
    np.divide(sums, counts, out=means, where=counts > 0)
    return means


@dataclass(frozen=True)
class Evaluation:
    """The mean reward of a policy on a log, and its uncertainty; `Replay.evaluate` returns it.

    A pass is one replay of the log; there are as many passes as replications.
    """

    policy: Policy
    """The policy that was evaluated."""
    arms: tuple[Label, ...]
    """The labels of the arms, in the order of `pulls`."""
    events: int
    """The number of events in the log, which each pass reads unless a horizon ends it before."""
    times: npt.NDArray[np.int64]
    """The numbers of events read at which `matched` and `reward` were noted; ends with `events`."""
    matched: npt.NDArray[np.int64]
    """How many events had matched at each of `times`, (replications, times)."""
    reward: npt.NDArray[np.float64]
    """The sum of the rewards of these events, (replications, times)."""
    pulls: npt.NDArray[np.int64]
    """How many events of each arm matched, (replications, K)."""
    errors: npt.NDArray[np.float64]
    """The standard error of each pass over its matched events; NaN if only one matched."""
    resampled: npt.NDArray[np.float64]
    """The mean reward of each pass over a resampled log; empty without `bootstrap`.

    With the same seed, pass i of every policy reads the same resampled log.
    """
    best_mean: float
    """The largest mean of an arm over the whole log. As a maximum, it is biased upwards."""
    seconds: float
    """The time taken in seconds, without compilation."""

    @property
    def replications(self) -> int:
        """The number of passes over the log."""
        return int(self.matched.shape[0])

    @property
    def estimates(self) -> npt.NDArray[np.float64]:
        """The mean reward of the matched events of each pass."""
        return np.asarray(self.reward[:, -1] / self.matched[:, -1])

    @property
    def estimate(self) -> float:
        """The estimate of the policy's mean reward: the mean of `estimates`."""
        return float(self.estimates.mean())

    @property
    def standard_error(self) -> float:
        """The standard error of one pass; `covers` says what it covers.

        With bootstrap passes it is their standard deviation. Without, it is the standard error over
        the matched events (the root mean square over several passes). More passes over one log do
        not make it smaller, since they all read the same events.
        """
        if self.resampled.size:
            return float(self.resampled.std(ddof=1))
        return float(np.sqrt(np.square(self.errors).mean()))

    def interval(self, confidence: float = 0.95) -> tuple[float, float]:
        """Return an interval for the mean reward; `covers` says what it covers.

        Parameters
        ----------
        confidence
            The share of such intervals that contain the true mean reward.

        Returns
        -------
        tuple of float
            Quantiles of the bootstrap passes, if there are any; else by the normal approximation.

        Raises
        ------
        ValueError
            If `confidence` does not lie between 0 and 1.
        """
        if self.resampled.size:
            tail = 0.5 - check_confidence(confidence) / 2.0
            low, high = np.quantile(self.resampled, [tail, 1.0 - tail])
            return float(low), float(high)
        return normal_interval(self.estimate, self.standard_error, confidence)

    @property
    def covers(self) -> str:
        """Which variation the standard error and the interval cover, and which not, in words."""
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
        """The standard error of `estimate` over the policy's own randomness, on this log alone.

        It is NaN if there is only one pass.
        """
        if self.replications < 2:
            return math.nan
        return float(self.estimates.std(ddof=1) / math.sqrt(self.replications))

    def curve(self) -> npt.NDArray[np.float64]:
        """Return the mean reward of the events matched up to each of `times`.

        Returns
        -------
        numpy.ndarray
            One mean per time, over all passes together; NaN where nothing has matched yet.
        """
        matched = self.matched.sum(axis=0)
        reward = self.reward.sum(axis=0)
        return ratio(reward, matched)

    def regret(self) -> npt.NDArray[np.float64]:
        """Return the mean regret at each of `times`.

        Returns
        -------
        numpy.ndarray
            What the matched events would have earned at `best_mean` each, less what they earned;
            the mean over the passes.
        """
        return np.asarray((self.best_mean * self.matched - self.reward).mean(axis=0))

    def to_dict(self) -> dict[str, object]:
        """Return the evaluation as plain JSON values; infinite numbers and NaN become None.

        It has the estimate with its error and 95 % interval, the estimates of the passes, and the
        curves over `times`; not the passes in full.
        """
        return {
            "policy": str(self.policy),
            "arms": list(self.arms),
            "events": self.events,
            "replications": self.replications,
            "estimate": json_safe(self.estimate),
            "standard_error": json_safe(self.standard_error),
            "interval": json_safe(self.interval()),
            "covers": self.covers,
            "seed_error": json_safe(self.seed_error),
            "estimates": json_safe(self.estimates),
            "resampled": json_safe(self.resampled),
            "matched": json_safe(self.matched[:, -1]),
            "pulls": json_safe(self.pulls.mean(axis=0)),
            "best_mean": json_safe(self.best_mean),
            "times": json_safe(self.times),
            "curve": json_safe(self.curve()),
            "regret": json_safe(self.regret()),
            "seconds": json_safe(self.seconds),
        }

    def plot(self, path: str | Path | None = None, *, width: float | None = None) -> "Picture":
        """Draw the mean reward of the events matched so far, as a Matplotlib figure.

        The band holds the middle half of the passes. To draw several policies, evaluate them
        together: `Evaluations.plot`.

        Parameters
        ----------
        path
            A file to write the figure to; its name ends in .png, .svg or .pdf. None writes none.
        width
            The width of the figure in inches; by default 6.6.

        Returns
        -------
        Picture
            The figure, which a notebook displays.

        Raises
        ------
        ValueError
            If `path` has another ending, or `width` is no width of a figure.
        ImportError
            If matplotlib is not installed.
        """
        from lastblock.replay.figure import draw_evaluations  # noqa: PLC0415  # slow to import

        return draw_evaluations({type(self.policy).__name__: self}, path, width)

    def __repr__(self) -> str:
        return (
            f"<Evaluation of {self.policy}: {self.estimate:.4g} ± {self.standard_error:.2g}, "
            f"{self.matched[:, -1].mean():.1f} of {self.events} events matched, "
            f"{self.replications} × replayed>"
        )


ALONE = ""
"""The label of a policy that is evaluated alone."""


@dataclass(frozen=True)
class PairedDifference:
    """By how much a policy earned more per step than another; `Evaluations.differences` makes it.

    Both read the same resampled logs, so what these have in common cancels out.
    """

    policy: str
    """The label of the policy."""
    baseline: str
    """The label of the policy that it is compared with."""
    value: float
    """The mean reward of the policy, less that of the baseline."""
    standard_error: float
    """Its standard error: the standard deviation over the resampled logs."""
    interval: tuple[float, float]
    """An interval for it, by quantiles over the resampled logs."""
    confidence: float
    """The confidence of the interval."""
    ahead: float
    """The share of the resampled logs on which the policy earned more than the baseline; equal ones
    count half."""

    def to_dict(self) -> dict[str, object]:
        """Return the difference as plain JSON values."""
        return json_fields(self)

    def __repr__(self) -> str:
        value, error = rounded(self.value, self.standard_error)
        low, high = self.interval
        return (
            f"<{self.policy} less {self.baseline}: {value} ± {error}, {self.confidence:.4g} "
            f"interval [{low:.4g}, {high:.4g}], ahead on {self.ahead:.0%} of resampled logs>"
        )


class Evaluations(Mapping[str, Evaluation]):
    """The evaluations of several policies on one log, by label; `Replay.evaluate` returns it.

    Parameters
    ----------
    evaluations
        The evaluations by the labels of their policies, all with the same seed.
    """

    def __init__(self, evaluations: Mapping[str, Evaluation]) -> None:
        self._evaluations = dict(evaluations)

    def __getitem__(self, label: str) -> Evaluation:
        return self._evaluations[label]

    def __iter__(self) -> Iterator[str]:
        return iter(self._evaluations)

    def __len__(self) -> int:
        return len(self._evaluations)

    def differences(
        self, baseline: str | None = None, confidence: float = 0.95
    ) -> dict[str, PairedDifference]:
        """Return by how much each policy earned more than a baseline, on the same resampled logs.

        Parameters
        ----------
        baseline
            The label of the policy to compare with; by default the first.
        confidence
            The share of such intervals that contain the true difference. Each interval holds on its
            own, not all of them at once.

        Returns
        -------
        dict
            The difference of each other policy, by label.

        Raises
        ------
        ValueError
            If `baseline` is unknown, `confidence` does not lie between 0 and 1, or the policies
            were evaluated without `bootstrap`.
        """
        tail = 0.5 - check_confidence(confidence) / 2.0
        base = next(iter(self)) if baseline is None else baseline
        if base not in self:
            raise ValueError(f"baseline={base!r} is unknown; {advice(str(base), list(self))}")
        if not self[base].resampled.size:
            raise ValueError(
                "differences are paired on resampled logs; evaluate with bootstrap=200, say"
            )
        found = {}
        for label, evaluation in self.items():
            if label != base:
                gaps = evaluation.resampled - self[base].resampled
                low, high = np.quantile(gaps, [tail, 1.0 - tail])
                found[label] = PairedDifference(
                    policy=label,
                    baseline=base,
                    value=evaluation.estimate - self[base].estimate,
                    standard_error=float(gaps.std(ddof=1)),
                    interval=(float(low), float(high)),
                    confidence=float(confidence),
                    ahead=float((gaps > 0.0).mean() + 0.5 * (gaps == 0.0).mean()),
                )
        return found

    def plot(self, path: str | Path | None = None, *, width: float | None = None) -> "Picture":
        """Draw all policies in one figure; parameters, result and errors as `Evaluation.plot`."""
        from lastblock.replay.figure import draw_evaluations  # noqa: PLC0415  # slow to import

        return draw_evaluations(self, path, width)

    def to_dict(self) -> dict[str, object]:
        """Return the evaluations by label as plain JSON values."""
        return {label: evaluation.to_dict() for label, evaluation in self.items()}

    def __repr__(self) -> str:
        lines = (
            f"{label}: {evaluation.estimate:.4g} ± {evaluation.standard_error:.2g}"
            for label, evaluation in self.items()
        )
        return f"<Evaluations: {', '.join(lines)}>"


def by_label(policy: Policy | Sequence[Policy] | Mapping[str, Policy]) -> Mapping[str, Any]:
    """Return the policies by their labels."""
    if isinstance(policy, Mapping):
        if not policy:
            raise ValueError("policy: give at least one policy")
        return {line(label, "policy: label"): each for label, each in policy.items()}
    if type(policy) not in (list, tuple):
        return {ALONE: policy}
    several: list[Any] = list(policy)  # type: ignore[arg-type]  # a list or a plain tuple
    if not several:
        raise ValueError("policy: give at least one policy")
    return dict(zip(short_names(several), several, strict=True))
