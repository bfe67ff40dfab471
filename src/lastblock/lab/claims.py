"""What results are expected to show, as data."""

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

from lastblock.errors import ScenarioError


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
