"""The paper's experiments, with the parameters its authors used."""

from collections.abc import Mapping
from dataclasses import dataclass

from lastblock.arms.bernoulli import Bernoulli
from lastblock.environments.piecewise import Piecewise, Stationary
from lastblock.policies.lbsda import LBSDA
from lastblock.policies.lbsdalm import LBSDALM
from lastblock.policies.swlbsda import SWLBSDA
from lastblock.protocol import Policy

HORIZON = 10_000
REPLICATIONS = 2000


@dataclass(frozen=True)
class Scenario:
    """An environment, a horizon, and the policies to compare in it."""

    name: str
    title: str
    environment: Piecewise
    policies: Mapping[str, Policy]
    horizon: int = HORIZON


def _bernoulli(*means: float) -> list[Bernoulli]:
    return [Bernoulli(mean) for mean in means]


def stationary() -> Scenario:
    """Figure "Cost of storage limitation": two Bernoulli arms that never change."""
    return Scenario(
        name="stationary",
        title="Nothing changes",
        environment=Stationary(_bernoulli(0.05, 0.15)),
        policies=_three_algorithms(),
    )


def bernoulli_changes() -> Scenario:
    """Figure "Performance on a Bernoulli instance": three arms, two changes."""
    return Scenario(
        name="bernoulli-changes",
        title="Two changes",
        environment=Piecewise(
            {
                0: _bernoulli(0.5, 0.3, 0.4),
                3000: _bernoulli(0.3, 0.7, 0.2),
                5000: _bernoulli(0.5, 0.3, 0.6),
            }
        ),
        policies=_three_algorithms(),
    )


def _three_algorithms() -> dict[str, Policy]:
    return {
        "LB-SDA": LBSDA(),
        "LB-SDA-LM": LBSDALM(offset=50),
        "SW-LB-SDA": SWLBSDA.tuned(horizon=HORIZON, changes=2),
    }


SCENARIOS = {"stationary": stationary, "bernoulli-changes": bernoulli_changes}
