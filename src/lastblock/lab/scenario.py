"""A scenario: arms, a horizon, and the policies to compare."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from lastblock.core.layout import state_dtype
from lastblock.core.protocol import Policy
from lastblock.core.registry import POLICIES, describe, require_policy
from lastblock.core.support import check_fit
from lastblock.lab.descriptions import describe_environment
from lastblock.lab.sweeps import Sweep, swept
from lastblock.simulation.delays import Delay, check_delay, describe_delay
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
        The name of the folder of the results: letters, digits, dots and dashes.
    environment
        The arms, and how they change. Every change must lie before the horizon.
    horizon
        T, the number of pulls in each replication.
    policies
        A dict from labels, which figures and tables show, to policies.
    title
        The title of figures; default: the name.
    replications
        How many replications to run.
    seed
        The seed of all random streams; a whole number of at least 0.
    delay
        How late rewards come, such as ``FixedDelay(100)``; None: at once.
    sweeps
        Which of the policies are one policy with several values of a parameter; `sweep` and
        scenario files fill this in.
    source
        The text of the TOML file that the scenario was read from, if any.

    Raises
    ------
    ScenarioError
        If a parameter is out of range, or a policy does not fit the arms or the horizon.

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
    delay: Delay | None = None
    sweeps: tuple[Sweep, ...] = ()
    source: str | None = field(default=None, compare=False, repr=False)

    def __post_init__(self) -> None:
        if not NAME.fullmatch(self.name):
            raise ScenarioError(
                f"name={self.name!r} must consist of letters, digits, dots and dashes: "
                "it names a folder"
            )
        where = f"scenario {self.name!r}"
        try:
            check_delay(self.delay)
            check_size(self.environment, self.horizon, self.replications, 1)
            if whole(self.seed, "seed") < 0:
                raise ValueError(f"seed={self.seed} must not be negative")
            if not isinstance(self.policies, Mapping) or not self.policies:
                raise ValueError("policies: give at least one, as a dict from label to policy")
            for label, policy in self.policies.items():
                if not isinstance(label, str) or not label:
                    raise ValueError(f"policies: the label {label!r} must be a text")
                require_policy(policy)
                try:
                    state_dtype(policy, self.environment.n_arms, self.horizon)
                    check_fit(policy, self.environment)
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
        """Read a scenario from a TOML file, or one that comes with the package.

        Parameters
        ----------
        source
            The path of a TOML file, or the name of a scenario that comes with the package.
        horizon, replications, seed
            Numbers to use instead of the file's. Tunings use the new horizon.
        reference
            Follow the authors' code where it differs from the paper, as `with_reference` does.

        Returns
        -------
        Scenario
            The scenario.

        Raises
        ------
        ScenarioError
            If there is no such scenario, or if it has a mistake; the message names the key.

        Examples
        --------
        >>> import lastblock as lb
        >>> sorted(lb.lab.Scenario.load("stationary").policies)
        ['LB-SDA', 'LB-SDA-LM', 'TS', 'UCB1', 'kl-UCB']
        """
        from lastblock.lab.scenario_files.reading import read  # it needs this class  # noqa: PLC0415

        return read(
            source, horizon=horizon, replications=replications, seed=seed, reference=reference
        )

    def replace(self, **changes: Any) -> "Scenario":
        """Return a copy in which the parameters given as keywords are changed.

        The copy keeps `source` only if nothing but `replications` or `seed` changes.

        Parameters
        ----------
        **changes
            New values of parameters of `Scenario`.

        Returns
        -------
        Scenario
            The copy.

        Raises
        ------
        ValueError
            If a value is out of range.
        TypeError
            If `Scenario` has no such parameter.
        """
        if not changes.keys() <= {"replications", "seed"}:
            changes.setdefault("source", None)  # the file's text no longer describes it
        return replace(self, **changes)

    def sweep(self, label: str, **values: Sequence[float]) -> "Scenario":
        """Return a copy in which one policy is there with several values of a parameter.

        Parameters
        ----------
        label
            The label of the policy.
        **values
            The parameter, and a list of its values.

        Returns
        -------
        Scenario
            The copy. The versions of the policy are labelled ``"LABEL, PARAMETER = VALUE"``.

        Raises
        ------
        ValueError
            If the policy or its parameter is unknown, or a value is out of range.
        TypeError
            If there is not exactly one parameter.

        Examples
        --------
        >>> import lastblock as lb
        >>> scenario = lb.lab.Scenario.load("bernoulli-changes")
        >>> list(scenario.sweep("SW-LB-SDA", window=[200, 400]).policies)[:3]
        ['SW-LB-SDA, window = 200', 'SW-LB-SDA, window = 400', 'SW-TS']
        """
        if len(values) != 1:
            raise TypeError(
                f"sweep() takes one parameter at a time, not {len(values)}; "
                "sweep the copy again for another policy"
            )
        ((parameter, given),) = values.items()
        policies, sweep = swept(self.policies, label, parameter, given)
        return self.replace(policies=policies, sweeps=(*self.sweeps, sweep))

    def with_reference(self) -> "Scenario":
        """Return a copy that follows the authors' code where it differs from the paper.

        It sets ``reference=True`` for every policy that has this parameter.
        """
        policies = {label: _with_reference(policy) for label, policy in self.policies.items()}
        return self.replace(policies=policies)

    def describe(self) -> dict[str, Any]:
        """Return the scenario as plain data for JSON; the results contain it."""
        return {
            "name": self.name,
            "title": self.title or self.name,
            "horizon": self.horizon,
            "replications": self.replications,
            "seed": self.seed,
            "environment": describe_environment(self.environment),
            **({} if self.delay is None else {"delay": describe_delay(self.delay)}),
            "policies": {label: describe(policy) for label, policy in self.policies.items()},
            **({"sweeps": [sweep.describe() for sweep in self.sweeps]} if self.sweeps else {}),
        }


def _with_reference(policy: Any) -> Any:
    """Return the policy with ``reference=True``, also for the policies inside it."""
    changed = {
        name: True if name == "reference" else _with_reference(value)
        for name, value in policy._asdict().items()
        if name == "reference" or type(value).__name__ in POLICIES
    }
    return policy._replace(**changed) if changed else policy
