"""What results are expected to show, as data."""

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

from lastblock.lab.claim_checks import CHECKS, Verdict
from lastblock.support.checks import number
from lastblock.support.errors import ScenarioError
from lastblock.support.spelling import advice

if TYPE_CHECKING:
    from lastblock.lab.results import Result

_MANY = 1_000_000
_POLICIES = {  # how many a claim can name
    "best": (1, 1),
    "last": (1, 1),
    "leading": (1, _MANY),
    "order": (2, _MANY),
    "close": (2, 2),
    "widest": (1, 1),
}


@dataclass(frozen=True)
class Claim:
    """A sentence about a scenario, and the check that tells whether it shows in the results.

    `check` is one of

    - ``best``: the first policy has the smallest regret; with a `margin`, smaller than that share
      of the next one's;
    - ``last``: the first policy has the largest regret;
    - ``leading``: the named policies are ahead of all others;
    - ``order``: the named policies have increasing regret;
    - ``close``: the first policy's regret is within `margin` (a share) of the second's;
    - ``widest``: the first policy's quartile band is the widest.
    """

    text: str
    check: str
    policies: tuple[str, ...]
    margin: float | None = None

    def __post_init__(self) -> None:
        where = f"the claim {self.text!r}"
        if self.check not in CHECKS:
            hint = advice(str(self.check), CHECKS)
            raise ScenarioError(f"{where}: unknown check {self.check!r}; {hint}")
        fewest, most = _POLICIES[self.check]
        if not fewest <= len(set(self.policies)) == len(self.policies) <= most:
            number_of = f"{fewest} or more" if most > fewest else f"{fewest}"
            raise ScenarioError(
                f"{where}: {self.check!r} is about {number_of} different policies, "
                f"not {list(self.policies)}"
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

    def judge(self, result: "Result") -> Verdict:
        """Whether the claim shows in a result, and the figures beside it.

        Each comparison that it makes must be significant on its own, with 95 % confidence.
        """
        self.check_labels(result.labels, f"result {result.name!r}")
        regrets = {label: result.final_regret(label) for label in result.labels}
        return CHECKS[self.check](regrets, self.policies, self.margin)

    def check_labels(self, labels: Sequence[str], where: str) -> None:
        """Raise a `ScenarioError` if the claim is about a policy that is not there."""
        for policy in self.policies:
            if policy not in labels:
                raise ScenarioError(
                    f"{where}: the claim {self.text!r} is about {policy!r}, "
                    f"which is not one of {', '.join(labels)}"
                )

    def describe(self) -> dict[str, Any]:
        """All of it as plain data."""
        return {**asdict(self), "policies": list(self.policies)}
