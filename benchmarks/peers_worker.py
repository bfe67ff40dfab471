"""Plays the policies of one library and prints what it measures, a JSON line for each job.

`benchmarks.peers` starts it in the environment of the library: it needs nothing but that library.
Times of steps are CPU times of the thread that plays, since the machine may be busy.
"""

import json
import random
import sys
import time
import warnings
from collections.abc import Iterator
from itertools import cycle
from typing import Any

from benchmarks.options import Parser
from benchmarks.peers_players import HORIZON, LIBRARIES, Choose, Learn, Library, Phases

TEN: Phases = {0: tuple(0.05 * (k + 1) for k in range(10))}
WORLDS: dict[str, Phases] = {
    "three arms": {0: (0.5, 0.3, 0.4)},
    "clicks": {0: (0.02, 0.03, 0.02)},
    "changes": {0: (0.5, 0.3, 0.4), 3000: (0.3, 0.7, 0.2), 5000: (0.5, 0.3, 0.6)},
}
"""The means of the arms from a time on. The last is the paper's bernoulli-changes."""
YOUNG, OLD = 1_000, 100_000
STRETCH, STRETCHES = 250, 20
PATIENCE = 40.0  # seconds, for the way to 10⁵ updates

Pair = tuple[Choose, Learn]


def drawn(means: tuple[float, ...]) -> list[Iterator[float]]:
    """Return endless rewards of each arm, drawn beforehand so that timings do not include it."""
    rng = random.Random(1)
    return [cycle([float(rng.random() < mean) for _ in range(1021)]) for mean in means]


def pace_us(pair: Pair, rewards: list[Iterator[float]], n: int) -> float:
    """Return the microseconds a step, over `n` of them."""
    choose, learn = pair
    begun = time.thread_time()
    for _ in range(n):
        arm = choose()
        learn(arm, next(rewards[arm]))
    return (time.thread_time() - begun) / n * 1e6


def live_us(pair: Pair, rewards: list[Iterator[float]]) -> float:
    """Return the shortest pace of some stretches: a record that grows compiles its layout once."""
    best, begun = pace_us(pair, rewards, STRETCH), time.monotonic()
    for _ in range(STRETCHES - 1):
        if time.monotonic() - begun > 5.0:
            break
        best = min(best, pace_us(pair, rewards, STRETCH))
    return best


def speed(library: Library, policy: str) -> dict[str, Any]:
    """Return microseconds: a step of a whole horizon, and live after 10³ and 10⁵ updates."""
    phases = WORLDS["three arms"]
    rewards = drawn(phases[0])
    pair = library.players[policy](len(phases[0]), 1)
    begun = time.thread_time()
    pace_us(pair, rewards, YOUNG)
    found: dict[str, Any] = {"young": live_us(pair, rewards)}
    played = YOUNG + STRETCH * STRETCHES
    pace_us(pair, rewards, HORIZON - played)
    found["step"] = (time.thread_time() - begun) / HORIZON * 1e6
    if library.simulate is not None:
        size = max(1, library.replications // 10)
        runs = [library.simulate(policy, phases, HORIZON, size) for _ in range(5)]
        found["step"] = min(run[1] for run in runs if run is not None) / (size * HORIZON) * 1e6
    begun, played, pace = time.monotonic(), HORIZON, 0.0
    try:
        while played < OLD and time.monotonic() - begun < PATIENCE:
            pace = pace_us(pair, rewards, STRETCH)
            played += STRETCH
        found["old"] = live_us(pair, rewards) if played >= OLD else pace
        found["played"] = played
    except Exception as error:  # for example, weights that overflow
        found["fails"] = f"{type(error).__name__} after {played} steps: {error}"
    return found


def ten_arms(library: Library, policy: str) -> dict[str, Any]:
    """Return the microseconds of a live step with ten arms, after 10³ updates."""
    pair, rewards = library.players[policy](len(TEN[0]), 1), drawn(TEN[0])
    pace_us(pair, rewards, YOUNG)
    return {"live": live_us(pair, rewards)}


def regret(library: Library, policy: str, world: str, replications: int) -> dict[str, Any]:
    """Return the final regret of each replication, from true means."""
    phases = WORLDS[world]
    if library.simulate is not None:
        run = library.simulate(policy, phases, HORIZON, replications)
        if run is not None:
            return {"regrets": run[0]}
    seeds = range(1, replications + 1)
    return {"regrets": [played(library.players[policy], phases, seed) for seed in seeds]}


def played(make: Any, phases: Phases, seed: int) -> float:
    """Play one replication and return its regret."""
    choose, learn = make(len(phases[0]), seed)
    rng = random.Random(f"world {seed}")  # the rewards, apart from the policy's own draws
    lost, ends = 0.0, [*[begin for begin in phases if begin > 0], HORIZON]
    begun = 0
    for means, end in zip(phases.values(), ends, strict=True):
        best = max(means)
        for _ in range(begun, end):
            arm = choose()
            lost += best - means[arm]
            learn(arm, float(rng.random() < means[arm]))
        begun = end
    return lost


JOBS = {"speed": speed, "ten arms": ten_arms, "regret": regret}


def done(job: str, library: str, policy: str, **rest: Any) -> dict[str, Any]:
    """Do one job; a library that fails is a result, too."""
    try:
        return JOBS[job](LIBRARIES[library], policy, **rest)
    except Exception as error:
        return {"error": f"{type(error).__name__}: {error}"}


def main() -> None:
    parser = Parser("peers_worker", __doc__, "as long as its jobs")
    parser.add_argument(
        "jobs",
        type=json.loads,
        metavar="JOBS",
        help="a JSON array of jobs, as `benchmarks.peers` writes them",
    )
    jobs = parser.parse_args().jobs
    answers, sys.stdout = sys.stdout, sys.stderr  # some libraries print
    warnings.simplefilter("ignore")
    for job in jobs:
        print(json.dumps(done(**job)), file=answers, flush=True)


if __name__ == "__main__":
    main()
