"""How long a call of a live bandit blocks its thread: usually, and one time in a hundred.

``python -m benchmarks.blocking`` prints a table. On a busy machine the second figure says how busy.
"""

import statistics
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import lastblock as lb
from benchmarks.options import Parser

ARMS = ["red", "green", "blue"]
CALLS = 20_000
SLOW_CALLS = 300


def timed(calls: int, call: Callable[[], Any]) -> tuple[float, float]:
    """The median and the 99 % quantile of the time of a call in microseconds."""
    times = []
    for _ in range(calls):
        begun = time.perf_counter()
        call()
        times.append(time.perf_counter() - begun)
    return statistics.median(times) * 1e6, statistics.quantiles(times, n=100)[98] * 1e6


def rows(bandit: Any, calls: int) -> dict[str, tuple[float, float]]:
    """Times of the usual calls, after some that warm everything up."""
    for _ in range(2000 if calls == CALLS else 100):
        bandit.tell(bandit.ask(), 1.0)
    asked: list[Any] = []
    found = {"ask()": timed(calls, lambda: asked.append(bandit.ask()))}
    told = iter(asked)
    found["tell(decision, reward)"] = timed(calls, lambda: bandit.tell(next(told), 1.0))
    batches: list[Any] = []
    found["ask(100)"] = timed(SLOW_CALLS, lambda: batches.append(bandit.ask(100)))
    later = iter(batches)
    found["tell_many of 100"] = timed(
        SLOW_CALLS, lambda: bandit.tell_many(next(later), [1.0] * 100)
    )
    return found


def main() -> None:
    policy = lb.LBSDAGM()
    table: dict[str, dict[str, tuple[float, float]]] = {}
    alone = lb.Bandit(policy, ARMS, seed=1)
    table["in memory"] = rows(alone, CALLS)
    others = {
        "explain()": timed(SLOW_CALLS, alone.explain),
        "summary()": timed(SLOW_CALLS, alone.summary),
        "to_bytes()": timed(SLOW_CALLS, alone.to_bytes),
    }
    with tempfile.TemporaryDirectory() as folder:
        for durability in ("interval", "always"):
            path = Path(folder) / f"{durability}.db"
            calls = CALLS if durability == "interval" else SLOW_CALLS
            with lb.Store(path, durability=durability) as store:  # type: ignore[arg-type]  # one of its words
                bandit = store.create("b", policy, ARMS, seed=1)
                table[f'store, "{durability}"'] = rows(bandit, calls)
                if durability == "interval":
                    others["store.snapshot(name)"] = timed(50, lambda: store.snapshot("b"))

                    def flushed() -> None:
                        store.bandit("b").ask()
                        store.flush()

                    def opened() -> None:
                        store.release("b")
                        store.bandit("b")

                    others["store.flush()"] = timed(50, flushed)
                    others["store.bandit(name), up to 10 000 events"] = timed(20, opened)
    print("| call | " + " | ".join(f"{name}: usual / 1 in 100" for name in table) + " |")
    print("|---|" + "---|" * len(table))
    for call in next(iter(table.values())):
        cells = " | ".join(shown(table[name][call]) for name in table)
        print(f"| `{call}` | {cells} |")
    print("\n| other calls | usual / 1 in 100 |\n|---|---|")
    for call, times in others.items():
        print(f"| `{call}` | {shown(times)} |")


def shown(times: tuple[float, float]) -> str:
    return " / ".join(f"{t:.3g} µs" if t < 1000 else f"{t / 1000:.3g} ms" for t in times)


if __name__ == "__main__":
    Parser("blocking", __doc__, "about ten seconds").parse_args()
    main()
