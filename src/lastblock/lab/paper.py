"""The paper's four experiments, with the parameters its authors used.

`reference=True` makes all choices of the authors' code at once, where it differs from the paper.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from lastblock.arms.bernoulli import Bernoulli
from lastblock.arms.gaussian import Gaussian
from lastblock.environments.piecewise import Piecewise, Stationary
from lastblock.models import Family
from lastblock.policies.cusumucb import CUSUMUCB
from lastblock.policies.dklucb import DKLUCB
from lastblock.policies.ducb import DUCB
from lastblock.policies.exp3 import EXP3S
from lastblock.policies.klucb import KLUCB
from lastblock.policies.lbsda import LBSDA
from lastblock.policies.lbsdalm import LBSDALM
from lastblock.policies.mucb import MUCB
from lastblock.policies.swklucb import SWKLUCB
from lastblock.policies.swlbsda import SWLBSDA
from lastblock.policies.swucb import SWUCB
from lastblock.policies.thompson import DiscountedThompson, SlidingWindowThompson, Thompson
from lastblock.policies.ucb1 import UCB1
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


def stationary(*, reference: bool = False) -> Scenario:
    """Figure "Cost of storage limitation": two Bernoulli arms that never change."""
    return Scenario(
        name="stationary",
        title="Bernoulli arms, no change",
        environment=Stationary(_bernoulli(0.05, 0.15)),
        policies={
            "LB-SDA": LBSDA(reference=reference),
            "LB-SDA-LM": LBSDALM(offset=50, reference=reference),
            "TS": Thompson(),
            "kl-UCB": KLUCB(),
            "UCB1": UCB1(),
        },
    )


def bernoulli_changes(*, reference: bool = False) -> Scenario:
    """Figure "Performance on a Bernoulli instance": three arms, two changes."""
    times: dict[str, Any] = {"horizon": HORIZON, "changes": 2}
    return Scenario(
        name="bernoulli-changes",
        title="Bernoulli arms, two changes",
        environment=Piecewise(
            {
                0: _bernoulli(0.5, 0.3, 0.4),
                3000: _bernoulli(0.3, 0.7, 0.2),
                5000: _bernoulli(0.5, 0.3, 0.6),
            }
        ),
        policies={
            "SW-LB-SDA": SWLBSDA.tuned(**times, reference=reference),
            "SW-TS": SlidingWindowThompson.tuned(**times),
            "DTS": DiscountedThompson.tuned(**times),
            "SW-kl-UCB": SWKLUCB.tuned(**times),
            "D-kl-UCB": DKLUCB.tuned(**times),
            "CUSUM-UCB": CUSUMUCB.tuned(**times),
            "M-UCB": MUCB.tuned(**times, arms=3),
            "EXP3.S": EXP3S.tuned(**times, arms=3, reference=reference),
        },
    )


def gaussian_changes(*, reference: bool = False) -> Scenario:
    """Figure "Performance on a Gaussian instance": three arms, σ = 0.5, three changes."""
    return _gaussian("gaussian-changes", "Gaussian arms, σ = 0.5", (0.5,) * 4, 0.5, reference)


def gaussian_variance_changes(*, reference: bool = False) -> Scenario:
    """The same means with σ = 0.5, 0.25, 1 and then 0.25 (paper) or 0.5 (authors' notebook)."""
    last = 0.5 if reference else 0.25
    title = f"Gaussian arms, σ = 0.5, 0.25, 1, {last:g}"
    return _gaussian(
        "gaussian-variance-changes", title, (0.5, 0.25, 1.0, last), told=1.0, reference=reference
    )


SCENARIOS = {
    "stationary": stationary,
    "bernoulli-changes": bernoulli_changes,
    "gaussian-changes": gaussian_changes,
    "gaussian-variance-changes": gaussian_variance_changes,
}


def _bernoulli(*means: float) -> list[Bernoulli]:
    return [Bernoulli(mean) for mean in means]


def _gaussian(
    name: str, title: str, stds: Sequence[float], told: float, reference: bool
) -> Scenario:
    """Three arms that change three times; `told` is the σ that some policies must know."""
    means = (0.9, 0.5, 0.4), (0.4, 0.8, 0.5), (0.3, 0.2, 0.7), (0.9, 0.8, 0.4)
    phases = zip((0, 2500, 4500, 7000), means, stds, strict=True)
    times: dict[str, Any] = {"horizon": HORIZON, "changes": 3}
    prior: dict[str, Any] = {
        "family": Family.GAUSSIAN,
        "prior_mean": 0.5,
        "prior_sigma": told,
        "sigma": told,
    }
    return Scenario(
        name=name,
        title=title,
        environment=Piecewise({t: [Gaussian(m, std) for m in ms] for t, ms, std in phases}),
        policies={
            "SW-LB-SDA": SWLBSDA.tuned(**times, reference=reference),
            "SW-TS": SlidingWindowThompson.tuned(**times, **prior),
            "DTS": DiscountedThompson.tuned(**times, **prior),
            # The experiment has log t in the bonus, as the code, not log(min(t, τ)).
            "SW-UCB": SWUCB.tuned(**times, sigma=told, reference=True),
            "D-UCB": DUCB.tuned(**times, sigma=told),
            "UCB1": UCB1.gaussian(told),
            "EXP3.S": EXP3S.tuned(**times, arms=3, reference=reference),
        },
    )
