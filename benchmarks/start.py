"""Measures how long lastblock takes to start: ``python -m benchmarks.start``.

Each line comes from a new process, ten arms, LB-SDA-GM: the import, the first decision after it,
and how long plain Python decides before compiled code is ready, from an empty compile cache (cold)
and from a full one (warm). Then a loop without a pause that outgrows its record again and again
(LB-SDA, three arms), README's `simulate`, a sweep of six policies over numbers of arms and
horizons, and, for every policy, a call in plain Python.
"""

import json
import os
import subprocess
import sys
import tempfile
import time

import lastblock as lb
from benchmarks.options import Parser
from lastblock.kernels.background import compiling

ARMS = 10
REPEATS = 5
CALLS = 200
GOALS = {"import": 250.0, "first decision": 50.0, "call": 2.0, "simulate": 6000.0}
"""Milliseconds."""

FRESH = """
import json, sys, time
begun = time.perf_counter()
import lastblock as lb
imported = time.perf_counter()
bandit = lb.Bandit(lb.LBSDAGM(), 10, seed=1, compiled=sys.argv[1] == "compiled")
decision = bandit.ask()
decided = time.perf_counter()
bandit.tell(decision, 1.0)
calls = []
while sys.argv[1] == "used" and not bandit.is_compiled:
    before = time.perf_counter()
    bandit.tell(bandit.ask(), 1.0)
    calls.append(time.perf_counter() - before)
    time.sleep(0.01)
while sys.argv[1] == "idle" and not bandit.is_compiled:
    time.sleep(0.01)
found = imported - begun, decided - imported, time.perf_counter() - begun
print(json.dumps([*found, max(calls, default=0.0)]))
"""

LOOP = """
import json, random, time
import lastblock as lb
bandit, world, found = lb.Bandit(lb.LBSDA(), 3, seed=1), random.Random(1), []
for part in range(10):
    begun = time.perf_counter()
    for _ in range(10_000):
        decision = bandit.ask()
        bandit.tell(decision, float(world.random() < (0.5, 0.3, 0.4)[decision.arm]))
    found.append((time.perf_counter() - begun) / 10_000)
print(json.dumps(found))
"""

SIMULATION = """
import json, time
begun, used = time.perf_counter(), time.process_time()
import lastblock as lb
env = lb.Piecewise({
    0: [lb.Bernoulli(0.5), lb.Bernoulli(0.3), lb.Bernoulli(0.4)],
    3000: [lb.Bernoulli(0.3), lb.Bernoulli(0.7), lb.Bernoulli(0.2)],
    5000: [lb.Bernoulli(0.5), lb.Bernoulli(0.3), lb.Bernoulli(0.6)],
})
policy = lb.SWLBSDA.tuned(horizon=10_000, changes=2)
run = lb.simulate(policy, env, horizon=10_000, replications=2000, seed=1)
print(json.dumps([time.perf_counter() - begun, time.process_time() - used, run.seconds]))
"""

SWEEP = """
import json, resource, time
used, played = time.process_time(), 0.0
import lastblock as lb
duels = lb.LBSDA(), lb.LBSDALM(), lb.SWLBSDA(window=429), lb.LBSDAGM()
for policy in (*duels, lb.UCB1(), lb.Thompson()):
    for arms in range(2, 13):
        world = lb.Stationary([lb.Bernoulli(0.3 + 0.4 * arm / arms) for arm in range(arms)])
        for horizon in 10**3, 10**4, 10**5:
            played += lb.simulate(policy, world, horizon=horizon, replications=1, threads=1).seconds
peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e6  # gigabytes; printed as mega
print(json.dumps([time.process_time() - used, played, peak]))
"""


def fresh(way: str, cache: str, program: str = FRESH) -> list[float]:
    """Return what a new process measures, in milliseconds."""
    environment = {**os.environ, "NUMBA_CACHE_DIR": cache}
    environment.pop("PYTHONDONTWRITEBYTECODE", None)  # an installed package has its bytecode
    done = subprocess.run(
        [sys.executable, "-c", program, way], env=environment, capture_output=True, check=True
    )
    return [seconds * 1e3 for seconds in json.loads(done.stdout)]


def best(way: str, cache: str | None) -> list[float]:
    """Return the shortest of each time; without a cache, from an empty one each time."""
    found = []
    for _ in range(REPEATS):
        with tempfile.TemporaryDirectory() as empty:
            found.append(fresh(way, empty if cache is None else cache))
    return [min(column) for column in zip(*found, strict=True)]


