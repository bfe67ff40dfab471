"""Several policies on one log: their evaluations, and the paired differences between them."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from lastblock.core.protocol import Policy
from lastblock.drawing.names import short_names
from lastblock.replay.evaluation import Evaluation
from lastblock.support.checks import line
from lastblock.support.intervals import check_confidence
from lastblock.support.json_safe import json_fields
from lastblock.support.rounding import rounded
from lastblock.support.spelling import advice

if TYPE_CHECKING:
    from lastblock.drawing.canvas import Picture

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
