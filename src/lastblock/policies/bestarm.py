"""The policy that knows the best arm at any time: a yardstick for simulations."""

from collections.abc import Iterable
from typing import Annotated, Any, NamedTuple, Protocol, overload

import numpy as np
import numpy.typing as npt

from lastblock.kit import ForArms, Layout, Record, enqueue, policy, whole, within
from lastblock.policies._phases import phase_starts, reached, whole_numbers


class KnowsMeans(Protocol):
    """An environment that tells the means of its arms at any time."""

    def means(self, t: int) -> npt.NDArray[np.float64]: ...


def _exist(owner: Any, name: str, arms: int) -> None:
    last = max(getattr(owner, name))
    if last >= arms:
        raise ValueError(f"BestArm: arm {last} does not exist, there are {arms} arms")


class _BestArms(NamedTuple):
    starts: tuple[int, ...]
    arms: Annotated[tuple[int, ...], ForArms(_exist)]


@policy(oracle=True, examples=[{"starts": (0, 50), "arms": (1, 0)}])
class BestArm(_BestArms):
    """Always pull the arm with the largest mean, which the environment tells: the regret is 0.

    This is for simulations only. Of arms that are equally good it pulls the first.

    Parameters
    ----------
    environment
        An environment, which tells the means of its arms. Or numbers, as for `starts`.
    arms
        The best arm of each phase. Leave it out with an environment.
    starts
        Instead of an environment, the first time step of each phase, beginning with 0.
    horizon
        How many time steps to look ahead, needed for an environment that moves all the time
        (``Drifting``). Not kept.

    Examples
    --------
    >>> import lastblock as lb
    >>> arms = lb.Piecewise({
    ...     0: [lb.Bernoulli(0.9), lb.Bernoulli(0.1), lb.Bernoulli(0.5)],
    ...     500: [lb.Bernoulli(0.1), lb.Bernoulli(0.9), lb.Bernoulli(0.5)],
    ... })
    >>> lb.BestArm(arms)
    BestArm(starts=(0, 500), arms=(0, 1))
    >>> float(lb.simulate(_, arms, horizon=1000).mean()[-1])
    0.0
    """

    __slots__ = ()

    @overload
    def __new__(cls, environment: KnowsMeans, *, horizon: int | None = None) -> "BestArm": ...
    @overload
    def __new__(cls, environment: Iterable[int], arms: Iterable[int]) -> "BestArm": ...
    @overload
    def __new__(cls, *, starts: Iterable[int], arms: Iterable[int]) -> "BestArm": ...
    def __new__(
        cls,
        environment: KnowsMeans | Iterable[int] | None = None,
        arms: Iterable[int] | None = None,
        *,
        starts: Iterable[int] | None = None,
        horizon: int | None = None,
    ) -> "BestArm":
        known: Any = starts if environment is None else environment
        if known is None:
            raise ValueError(
                "BestArm: give an environment, or the starts and best arms of its phases"
            )
        if hasattr(known, "means"):
            known, arms = best_arms(known, horizon)
        elif arms is None:
            raise ValueError("BestArm: give the best arm of each phase, or an environment")
        return super().__new__(
            cls, phase_starts(known, "BestArm: starts"), tuple(whole_numbers(arms, "BestArm: arms"))
        )

    def validate(self) -> None:
        if len(self.starts) != len(self.arms):
            raise ValueError(
                f"BestArm: {len(self.arms)} arms for {len(self.starts)} phases; give one for each"
            )
        if min(self.arms) < 0:
            raise ValueError(f"BestArm: arms={self.arms} must not be negative")

    def layout(self, arms: int, horizon: int | None) -> Layout:
        return [("phase", within(np.int64, 0, len(self.starts) - 1))]

    def start(self, s: Record) -> None:
        enqueue(s, self.arms[0])

    def plan(self, s: Record) -> None:
        s.phase = reached(self.starts, s.round - 1, s.phase)
        enqueue(s, self.arms[s.phase])

    def observe(self, s: Record, arm: int, reward: float) -> None:
        pass


def best_arms(environment: Any, horizon: int | None) -> tuple[list[int], list[int]]:
    """Return the time steps at which the best arm changes, and the best arms.

    Raises
    ------
    ValueError
        If the environment moves all the time and `horizon` is None.
    """
    times: Iterable[int]
    if hasattr(environment, "starts"):
        times = environment.starts  # nothing moves in between
    elif horizon is None:
        raise ValueError(
            f"BestArm: the means of {type(environment).__name__} change at every step; "
            "give horizon=…, the number of steps"
        )
    else:
        times = range(whole(horizon, "BestArm: horizon"))
    starts: list[int] = []
    arms: list[int] = []
    for t in times:
        best = int(np.argmax(environment.means(t)))
        if len(arms) == 0 or best != arms[-1]:
            starts.append(t)
            arms.append(best)
    return starts, arms
