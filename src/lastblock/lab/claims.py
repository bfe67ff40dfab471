"""Claims: what a scenario expects its results to show."""

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

from lastblock.lab.claim_checks import CHECKS, Finding
from lastblock.support.checks import number
from lastblock.support.errors import ScenarioError
from lastblock.support.spelling import advice

if TYPE_CHECKING:
    from lastblock.lab.results import Result

CheckWord: TypeAlias = Literal["best", "last", "leading", "order", "close", "widest"]
"""The checks that a claim may name."""

_MANY = 1_000_000
_POLICIES = {  # the fewest and the most policies that a claim may name
    "best": (1, 1),
    "last": (1, 1),
    "leading": (1, _MANY),
    "order": (2, _MANY),
    "close": (2, 2),
    "widest": (1, 1),
}


@dataclass(frozen=True)
class Claim:
    """A sentence about a scenario, and the check that says whether the results show it.

    Parameters
    ----------
    text
        The sentence, as the report shows it.
    check
        One of

        - ``best``: the policy has the smallest regret; with a `margin`, less than that share of
          the next one's;
        - ``last``: the policy has the largest regret;
        - ``leading``: each of the policies has less regret than all others;
        - ``order``: the policies have increasing regret;
        - ``close``: the first policy's regret is within `margin` (a share) of the second's;
        - ``widest``: the policy has the widest band between the quartiles.
    policies
        The labels of the policies that the claim is about: one for ``best``, ``last`` and
        ``widest``, two for ``close``, two or more for ``order``, one or more for ``leading``.
    margin
        A positive share, for ``close`` and, if you like, for ``best``.

    Raises
    ------
    ScenarioError
        If `check` is unknown, or `policies` or `margin` do not fit it.
    """

    text: str
    check: CheckWord
    policies: tuple[str, ...]
    margin: float | None = None

    def __post_init__(self) -> None:
        where = f"the claim {self.text!r}"
        if self.check not in CHECKS:
            hint = advice(str(self.check), CHECKS)
            raise ScenarioError(f"{where}: unknown check {self.check!r}; {hint}")
        fewest, most = _POLICIES[self.check]
        if not fewest <= len(set(self.policies)) == len(self.policies) <= most:
            needed = f"{fewest} different policies" if fewest > 1 else "1 policy"
            if most > fewest:
                needed = f"{fewest} or more different policies"
            raise ScenarioError(
                f"{where}: {self.check!r} needs {needed}, not {list(self.policies)}"
            )
        if self.margin is None and self.check == "close":
            raise ScenarioError(f"{where}: 'close' needs a margin, such as 0.1")
        if self.margin is not None:
            if self.check not in {"best", "close"}:
                raise ScenarioError(f"{where}: {self.check!r} takes no margin; remove it")
            try:
                positive = number(self.margin, "margin") > 0.0
            except ValueError as error:
                raise ScenarioError(f"{where}: {error}") from None
            if not positive:
                raise ScenarioError(f"{where}: margin={self.margin} must be positive")

    def judge(self, result: "Result") -> Finding:
        """Return whether the result shows the claim, with the numbers that decide it.

        Each comparison of the check must be significant on its own, with 95 % confidence.
        """
        self.check_labels(result.labels, f"result {result.name!r}")
        regrets = {label: result.final_regret(label) for label in result.labels}
        return CHECKS[self.check](regrets, self.policies, self.margin)

    def check_labels(self, labels: Sequence[str], where: str) -> None:
        """Raise a `ScenarioError`, which starts with `where`, if a policy is not in `labels`."""
        for policy in self.policies:
            if policy not in labels:
                raise ScenarioError(
                    f"{where}: the claim {self.text!r} names the policy {policy!r}, "
                    f"which is not one of {', '.join(labels)}"
                )

    def describe(self) -> dict[str, Any]:
        """Return the claim as plain data for JSON."""
        return {**asdict(self), "policies": list(self.policies)}