def starts() -> None:
    print(f"\nMilliseconds from a new process on, {ARMS} arms, the best of {REPEATS}")
    print(f"{'':<34}{'import':>9}{'decision':>10}{'compiled':>10}{'longest call':>14}")
    with tempfile.TemporaryDirectory() as full:
        fresh("compiled", full)
        for name, way, cache in [
            ("cold", "idle", None),
            ("cold, asked 100 times a second", "used", None),
            ("cold, compiled=True", "compiled", None),
            ("warm", "idle", full),
            ("warm, asked 100 times a second", "used", full),
            ("warm, compiled=True", "compiled", full),
        ]:
            imported, decided, ready, longest = best(way, cache)
            call = f"{longest:>14.1f}" if way == "used" else f"{'–':>14}"
            print(f"{name:<34}{imported:>9.0f}{decided:>10.1f}{ready:>10.0f}{call}", flush=True)
    print(f"goals: import {GOALS['import']:.0f}, decision {GOALS['first decision']:.0f}")


def loops() -> None:
    print("\nMicroseconds a decision of LB-SDA in a loop of 100 000, for each tenth of it")
    with tempfile.TemporaryDirectory() as cache:
        for name in ("cold", "again"):  # what the first one compiled is there the second time
            parts = "".join(f"{part * 1e3:>8.1f}" for part in fresh("", cache, LOOP))
            print(f"{name:<8}{parts}", flush=True)


def simulations() -> None:
    print("\nREADME's simulate in a new process, milliseconds, the best of 3")
    print(f"{'':<34}{'all':>9}{'CPU':>10}{'the run':>10}")
    with tempfile.TemporaryDirectory() as full:
        for name in ("cold", "warm"):
            found = []
            for _ in range(3):
                with tempfile.TemporaryDirectory() as empty:
                    cache = empty if name == "cold" else full
                    found.append(fresh("", cache, SIMULATION))
            every, cpu, run = (min(column) for column in zip(*found, strict=True))
            print(f"{name:<34}{every:>9.0f}{cpu:>10.0f}{run:>10.0f}", flush=True)
    print(f"goal, cold, on two quiet cores: {GOALS['simulate']:.0f}")


def sweeps() -> None:
    print("\nSix policies, 2 to 12 arms, horizons of 1000, 10 000 and 100 000: seconds of a core")
    print(f"{'':<34}{'all':>9}{'the runs':>10}{'peak, MB':>10}")
    with tempfile.TemporaryDirectory() as cache:
        for name in ("cold", "again"):
            every, runs, peak = fresh("", cache, SWEEP)
            print(f"{name:<34}{every / 1e3:>9.1f}{runs / 1e3:>10.1f}{peak:>10.0f}", flush=True)
    print("goal, cold: 10 beside the runs, 250 MB")


def plain_call(policy: object) -> tuple[float, float]:
    """Return the milliseconds of an ask and of a tell in plain Python, on average."""
    with compiling("never"):
        bandit = lb.Bandit(policy, ARMS, seed=1)
        asking = telling = 0.0
        for step in range(CALLS):
            begun = time.thread_time()
            decision = bandit.ask()
            asked = time.thread_time()
            bandit.tell(decision, float(step % 3 == 0))
            asking, telling = asking + asked - begun, telling + time.thread_time() - asked
    return asking / CALLS * 1e3, telling / CALLS * 1e3


def calls() -> None:
    print(f"\nPlain Python, milliseconds a call over the first {CALLS}, {ARMS} arms")
    print(f"{'policy':<24}{'ask':>8}{'tell':>8}   (goal: at most {GOALS['call']:.0f})")
    found = {}
    for name, cls in sorted(lb.POLICIES.items()):
        if cls.oracle:
            continue
        found[name] = plain_call(cls.examples()[0] if hasattr(cls, "examples") else cls())
    for name, (ask, tell) in sorted(found.items(), key=lambda item: -max(item[1])):
        print(f"{name:<24}{ask:>8.2f}{tell:>8.2f}")


def main() -> None:
    starts()
    loops()
    simulations()
    sweeps()
    calls()


if __name__ == "__main__":
    Parser("start", __doc__, "about five minutes, most of them to compile").parse_args()
    main()
