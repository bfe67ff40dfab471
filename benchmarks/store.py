"""Measures bandits in a store: ``python -m benchmarks.store [FOLDER]``.

It prints the events a second for each durability, beside the same calls on a bandit in memory and
the time that the disk alone takes; how fast a store replays a bandit when it opens it again; and
the size of the file: for SQLite, and for a PostgreSQL server that it starts in the same folder with
the settings that the server comes with. Processor time is that of all threads of this process
together. On a busy machine it is more reliable than elapsed time.
"""

import os
import random
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

from tests.store.postgres_server import Server, why_not

import lastblock as lb
from benchmarks.options import Parser

EVENTS = 400_000
SYNCED = 400
REPEATS = 3
THREADS = 16
WRITE_GOAL, REPLAY_GOAL, SHARED_GOAL = 100_000, 500_000, 5_000
NAME = "button"
ARMS = ["red", "green", "blue"]

_world = random.Random(1)
REWARDS = [float(_world.random() < 0.3) for _ in range(1024)]


def live(bandit: lb.Bandit, events: int) -> None:
    ask, tell = bandit.ask, bandit.tell
    for t in range(events // 2):
        tell(ask(), REWARDS[t & 1023])


def sync_ms(folder: str) -> float:
    """Return the milliseconds to write a page and to wait until it is on the disk."""
    with tempfile.TemporaryFile(dir=folder) as file:
        started = time.perf_counter()
        for _ in range(50):
            os.pwrite(file.fileno(), bytes(4096), 0)
            os.fdatasync(file.fileno())
        return (time.perf_counter() - started) / 50 * 1e3


class Pace(NamedTuple):
    """Events a second, processor microseconds an event, and events in a group commit."""

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
    """Time the block, in which `events` events happen; the list has its pace afterwards."""
    paces: list[Pace] = []
    started, used = time.perf_counter(), time.process_time()
    yield paces
    seconds, used = time.perf_counter() - started, time.process_time() - used
    paces.append(Pace(events / seconds, used / events * 1e6))


def in_memory() -> Pace:
    bandit = lb.Bandit(lb.LBSDALM(), ARMS, seed=1, compiled=True)
    live(bandit, 1000)
    with timed(EVENTS) as paces:
        live(bandit, EVENTS)
    return paces[0]


Place = str | Path


def files(folder: str) -> Callable[[], Place]:
    """Return a function that returns the place of a new store: a file of this folder."""
    return lambda: Path(folder) / f"{time.monotonic_ns()}.db"


def schemas(server: Server) -> Callable[[], Place]:
    """Return a function that returns the place of a new store: a schema of this server."""
    return lambda: str(server.url(schema=f"s{time.monotonic_ns()}"))


def written(place: Place, durability: str, events: int) -> Pace:
    """Return the pace of writing events, until the last one is written."""
    with lb.Store(place, durability=durability) as store:
        groups = []
        if store._groups is not None:
            write = store._groups._write
            store._groups._write = lambda *group: (groups.append(1), write(*group))
        bandit = store.create(NAME, lb.LBSDALM(), ARMS, seed=1)
        with timed(events) as paces:
            live(bandit, events)
            store.flush()
        return paces[0]._replace(group=events / (len(groups) or events))


def shared(place: Place, events: int) -> Pace:
    """Return the pace of threads that wait for the disk, each with a bandit of its own."""
    with lb.Store(place, durability="always") as store:
        bandits = [store.create(f"{i}", lb.LBSDALM(), ARMS, seed=i) for i in range(THREADS)]
        threads = [
            threading.Thread(target=live, args=(bandit, events // THREADS)) for bandit in bandits
        ]
        with timed(events) as paces:
            for thread in threads:
                thread.start()
            for thread in threads:
                thread.join()
        return paces[0]


def kept(place: Place) -> bytes:
    """Write a store without snapshots, so that opening it replays all events.

    Return the bandit's state.
    """
    with lb.Store(place, durability="never", keep_events=True, snapshot_every=10**9) as store:
        bandit = store.create(NAME, lb.LBSDALM(), ARMS, seed=1)
        live(bandit, EVENTS)
        return bandit.to_bytes()


def replayed(place: Place, body: bytes) -> Pace:
    """Return the pace of the replay, and check that it ends in the state `body`."""
    with lb.Store(place, keep_events=True, snapshot_every=10**9) as store:
        with timed(EVENTS) as paces:
            bandit = store.bandit(NAME)
        assert bandit.to_bytes() == body
        return paces[0]


def size(folder: str, events: int) -> int:
    """Return the bytes of a store's file after `events` events, of which it prunes the old ones."""
    path = Path(folder) / f"{events}.db"
    with lb.Store(path, durability="never") as store:
        live(store.create(NAME, lb.LBSDALM(), ARMS, seed=1), events)
    return path.stat().st_size


def main(folder: str | None = None) -> None:
    with tempfile.TemporaryDirectory(dir=folder) as place:
        memory = max(in_memory() for _ in range(REPEATS))
        print(f"\nLB-SDA-LM, 3 arms; writing a page to this disk takes {sync_ms(place):.2f} ms")
        head = f"{'events/s':>10}{'of in-memory':>14}{'CPU µs':>9}{'events a group':>16}"
        print(f"{'durability':<20}{head}\n{memory.row('(in memory)', memory)}")
        path = Path(place) / "kept.db"
        measure(memory, files(place), path)
        print(f"a file with all events: {path.stat().st_size / EVENTS:.1f} bytes an event")
        sizes = [size(place, events) for events in (EVENTS // 10, EVENTS)]
        print(f"a pruned file: {sizes[0]:,} bytes after {EVENTS // 10:,} events, ", end="")
        print(f"{sizes[1]:,} bytes after {EVENTS:,}")
    on_postgres(folder, memory)


def measure(memory: Pace, new: Callable[[], Place], to_keep: Place) -> None:
    """Print the paces of one kind of store; `new` returns the place of a new one."""
    for durability, events in (("never", EVENTS), ("interval", EVENTS), ("always", SYNCED)):
        pace = max(written(new(), durability, events) for _ in range(REPEATS))
        goal = WRITE_GOAL if durability == "interval" else 0
        print(pace.row(durability, memory, goal), flush=True)
    pace = max(shared(new(), THREADS * SYNCED) for _ in range(REPEATS))
    is_server = isinstance(to_keep, str)
    print(pace.row(f"always, {THREADS} threads", memory, SHARED_GOAL if is_server else 0))
    body = kept(to_keep)
    replayed(to_keep, body)  # compiles
    pace = max(replayed(to_keep, body) for _ in range(REPEATS))
    print(pace.row("replay on opening", memory, REPLAY_GOAL), flush=True)


def on_postgres(folder: str | None, memory: Pace) -> None:
    if reason := why_not():
        print(f"no figures for PostgreSQL: {reason}")
        return
    server = Server(folder, fsync="on")
    try:
        ((version,),) = server.execute("SHOW server_version")
        print(f"\nthe same on PostgreSQL {version}")
        measure(memory, schemas(server), server.url(schema="kept"))
        ((size,),) = server.execute("SELECT pg_total_relation_size('kept.events')")
        print(f"all events: {size / EVENTS:.1f} bytes an event")
    finally:
        server.close()


if __name__ == "__main__":
    parser = Parser("store", __doc__, "about a minute, once compiled")
    parser.add_argument(
        "folder",
        nargs="?",
        metavar="FOLDER",
        help="where to write (default: the system's folder for temporary files)",
    )
    given = parser.parse_args()
    if given.folder is not None and not Path(given.folder).is_dir():
        parser.error(f"{given.folder} is not a folder")
    main(given.folder)
