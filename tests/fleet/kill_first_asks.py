"""Kill processes that ask the bandits of a new fleet for the first time; every file must open.

    python tests/fleet/kill_first_asks.py --kills 1000

What a batch had returned before the kill must be in the file, and every bandit must go on.
"""

import argparse
import os
import random
import signal
import sys
import tempfile
import time
from pathlib import Path

import numpy as np

import lastblock as lb

ARMS = 3
BATCH = 40
BATCHES = 25
SIZE = BATCH * BATCHES
POLICIES = {
    "Restarting": lb.Restarting(lb.UCB1(), lb.MeanShift()),
    "LBSDALM": lb.LBSDALM(minimum=4, scale=0.5),
}
LONGEST = 0.01
"""Seconds before a kill."""


def create(path, policy):
    """A new fleet, on one thread: a child process has no others."""
    return lb.Fleet.create(path, policy, arms=ARMS, size=SIZE, seed=7, threads=1)


def first_asks(path, policy, report):
    """Ask all bandits, and tell them; say after each batch that it is done."""
    fleet = create(path, policy)
    os.write(report, b".")
    for ids in np.arange(SIZE).reshape(BATCHES, BATCH):
        arms = fleet.ask(ids)
        os.write(report, b"a")
        fleet.tell(ids, arms, np.ones(BATCH))
        os.write(report, b"t")
    time.sleep(10.0)


def killed_after(seconds, path, policy):
    """What a process reported that was killed some time after it had made the file."""
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        try:
            first_asks(path, policy, writing)
        finally:
            os._exit(1)
    os.close(writing)
    with os.fdopen(reading, "rb", buffering=0) as reports:
        reports.read(1)
        time.sleep(seconds)
        os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)
        return reports.read()


def check(path, reports, expected):
    """The file opens, has all that was reported, and goes on; new bandits as expected."""
    with lb.Fleet.open(path, threads=1) as fleet:
        asked, told = reports.count(b"a") * BATCH, reports.count(b"t") * BATCH
        pulls = fleet.pulls().sum(axis=1)
        assert np.all(pulls[:told] == 1), "a reward that was told is lost"
        assert np.all(pulls[asked:] == 0), "a reward that nobody told"
        again = fleet.ask(np.arange(SIZE))
        assert set(again.tolist()) <= set(range(ARMS))
        fleet.tell(np.arange(SIZE), again, np.zeros(SIZE))
        assert np.all(again[asked + BATCH :] == expected[asked + BATCH :]), "not as if new"


def main(kills, folder, *, policies=POLICIES, seed=1):
    """Kill so many processes, with each policy in turn."""
    rng = random.Random(seed)
    expected = {}
    for name, policy in policies.items():
        path = Path(folder) / f"{name}.fleet"
        with create(path, policy) as fleet:
            expected[name] = fleet.ask(np.arange(SIZE))
        path.unlink()
        create(path, policy).close()
        check(path, b"", expected[name])  # compile before the forks
        path.unlink()
    for number in range(kills):
        name = list(policies)[number % len(policies)]
        path = Path(folder) / f"{name}-{number}.fleet"
        reports = killed_after(rng.uniform(0.0, LONGEST), path, policies[name])
        try:
            check(path, reports, expected[name])
        except (AssertionError, lb.StateFileError) as error:
            error.add_note(f"kill {number} of {name}, after {reports!r}")
            raise
        path.unlink()
        if sys.stdout.isatty():
            print(f"\r{number + 1} of {kills}", end="", flush=True)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--kills", type=int, default=1000)
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        started = time.perf_counter()
        main(options.kills, folder, seed=options.seed)
        print(f"\r{options.kills} kills in {time.perf_counter() - started:.0f} s: all files open")
