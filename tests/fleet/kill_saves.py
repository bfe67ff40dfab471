"""Kill processes that save a fleet again and again: the file is the old one or the new one.

    python tests/fleet/kill_saves.py --kills 1000

Each process loads the file, then tells one reward to every bandit and saves, over and over.
"""

import argparse
import os
import random
import signal
import sys
import tempfile
import threading
import time
from pathlib import Path

import numpy as np
from tqdm import tqdm

import lastblock as lb

SIZE = 500
IDS = np.arange(SIZE)
LONGEST = 0.1
"""Seconds before a kill."""


def saves(path, report):
    """Save again and again; say after each time that it is done."""
    tqdm.set_lock(threading.RLock())  # the usual one is the parent's, too: a kill would keep it
    fleet = lb.Fleet.load(path, threads=1)
    os.write(report, b".")
    while True:
        fleet.tell(IDS, fleet.ask(IDS), np.ones(SIZE))
        fleet.save(path)
        os.write(report, b"s")


def killed_after(seconds, path):
    """How often a process had saved that was killed some time after it had loaded the file."""
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        try:
            saves(path, writing)
        finally:
            os._exit(1)
    os.close(writing)
    with os.fdopen(reading, "rb", buffering=0) as reports:
        assert reports.read(1) == b"."
        time.sleep(seconds)
        os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)
        return len(reports.read())


def main(kills, folder, *, seed=1):
    """Kill so many processes, one after the other; return how many kills left a file half written.

    Such a file has a name of its own, beside the fleet's.
    """
    rng, path, known = random.Random(seed), Path(folder, "fleet"), 0
    lb.Fleet(lb.LBSDALM(minimum=4, scale=0.5), arms=3, size=SIZE, seed=7, threads=1).save(path)
    for number in range(kills):
        before = known
        known += killed_after(rng.uniform(0.0, LONGEST), path)
        (found,) = set(lb.Fleet.load(path, threads=1).pulls().sum(axis=1).tolist())
        assert known <= found <= known + 1, f"kill {number}, {before} rewards before"
        known = found
        if sys.stdout.isatty():
            print(f"\r{number + 1} of {kills}", end="", flush=True)
    return len(list(Path(folder).iterdir())) - 1


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--kills", type=int, default=1000)
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        started = time.perf_counter()
        half = main(options.kills, folder, seed=options.seed)
        seconds = time.perf_counter() - started
        print(f"\r{options.kills} kills in {seconds:.0f} s, {half} of them within a save: no loss")
