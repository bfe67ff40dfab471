"""What would other policies have earned? Replays of a bandit's own log."""

import tempfile
from pathlib import Path
from typing import Any

import numpy as np

from lastblock.core.protocol import Policy
from lastblock.core.registry import as_written
from lastblock.replay.replay import Replay
from lastblock.serve.messages import Earned, EarnedBy, Evaluated, NewEvaluation
from lastblock.serve.policies import read_policy
from lastblock.serve.problems import ProblemError
from lastblock.store.store import Store
from lastblock.support.columns import CHOICES, read_columns


def check_policies(wanted: NewEvaluation) -> dict[str, Policy]:
    """Return the policies to evaluate by their names, or raise a ValueError."""
    made = [read_policy(each) for each in wanted.policies]
    return {as_written(policy): policy for policy in made}


def evaluate(
    store: Store, name: str, policies: dict[str, Policy], wanted: NewEvaluation
) -> Evaluated:
    """Replay the log of a bandit to other policies; it may take seconds.

    Only decisions with a probability are used, so the bandit needs traffic floors. If arms came
    and went, or were left out, those decisions count in which all arms could be chosen that can be
    now; if there is none, those since the last change.

    Raises
    ------
    ProblemError
        If the log cannot be used; the message says what it lacks.
    """
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "log.jsonl"
        if not store.export(name, path):
            raise ProblemError(
                "conflict", f"bandit {name!r} has no decisions with a reward in its log yet"
            )
        columns = read_columns(path, ["arm", "reward", "probability"], CHOICES)
        is_known = np.array([chance is not None for chance in columns["probability"]])
        if not is_known.any():
            raise ProblemError(
                "conflict",
                f"the log of bandit {name!r} does not say with which probability each arm was "
                'chosen; set a floor for that, {"floor": 0.05}, and wait for decisions with it',
            )
        some = {column: values[is_known] for column, values in columns.items()}
        try:
            log = Replay(some, propensity="probability")
        except ValueError as error:
            raise ProblemError("conflict", f"the log of bandit {name!r}: {error}") from None
        parts = log.by_choices()
        arms = store.bandit(name).arms
        present = {label for label, state in arms.items() if state == "active"}
        part = next((part for part in parts if set(part.arms) == present), parts[-1])
        usable = part.uniform(seed=wanted.seed)
        found = usable.evaluate(
            policies,
            replications=wanted.replications,
            bootstrap=wanted.bootstrap,
            seed=wanted.seed,
        )
    logged = part.estimate().ips
    return Evaluated(
        decisions=len(log),
        used=len(usable),
        logged=_earned(logged.value, logged.standard_error, logged.interval()),
        policies=[
            EarnedBy(
                policy=policy,
                matched=float(each.matched[:, -1].mean()),
                earned=_earned(each.estimate, each.standard_error, each.interval()),
            )
            for policy, each in found.items()
        ],
    )


def _earned(mean: Any, error: Any, interval: tuple[Any, Any]) -> Earned:
    low, high = interval
    values = [float(value) for value in (mean, error, low, high)]
    mean, error, low, high = (value if value == value else None for value in values)  # noqa: PLR0124  # NaN
    return Earned(mean=mean, standard_error=error, low=low, high=high)
