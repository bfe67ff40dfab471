"""Bandits in a store: ``python -m benchmarks.store [FOLDER]``.

Events a second by durability, beside the same calls on a bandit in memory and the bare cost of
waiting for the disk; how fast a bandit is replayed when it is opened again; how large the file is.
Processor time is of all threads together: where others use the machine too, it says more than the
clock does.
"""

import os
import random
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

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


class Pace(NamedTuple):
    """Events a second, microseconds of processor time for each, events written together."""

    events: float
    cpu: float
    group: float = 0.0

    def row(self, name: str, memory: "Pace", goal: int = 0) -> str:
        group = f"{self.group:>16,.0f}" if self.group else f"{'':>16}"
        wanted = f"   (goal: {goal:,})" if goal else ""
        share = self.events / memory.events
        return f"{name:<20}{self.events:>10,.0f}{share:>14.2%}{self.cpu:>9.2f}{group}{wanted}"


@contextmanager
def timed(events: int) -> Iterator[list[Pace]]:
    paces: list[Pace] = []
    started, used = time.perf_counter(), time.process_time()
    yield paces
    seconds, used = time.perf_counter() - started, time.process_time() - used
    paces.append(Pace(events / seconds, used / events * 1e6))


def in_memory() -> Pace:
    bandit = lb.Bandit(lb.LBSDALM(), ARMS, seed=1)
    live(bandit, 1000)
    with timed(EVENTS) as paces:
        live(bandit, EVENTS)
    return paces[0]


def written(folder: str, durability: str, events: int) -> Pace:
    """Until the last one is written."""
    with lb.Store(Path(folder) / f"{time.monotonic_ns()}.db", durability=durability) as store:
        groups = []
        if store._groups is not None:
            write = store._groups._write
            store._groups._write = lambda *group: (groups.append(1), write(*group))
        bandit = store.create(NAME, lb.LBSDALM(), ARMS, seed=1)
        with timed(events) as paces:
            live(bandit, events)
            store.flush()
        return paces[0]._replace(group=events / (len(groups) or events))


def kept(folder: str) -> tuple[Path, bytes]:
    """A file in which all events are still to be replayed."""
    path = Path(folder) / "kept.db"
    with lb.Store(path, durability="never", keep_events=True, snapshot_every=10**9) as store:
        bandit = store.create(NAME, lb.LBSDALM(), ARMS, seed=1)
        live(bandit, EVENTS)
        return path, bandit.to_bytes()


def replayed(path: Path, body: bytes) -> Pace:
    with lb.Store(path, keep_events=True, snapshot_every=10**9) as store:
        with timed(EVENTS) as paces:
            bandit = store.bandit(NAME)
        assert bandit.to_bytes() == body
        return paces[0]


def size(folder: str, events: int) -> int:
    path = Path(folder) / f"{events}.db"
    with lb.Store(path, durability="never") as store:
        live(store.create(NAME, lb.LBSDALM(), ARMS, seed=1), events)
    return path.stat().st_size


def main(folder: str | None = None) -> None:
    with tempfile.TemporaryDirectory(dir=folder) as place:
        memory = max(in_memory() for _ in range(REPEATS))
        print(f"\nLB-SDA-LM, 3 arms; a page on this disk takes {sync_ms(place):.2f} ms")
        head = f"{'events/s':>10}{'of in memory':>14}{'CPU µs':>9}{'events a group':>16}"
        print(f"{'durability':<20}{head}\n{memory.row('(in memory)', memory)}")
        for durability, events in (("never", EVENTS), ("interval", EVENTS), ("always", SYNCED)):
            pace = max(written(place, durability, events) for _ in range(REPEATS))
            goal = WRITE_GOAL if durability == "interval" else 0
            print(pace.row(durability, memory, goal), flush=True)
        path, body = kept(place)
        replayed(path, body)  # compiled
        pace = max(replayed(path, body) for _ in range(REPEATS))
        print(pace.row("opening: replayed", memory, REPLAY_GOAL))
        print(f"a file with all events: {path.stat().st_size / EVENTS:.1f} bytes an event")
        sizes = [size(place, events) for events in (EVENTS // 10, EVENTS)]
        print(f"pruned: {sizes[0]:,} bytes after {EVENTS // 10:,} events, ", end="")
        print(f"{sizes[1]:,} bytes after {EVENTS:,}")


if __name__ == "__main__":
    main(*sys.argv[1:])
