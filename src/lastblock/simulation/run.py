"""What a simulation returns."""

from dataclasses import dataclass
from typing import Protocol

import numpy as np
import numpy.typing as npt

from lastblock.core.protocol import EnvironmentTable, Policy
from lastblock.support.checks import number


class Environment(Protocol):
    """What `simulate` needs of an environment."""

    @property
    def n_arms(self) -> int: ...
    @property
    def changes(self) -> tuple[int, ...]: ...
    def compile(self, horizon: int) -> EnvironmentTable: ...


@dataclass(frozen=True)
class Run:
    """The outcome of `simulate`."""

    policy: Policy
    environment: Environment
    horizon: int
    times: npt.NDArray[np.int64]
    """Numbers of pulls at which the regret was taken; the last one is the horizon."""
    regret: npt.NDArray[np.float64]
    """Dynamic pseudo-regret, (replications, times): from true means, never from rewards."""
    best_pulls: npt.NDArray[np.int64]
    """Pulls of an arm that was the best at the time, up to each of `times`; like `regret`."""
    phase_pulls: npt.NDArray[np.int64]
    """(replications, phases, K); arms that drift are one phase"""
    delays: npt.NDArray[np.int64]
    """Pulls from the start of each phase until a best arm had 32 of the last 64; −1 for never."""
    restarts: npt.NDArray[np.int64]
    """How often the policy restarted in each replication; −1 for one that does not count."""
    seconds: float
    """Time taken, without compilation."""

    @property
    def replications(self) -> int:
        return int(self.regret.shape[0])

    @property
    def pulls(self) -> npt.NDArray[np.int64]:
        """(replications, K)"""
        return np.asarray(self.phase_pulls.sum(axis=1))

    def mean(self) -> npt.NDArray[np.float64]:
        """Mean regret at each of `times`."""
        return np.asarray(self.regret.mean(axis=0))

    def quantile(self, q: float) -> npt.NDArray[np.float64]:
        """A quantile of the regret at each of `times`."""
        q = number(q, "q")
        if not 0.0 <= q <= 1.0:
            raise ValueError(f"q={q} must lie in [0, 1]")
        return np.asarray(np.quantile(self.regret, q, axis=0))

    def standard_error(self) -> npt.NDArray[np.float64]:
        """Standard error of `mean()`; NaN with a single replication."""
        if self.replications < 2:
            return np.full(self.times.size, np.nan)
        return np.asarray(self.regret.std(axis=0, ddof=1) / np.sqrt(self.replications))

    def __repr__(self) -> str:
        return (
            f"<Run of {self.policy}: {self.replications} × {self.horizon} steps, "
            f"final regret {self.mean()[-1]:.2f} ± {self.standard_error()[-1]:.2f}>"
        )


@dataclass(frozen=True)
class Trace:
    """One replication, step by step."""

    arms: npt.NDArray[np.int64]
    rewards: npt.NDArray[np.float64]
