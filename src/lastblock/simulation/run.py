"""The results of `simulate` and `trace`, and what they need of an environment."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

import numpy as np
import numpy.typing as npt

from lastblock.core.protocol import EnvironmentTable, Policy
from lastblock.support.checks import number
from lastblock.support.errors import short
from lastblock.support.json_safe import json_safe

if TYPE_CHECKING:
    from lastblock.drawing.canvas import Picture
    from lastblock.simulation.delays import Delay
    from lastblock.simulation.identification import Identification


class Environment(Protocol):
    """The protocol of an environment: what `simulate` needs of it.

    `Stationary`, `Piecewise` and `Drifting` follow it; a class of your own may follow it, too. With
    a method ``draw(key, replication)``, as `Prior` has, every replication is played in the
    environment that it returns; all of these must compile to the same types as the class itself.
    """

    @property
    def n_arms(self) -> int:
        """The number of arms."""
        ...

    @property
    def changes(self) -> tuple[int, ...]:
        """The first time step of every phase but the first; empty if there are no phases."""
        ...

    def compile(self, horizon: int) -> EnvironmentTable:
        """Return the environment as arrays for the kernels, good for `horizon` time steps."""
        ...


@dataclass(frozen=True)
class Run:
    """The result of `simulate`: regret, pulls, detection delays and restarts.

    Arrays have one row for each replication. K is the number of arms; an environment without
    phases, such as `Drifting`, counts as one phase.
    """

    policy: Policy
    """The policy that was run."""
    environment: Environment
    """The environment that it was run in."""
    horizon: int
    """The number of pulls in each replication."""
    times: npt.NDArray[np.int64]
    """The numbers of pulls after which the regret was recorded; the last one is `horizon`."""
    regret: npt.NDArray[np.float64]
    """Dynamic pseudo-regret at `times`, computed from true means, never from rewards. Shape
    (replications, times)."""
    best_pulls: npt.NDArray[np.int64]
    """How many pulls, up to each of `times`, chose an arm that was best at that moment. Shape
    (replications, times)."""
    phase_pulls: npt.NDArray[np.int64]
    """How often each arm was pulled in each phase. Shape (replications, phases, K)."""
    delays: npt.NDArray[np.int64]
    """The number of pulls from the start of each phase until 32 of the last 64 pulls chose a best
    arm; −1 if that never happened. Shape (replications, phases)."""
    restarts: npt.NDArray[np.int64]
    """How often the policy restarted in each replication; −1 if the policy does not count
    restarts."""
    seconds: float
    """The time that the simulation took in seconds, without compilation."""
    delay: "Delay | None" = None
    """How late rewards came; None if they came at once."""
    identification: "Identification | None" = None
    """How well the best arm was found, and when the search could stop; None unless `simulate` was
    given a `confidence`."""

    @property
    def replications(self) -> int:
        """The number of replications."""
        return int(self.regret.shape[0])

    @property
    def pulls(self) -> npt.NDArray[np.int64]:
        """How often each arm was pulled. Shape (replications, K)."""
        return np.asarray(self.phase_pulls.sum(axis=1))

    def mean(self) -> npt.NDArray[np.float64]:
        """Return the mean regret at each of `times`."""
        return np.asarray(self.regret.mean(axis=0))

    def quantile(self, q: float) -> npt.NDArray[np.float64]:
        """Return a quantile of the regret at each of `times`.

        Parameters
        ----------
        q
            The probability of the quantile, in [0, 1]; 0.5 gives the median.

        Raises
        ------
        ValueError
            If `q` is not a number in [0, 1].
        """
        q = number(q, "q")
        if not 0.0 <= q <= 1.0:
            raise ValueError(f"q={q} must lie in [0, 1]")
        return np.asarray(np.quantile(self.regret, q, axis=0))

    def standard_error(self) -> npt.NDArray[np.float64]:
        """Return the standard error of `mean()`; NaN if there is a single replication."""
        if self.replications < 2:
            return np.full(self.times.size, np.nan)
        return np.asarray(self.regret.std(axis=0, ddof=1) / np.sqrt(self.replications))

    def to_dict(self) -> dict[str, object]:
        """Return the run as plain JSON values: parameters, curves over `times`, final figures.

        It has the mean regret with its standard error and quartiles at each of `times`, and the
        regret of each replication at the horizon; not the whole array `regret`. Numbers that are
        infinite or NaN become None.
        """
        counted = self.restarts >= 0
        curves = {
            "mean": self.mean(),
            "standard_error": self.standard_error(),
            "q25": self.quantile(0.25),
            "q75": self.quantile(0.75),
        }
        return {
            "policy": str(self.policy),
            "environment": short(self.environment, 500),
            "horizon": self.horizon,
            "delay": None if self.delay is None else repr(self.delay),
            "replications": self.replications,
            "times": json_safe(self.times),
            "regret": json_safe(curves),
            "final_regret": json_safe(self.regret[:, -1]),
            "best_pulls": json_safe(self.best_pulls.mean(axis=0)),
            "pulls": json_safe(self.pulls.mean(axis=0)),
            "restarts": json_safe(self.restarts.mean() if counted.all() else None),
            "seconds": json_safe(self.seconds),
            "identification": json_safe(self.identification),
        }

    def plot(
        self,
        path: str | Path | None = None,
        *,
        others: "Sequence[Run]" = (),
        width: float | None = None,
    ) -> "Picture":
        """Draw the mean regret over time with its quartiles, as a Matplotlib figure.

        Parameters
        ----------
        path
            A file to write the figure to; its name ends in .png, .svg or .pdf. None writes none.
        others
            Runs of other policies in the same environment, to draw beside this one.
        width
            The width of the figure in inches; by default 6.6.

        Returns
        -------
        Picture
            The figure, which a notebook displays.

        Raises
        ------
        ValueError
            If `path` has another ending, another run has another horizon or other changes, or
            `width` is no width of a figure.
        ImportError
            If matplotlib is not installed.
        """
        from lastblock.simulation.figure import draw_runs  # noqa: PLC0415  # slow to import

        return draw_runs([self, *others], path, width)

    def __repr__(self) -> str:
        return (
            f"<Run of {self.policy}: {self.replications} × {self.horizon} steps, "
            f"final regret {self.mean()[-1]:.2f} ± {self.standard_error()[-1]:.2f}>"
        )


@dataclass(frozen=True)
class Trace:
    """The result of `trace`: one replication, step by step."""

    arms: npt.NDArray[np.int64]
    """The arm pulled at each step, numbered from 0."""
    rewards: npt.NDArray[np.float64]
    """The reward received at each step."""
