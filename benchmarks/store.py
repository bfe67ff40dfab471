"""Bandits in a store: ``python -m benchmarks.store [FOLDER]``.

Events a second by durability, beside the same calls on a bandit in memory and the bare cost of
waiting for the disk; how fast a bandit is replayed when it is opened again; how large the file is.
"""

import os
import random
import sys
import tempfile
import time
from pathlib import Path

import lastblock as lb

EVENTS = 400_000
SYNCED = 400
REPEATS = 3
WRITE_GOAL, REPLAY_GOAL = 100_000, 500_000
NAME = "button"
ARMS = ["red", "green", "blue"]

_world = random.Random(1)
REWARDS = [float(_world.random() < 0.3) for _ in range(1024)]


def live(bandit: lb.Bandit, events: int) -> None:
    ask, tell = bandit.ask, bandit.tell
    for t in range(events // 2):
        tell(ask(), REWARDS[t & 1023])


def sync_ms(folder: str) -> float:
    """A page written and on the disk."""
    with tempfile.TemporaryFile(dir=folder) as file:
        started = time.perf_counter()
        for _ in range(50):
            os.pwrite(file.fileno(), bytes(4096), 0)
            os.fdatasync(file.fileno())
        return (time.perf_counter() - started) / 50 * 1e3


def in_memory() -> float:
    bandit = lb.Bandit(lb.LBSDALM(), ARMS, seed=1)
    live(bandit, 1000)
    started = time.perf_counter()
    live(bandit, EVENTS)
    return EVENTS / (time.perf_counter() - started)


def written(folder: str, durability: str, events: int) -> tuple[float, int]:
    """Events a second until the last one is written, and the groups that they went in."""
    with lb.Store(Path(folder) / f"{time.monotonic_ns()}.db", durability=durability) as store:
        groups = []
        if store._groups is not None:
            write = store._groups._write
            store._groups._write = lambda *group: (groups.append(1), write(*group))
        bandit = store.create(NAME, lb.LBSDALM(), ARMS, seed=1)
        started = time.perf_counter()
        live(bandit, events)
        store.flush()
        return events / (time.perf_counter() - started), len(groups) or events


def kept(folder: str) -> tuple[Path, bytes]:
    """A file in which all events are still to be replayed."""
    path = Path(folder) / "kept.db"
    with lb.Store(path, durability="never", keep_events=True, snapshot_every=10**9) as store:
        bandit = store.create(NAME, lb.LBSDALM(), ARMS, seed=1)
        live(bandit, EVENTS)
        return path, bandit.to_bytes()


def replayed(path: Path, body: bytes) -> float:
    with lb.Store(path, keep_events=True, snapshot_every=10**9) as store:
        started = time.perf_counter()
        bandit = store.bandit(NAME)
        pace = EVENTS / (time.perf_counter() - started)
        assert bandit.to_bytes() == body
        return pace


def size(folder: str, events: int) -> int:
    path = Path(folder) / f"{events}.db"
    with lb.Store(path, durability="never") as store:
        live(store.create(NAME, lb.LBSDALM(), ARMS, seed=1), events)
    return path.stat().st_size


def main(folder: str | None = None) -> None:
    with tempfile.TemporaryDirectory(dir=folder) as place:
        memory = max(in_memory() for _ in range(REPEATS))
        print(f"\nLB-SDA-LM, 3 arms; a page on this disk takes {sync_ms(place):.2f} ms")
        print(f"{'durability':<22}{'events/s':>10}{'of in memory':>14}{'events a group':>16}")
        print(f"{'(in memory)':<22}{memory:>10,.0f}{1:>14.0%}")
        for durability, events in (("never", EVENTS), ("interval", EVENTS), ("always", SYNCED)):
            runs = (written(place, durability, events) for _ in range(REPEATS))
            pace, groups = max(runs)
            each = f"{pace / memory:>14.2%}{events / groups:>16,.0f}"
            goal = f"   (goal: {WRITE_GOAL:,})" if durability == "interval" else ""
            print(f"{durability:<22}{pace:>10,.0f}{each}{goal}", flush=True)
        path, body = kept(place)
        replayed(path, body)  # compiled
        pace = max(replayed(path, body) for _ in range(REPEATS))
        print(f"{'opening: replayed':<22}{pace:>10,.0f}{pace / memory:>14.0%}", end="")
        print(f"{'':>16}   (goal: {REPLAY_GOAL:,})")
        print(f"a file with all events: {path.stat().st_size / EVENTS:.1f} bytes an event")
        sizes = [size(place, events) for events in (EVENTS // 10, EVENTS)]
        print(f"pruned: {sizes[0]:,} bytes after {EVENTS // 10:,} events, ", end="")
        print(f"{sizes[1]:,} bytes after {EVENTS:,}")


if __name__ == "__main__":
    main(*sys.argv[1:])
