"""A scenario: arms, a horizon, and the policies to compare."""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from lastblock.core.layout import state_dtype
from lastblock.core.protocol import Policy
from lastblock.core.registry import POLICIES, check_policy, describe
from lastblock.lab.claims import Claim
from lastblock.lab.descriptions import describe_environment
from lastblock.simulation.run import Environment
from lastblock.simulation.simulate import check_size
from lastblock.support.checks import whole
from lastblock.support.errors import ScenarioError

NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]*")


@dataclass(frozen=True)
class Scenario:
    """An environment, a horizon, and the policies to compare in it.

    Parameters
    ----------
    name
        Letters, digits, dots, dashes: the results lie in a folder of this name.
    environment
        What the arms pay, and when it changes; no change may lie beyond the horizon.
    policies
        The policies by the labels they have in figures and tables.
    title
        For figures; the name if it is left out.
    claims
        What the results are expected to show; the report says whether they do.

    Examples
    --------
    >>> import lastblock as lb
    >>> scenario = lb.lab.Scenario(
    ...     name="two-coins",
    ...     environment=lb.Stationary([lb.Bernoulli(0.05), lb.Bernoulli(0.15)]),
    ...     horizon=1000,
    ...     policies={"LB-SDA": lb.LBSDA(), "TS": lb.Thompson()},
    ...     replications=100,
    ... )
    """

    name: str
    environment: Environment
    horizon: int
    policies: Mapping[str, Policy]
    title: str = ""
    replications: int = 2000
    seed: int = 1
    claims: tuple[Claim, ...] = ()
    source: str | None = field(default=None, compare=False, repr=False)
    """The text of the file it was read from."""

    def __post_init__(self) -> None:
        if not NAME.fullmatch(self.name):
            raise ScenarioError(
                f"name={self.name!r} must be of letters, digits, dots and dashes: it names a folder"
            )
        where = f"scenario {self.name!r}"
        try:
            check_size(self.environment, self.horizon, self.replications, 1)
            if whole(self.seed, "seed") < 0:
                raise ValueError(f"seed={self.seed} must not be negative")
            if not isinstance(self.policies, Mapping) or not self.policies:
                raise ValueError("policies: give at least one, as a dict from label to policy")
            for label, policy in self.policies.items():
                if not isinstance(label, str) or not label:
                    raise ValueError(f"policies: the label {label!r} must be a text")
                check_policy(policy)
                try:
                    state_dtype(policy, self.environment.n_arms, self.horizon)
                except ValueError as error:
                    raise ValueError(f"{label}: {error}") from None
        except ValueError as error:
            raise ScenarioError(f"{where}: {error}") from None
        for start in self.environment.changes:
            if start >= self.horizon:
                raise ScenarioError(
                    f"{where}: a phase starts at {start}, beyond the horizon {self.horizon}; "
                    "give a longer horizon or remove the phase"
                )
        for claim in self.claims:
            claim.check_labels(list(self.policies), where)

    @classmethod
    def load(
        cls,
        source: str | Path,
        *,
        horizon: int | None = None,
        replications: int | None = None,
        seed: int | None = None,
        reference: bool = False,
    ) -> "Scenario":
        """Read a TOML file, or a scenario that comes with the package by its name.

        Tunings follow a `horizon` that is given instead of the file's. `reference` makes the
        choices of the authors' code, as `with_reference`.

        >>> import lastblock as lb
        >>> sorted(lb.lab.Scenario.load("stationary").policies)
        ['LB-SDA', 'LB-SDA-LM', 'TS', 'UCB1', 'kl-UCB']
        """
        from lastblock.lab.scenario_files.reading import read  # it needs this class  # noqa: PLC0415

        return read(
            source, horizon=horizon, replications=replications, seed=seed, reference=reference
        )

    def replace(self, **changes: Any) -> "Scenario":
        """A copy with some things changed."""
        if not changes.keys() <= {"replications", "seed"}:  # not what the file says any more
            changes.setdefault("source", None)
        return replace(self, **changes)

    def with_reference(self) -> "Scenario":
        """The same with the choices of the authors' code, for every policy that knows them."""
        policies = {label: _with_reference(policy) for label, policy in self.policies.items()}
        return self.replace(policies=policies)

    def describe(self) -> dict[str, Any]:
        """All of it as plain data."""
        return {
            "name": self.name,
            "title": self.title or self.name,
            "horizon": self.horizon,
            "replications": self.replications,
            "seed": self.seed,
            "environment": describe_environment(self.environment),
            "policies": {label: describe(policy) for label, policy in self.policies.items()},
            "claims": [claim.describe() for claim in self.claims],
        }


def _with_reference(policy: Any) -> Any:
    """A policy, and those within it, with the choices of the authors' code."""
    changed = {
        name: True if name == "reference" else _with_reference(value)
        for name, value in policy._asdict().items()
        if name == "reference" or type(value).__name__ in POLICIES
    }
    return policy._replace(**changed) if changed else policy
