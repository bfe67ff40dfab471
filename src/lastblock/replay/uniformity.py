"""Uniform logs: the check that a log is one, and the rejection of events that makes one."""

import math

import numpy as np

from lastblock.kernels.streams import Seed, key_of
from lastblock.replay.estimates import ROUNDED, SURE
from lastblock.replay.logs import Log
from lastblock.support.checks import number

UNEVEN = 0.01
"""The mean squared relative deviation of the arms' shares from 1/K above which we raise an error,
provided that it is not chance (see `SURE`)."""

WEIGHT_OR_DROP = (
    "replay needs uniform logging; use estimate(), which weights by propensities, or "
    "uniform(), which drops events"
)


def check_uniform(log: Log) -> None:
    """Raise a ValueError if the log cannot be from uniform logging."""
    check_all_could_be_chosen(log)
    k, chances = len(log.labels), log.propensities
    if chances is not None:
        low, high = float(chances.min()), float(chances.max())
        if max(abs(low * k - 1.0), abs(high * k - 1.0)) > ROUNDED:
            advice = WEIGHT_OR_DROP
            if low == high and low * k < 1.0:
                advice = f"name all {1.0 / low:.4g} arms with `arms`, or see estimate()"
            raise ValueError(
                f"the log is not uniform over its {k} arms: propensities go from {low:.4g} to "
                f"{high:.4g}, not 1/{k} = {1.0 / k:.4g}; {advice}"
            )
    check_counts(log, WEIGHT_OR_DROP)


def check_all_could_be_chosen(log: Log) -> None:
    """Raise a ValueError unless every arm could be chosen in every event, as far as is known."""
    if log.choices is None:
        return
    n, events = log.arms.size, log.choices.events_of_each_arm()
    fewest = int(np.argmin(events))
    if events[fewest] < n:
        raise ValueError(
            f"arm {log.labels[fewest]!r} could be chosen in {events[fewest]} of {n} events, and a "
            "uniform log needs all arms in all of them; take one of by_choices(), which have the "
            "same arms from their first event to their last, or use estimate()"
        )


def check_counts(log: Log, advice: str) -> None:
    """Raise a ValueError if some arm is logged more or less often than chance explains."""
    k, n = len(log.labels), log.arms.size
    counts = np.bincount(log.arms, minlength=k)
    if not counts.all():
        raise ValueError(
            f"arm {log.labels[int(np.argmin(counts))]!r} is never logged, so a policy that asks "
            "for it would wait for ever; leave it out of `arms`, or give a longer log"
        )
    # This is a chi-square statistic with K − 1 degrees of freedom, bounded as by Laurent &
    # Massart (2000).
    statistic = float((np.square(counts - n / k) / (n / k)).sum())
    bound = k - 1 + 2.0 * math.sqrt((k - 1) * SURE) + 2.0 * SURE
    if statistic > bound and statistic > UNEVEN * n:
        far = int(np.argmax(np.abs(counts - n / k)))
        raise ValueError(
            f"the log is not uniform: arm {log.labels[far]!r} has {counts[far]} of {n} events, "
            f"where {n / k:.1f} would be its share; {advice}"
        )


def reject(log: Log, floor: float | None, seed: Seed) -> Log:
    """Return a uniform log, by dropping events at random; `Replay.uniform` explains it."""
    if log.propensities is None:
        raise ValueError("the log has no propensities to reject by; name their column")
    check_all_could_be_chosen(log)
    size, k = log.arms.size, len(log.labels)
    smallest = float(log.propensities.min())
    floor = smallest if floor is None else number(floor, "floor")
    if not 0.0 < floor <= smallest:
        raise ValueError(
            f"floor={floor} must be positive, and at most the smallest propensity {smallest:g}"
        )
    if floor * k > 1.0 + ROUNDED:
        raise ValueError(
            f"floor={floor:g} for each of {k} arms adds up to more than 1; "
            "give the smallest propensity that any arm could have"
        )
    draws = np.random.default_rng(key_of(seed)).random(size)
    kept = np.flatnonzero(draws * log.propensities < floor)
    if kept.size == 0:
        raise ValueError(
            f"no event of {size} is left with floor={floor:g}; "
            "use estimate(), which weights events instead of dropping them"
        )
    uniform = log.pick(kept)._replace(propensities=np.full(kept.size, 1.0 / k))
    check_counts(
        uniform,
        "so some arms could not be chosen all the time, or the propensities are wrong: name the "
        "column of the arms that could be chosen, choices='…', or give only events with the same "
        "arms",
    )
    return uniform
