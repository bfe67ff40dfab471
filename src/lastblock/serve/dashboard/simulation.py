"""What would another policy have done? A simulation in a process of its own.

The server starts ``python -m lastblock.serve.dashboard.simulation`` and writes a question to its
standard input, as JSON; the answer comes on its standard output. In the server's own process, the
compiler and the reading of the log would keep decisions waiting.
"""

import json
import math
import sys
from collections.abc import Sequence
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from lastblock.core.protocol import Policy
from lastblock.environments.piecewise import Piecewise
from lastblock.replay.replay import Replay
from lastblock.serve.policies import read_policy
from lastblock.simulation.run import Run
from lastblock.simulation.simulate import simulate
from lastblock.store.store import Store
from lastblock.support.intervals import normal_reach

MOST_DECISIONS: Final = 100_000
"""The most decisions of the log to use: the latest ones."""

REPLICATIONS: Final = 100
POINTS: Final = 120
SEED: Final = 1
CONFIDENCE: Final = 0.95
_PART = 50_000


class RewardedDecisions:
    """The decisions of a bandit that have their reward, for the arms that it has now.

    Parameters
    ----------
    store
        The store that has the bandit.
    name
        The name of the bandit.
    labels
        The labels of its active arms.
    """

    def __init__(self, store: Store, name: str, labels: Sequence[str | int]) -> None:
        places = {label: place for place, label in enumerate(labels)}
        rows: list[tuple[int, float, float]] = []
        chances: dict[int | None, float] = {}
        last = store.last_event(name)
        # A decision has two events, and perhaps some others.
        after = max(0, last - 3 * MOST_DECISIONS)
        while found := store.events(name, after=after, limit=_PART):
            after = found[-1].event
            for event in found:
                if event.kind == "ask" and event.value is not None:
                    chances[event.id] = event.value
                elif event.kind == "tell" and event.arm in places and event.value is not None:
                    chance = chances.pop(event.id, math.nan)
                    rows.append((places[event.arm], event.value, chance))
        rows = rows[-MOST_DECISIONS:]
        self.arms = np.array([row[0] for row in rows], np.int64)
        self.rewards = np.array([row[1] for row in rows])
        self.chances = np.array([row[2] for row in rows])

    @property
    def has_chances(self) -> bool:
        """Whether every decision has the probability with which it was taken."""
        return self.arms.size > 0 and bool(np.isfinite(self.chances).all())


def answer(question: dict[str, Any]) -> dict[str, Any]:
    """Return what both policies would have earned, and which arms they would have chosen.

    Parameters
    ----------
    question
        The address of the `store`, the `name` of the bandit, the labels of its `arms`, the
        `policies` by name, and the number of `periods` in which the world is taken as constant.

    Raises
    ------
    ValueError
        If the log does not say enough, or a policy cannot take its rewards.
    """
    labels: list[str | int] = question["arms"]
    with Store(question["store"]) as store:
        log = RewardedDecisions(store, question["name"], labels)
    counts = np.bincount(log.arms, minlength=len(labels))
    for label, number in zip(labels, counts, strict=True):
        if not number:
            raise ValueError(
                f"the log has no reward of arm {label!r}, so nobody knows what it would have given"
            )
    columns: dict[str, npt.NDArray[Any]] = {"arm": log.arms, "reward": log.rewards}
    if log.has_chances:
        columns["propensity"] = log.chances
    replay = Replay(columns, arms=len(labels), propensity="propensity" if log.has_chances else None)
    size, periods = len(replay), question["periods"]
    world = replay.environment(periods)
    times = np.unique(np.linspace(len(labels), size, POINTS).astype(np.int64))
    best = np.concatenate([[0.0], np.cumsum(_best_means(world, size))])
    policies = {name: read_policy(given) for name, given in question["policies"].items()}
    runs = {
        name: simulate(
            policy,
            world,
            horizon=size,
            replications=REPLICATIONS,
            seed=SEED,
            times=times,
            threads=1,
            progress=False,
        )
        for name, policy in policies.items()
    }
    earned = {name: (best[run.times] - run.regret) / run.times for name, run in runs.items()}
    first, second = earned.values()
    return {
        "decisions": size,
        "logged": _rate(log.rewards),
        "counts": counts.tolist(),
        "times": next(iter(runs.values())).times.tolist(),
        "is_share": bool(np.isin(log.rewards, (0.0, 1.0)).all()),
        "policies": {
            name: _told(runs[name], policies[name], earned[name], replay, log) for name in policies
        },
        "difference": _rate(second[:, -1] - first[:, -1]),
    }


def _best_means(world: Piecewise, size: int) -> npt.NDArray[np.float64]:
    """Return the largest mean at each time step."""
    starts = [0, *world.changes]
    lengths = np.diff([*starts, size])
    return np.repeat([world.best_mean(start) for start in starts], lengths)


def _told(
    run: Run,
    policy: Policy,
    earned: npt.NDArray[np.float64],
    replay: Replay,
    log: RewardedDecisions,
) -> dict[str, Any]:
    return {
        "policy": str(policy),
        "reward": _rate(earned[:, -1]),
        "curve": [float(f"{value:.5g}") for value in earned.mean(axis=0)],
        "shares": (run.pulls.mean(axis=0) / run.pulls.sum(axis=1).mean()).tolist(),
        "replayed": _replayed(replay, policy) if log.has_chances else None,
    }


def _replayed(replay: Replay, policy: Policy) -> dict[str, Any] | None:
    """Return the unbiased estimate by replay; None if too few decisions are left for it."""
    try:
        found = replay.uniform(seed=SEED).evaluate(
            policy, replications=20, seed=SEED, threads=1, progress=False
        )
    except ValueError:
        return None
    return {"mean": float(found.estimate), "matches": float(np.mean(found.matched[:, -1]))}


def _rate(values: npt.NDArray[np.float64]) -> dict[str, float]:
    mean = float(values.mean())
    half = 0.0
    if values.size > 1:
        half = normal_reach(CONFIDENCE) * float(values.std(ddof=1)) / math.sqrt(values.size)
    return {"mean": mean, "low": mean - half, "high": mean + half}


def main() -> int:
    """Answer the question on the standard input."""
    try:
        found: dict[str, Any] = {"found": answer(json.loads(sys.stdin.read()))}
    except (ValueError, ImportError) as error:
        found = {"wrong": str(error)}
    sys.stdout.write(json.dumps(found))
    return 0


if __name__ == "__main__":
    sys.exit(main())
