"""Measures one live bandit: ``python -m benchmarks.live``.

It prints the microseconds for one ask and its tell with ten Bernoulli arms, after 10² and after 10⁷
decisions, and the times of the other calls. LB-SDA keeps every reward: after 10⁷ decisions its
record has 2.1 GB.
"""

import random
import time
from collections.abc import Callable
from functools import partial

import lastblock as lb
from benchmarks.options import Parser
from benchmarks.timing import best_of

ARMS = 10
YOUNG, OLD = 100, 10_000_000
MEASURED = 20_000
STRETCH = 500
"""Decisions in one timing. They are few, so that most timings do not include a growth of LB-SDA's
record."""
LIMIT = 2.5


def policies() -> dict:
    return {
        "LB-SDA": lb.LBSDA(),
        "LB-SDA-LM": lb.LBSDALM(),
        "SW-LB-SDA": lb.SWLBSDA(window=429),
    }


def rewards() -> list[list[float]]:
    """Return rewards of each arm, drawn beforehand so that the timings do not include it."""
    world = random.Random(1)
    return [[float(world.random() < 0.05 * (k + 1)) for _ in range(1024)] for k in range(ARMS)]


def live(bandit: lb.Bandit, steps: int, pool: list[list[float]]) -> None:
    ask, tell = bandit.ask, bandit.tell
    for t in range(steps):
        decision = ask()
        tell(decision, pool[decision.arm][t & 1023])


def pair_us(bandit: lb.Bandit, pool: list[list[float]]) -> float:
    """Return the microseconds of one ask and its tell."""

    def once() -> float:
        started = time.perf_counter()
        live(bandit, STRETCH, pool)
        return (time.perf_counter() - started) / STRETCH * 1e6

    return best_of(once, MEASURED // STRETCH)


def call_us(call: Callable[[], object], n: int = 200) -> float:
    """Return the microseconds of one call."""

    def once() -> float:
        started = time.perf_counter()
        for _ in range(n):
            call()
        return (time.perf_counter() - started) / n * 1e6

    return best_of(once)


def tell_some(bandit: lb.Bandit) -> None:
    """Take a decision without one of the arms, and tell its reward."""
    bandit.tell(bandit.ask(without=[0]), 1.0)


def main() -> None:
    pool = rewards()
    print(f"\nLive, microseconds for one ask and its tell, {ARMS} arms (goal: at most {LIMIT})")
    print(f"{'policy':<12}{'after 10²':>11}{'after 10⁷':>11}{'ratio':>8}")
    for name, policy in policies().items():
        bandit = lb.Bandit(policy, ARMS, seed=1, compiled=True)
        live(bandit, YOUNG, pool)
        # A timing adds 20 000 decisions. That is much for a young bandit, so time a copy of it.
        young = pair_us(bandit.copy(), pool)
        live(bandit, OLD - YOUNG, pool)
        bandit.compile()  # for the size to which LB-SDA has grown
        old = pair_us(bandit, pool)
        print(f"{name:<12}{young:>11.2f}{old:>11.2f}{old / young:>8.2f}", flush=True)

    bandit = lb.Bandit(lb.LBSDALM(), ARMS, seed=1, room=ARMS + 1, compiled=True)
    live(bandit, 10_000, pool)
    floored = lb.Bandit(lb.LBSDALM(), ARMS, seed=1, floor=0.01, compiled=True)
    live(floored, 10_000, pool)
    print("\nLB-SDA-LM, microseconds a call")
    print(f"  ask and tell with floors  {pair_us(floored, pool):8.1f}")
    print(f"  ask among some, and tell  {call_us(partial(tell_some, bandit.copy())):8.1f}")
    print(f"  observe                   {call_us(partial(bandit.copy().observe, 0, 1.0)):8.1f}")
    print(f"  explain                   {call_us(bandit.explain):8.1f}")
    print(f"  summary                   {call_us(bandit.summary):8.1f}")
    print(f"  to_bytes                  {call_us(bandit.to_bytes):8.1f}")
    print(f"  to_json                   {call_us(bandit.to_json):8.1f}")

    labels = iter(range(ARMS, 10**9))

    def come_and_go() -> None:
        label = next(labels)
        bandit.add_arm(label)
        bandit.retire_arm(label)

    print(f"  add_arm and retire_arm    {call_us(come_and_go, 50):8.1f}")


if __name__ == "__main__":
    Parser(
        "live", __doc__, "about a minute, once compiled, and a few gigabytes of memory"
    ).parse_args()
    main()
