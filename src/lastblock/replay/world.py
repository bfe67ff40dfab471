"""An environment from a log: arms that give the logged rewards again."""

from collections.abc import Sequence
from itertools import pairwise

import numpy as np
import numpy.typing as npt

from lastblock.arms.bernoulli import Bernoulli
from lastblock.arms.dirac import Dirac
from lastblock.arms.discrete import Discrete
from lastblock.core.families import Arm
from lastblock.environments.piecewise import Piecewise, Stationary
from lastblock.replay.logs import Log
from lastblock.support.checks import at_least, whole


def environment_of(log: Log, periods: int | Sequence[int]) -> Piecewise:
    """Return the environment of a log; `Replay.environment` explains it."""
    starts = _starts(periods, log.arms.size)
    ends = [*starts[1:], log.arms.size]
    phases = {start: _arms_of(log, start, end) for start, end in zip(starts, ends, strict=True)}
    return Stationary(phases[0]) if len(phases) == 1 else Piecewise(phases)


def _starts(periods: int | Sequence[int], size: int) -> list[int]:
    """Return the first event of each period."""
    if isinstance(periods, int | np.integer):
        count = at_least(1, periods, "periods")
        if count > size:
            raise ValueError(f"periods={count} is more than the {size} events of the log")
        return [size * i // count for i in range(count)]
    starts = [whole(start, "periods") for start in periods]
    if starts[:1] != [0] or any(a >= b for a, b in pairwise(starts)):
        raise ValueError(
            f"periods={starts} must be the first event of each period, in increasing order from 0"
        )
    if starts[-1] >= size:
        raise ValueError(f"periods: {starts[-1]} is beyond the {size} events of the log")
    return starts


def _arms_of(log: Log, start: int, end: int) -> list[Arm]:
    """Return the arms of the events from `start` to `end`."""
    arms = []
    for number, label in enumerate(log.labels):
        events = start + np.flatnonzero(log.arms[start:end] == number)
        if events.size == 0:
            raise ValueError(
                f"arm {label!r} has no event from event {start} to {end - 1}, so nothing is known "
                "of its rewards there; give fewer or other periods or, if arms come and go, take "
                "one of by_choices()"
            )
        chances = None if log.propensities is None else log.propensities[events]
        arms.append(_arm(log.rewards[events], chances))
    return arms


def _arm(rewards: npt.NDArray[np.float64], chances: npt.NDArray[np.float64] | None) -> Arm:
    """Return an arm whose rewards are those given, weighted by inverse propensities."""
    values, places = np.unique(rewards, return_inverse=True)
    weights = np.ones(rewards.size) if chances is None else chances.min() / chances
    totals = np.bincount(places.reshape(-1), weights)
    shares = totals / totals.sum()
    if values.size == 1 and values[0] not in (0.0, 1.0):
        return Dirac(float(values[0]))
    if np.isin(values, (0.0, 1.0)).all():
        return Bernoulli(min(1.0, float(shares[values == 1.0].sum())))
    return Discrete(tuple(values.tolist()), tuple(shares.tolist()))
