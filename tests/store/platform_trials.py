"""Stores written with one processor's instructions and opened with another's.

    NUMBA_CPU_NAME=generic NUMBA_CPU_FEATURES= \\
        python tests/store/platform_trials.py NEW OLD POLICY …

writes a store NEW, opens the store OLD that somebody else has written, and prints the digests of
all states as one line of JSON. `both FOLDER all` compares this machine's processor with plain
x86-64, for all policies.
"""

import hashlib
import json
import os
import random
import subprocess
import sys
from pathlib import Path

import lastblock as lb

PLAIN = {"NUMBA_CPU_NAME": "generic", "NUMBA_CPU_FEATURES": ""}
OPTIONS = {"durability": "never", "keep_events": True, "snapshot_every": 350}


def play(bandit, steps, seed):
    """Two or three decisions at a time, with rewards of 0 and 1 that come in any order."""
    rng = random.Random(seed)
    out = []
    for _ in range(steps):
        out += bandit.ask(rng.choice([1, 2]))
        while len(out) > 2:
            decision = out.pop(rng.randrange(len(out)))
            bandit.tell(decision, float(rng.random() < 0.3))


def write(place, names):
    """A new store with a bandit of each policy."""
    with lb.Store(place, **OPTIONS) as store:
        for name in names:
            play(store.create(name, lb.POLICIES[name].examples()[0], arms=3, seed=7), 300, 1)
        return digests(store, names)


def go_on(place, names):
    """Open a store, replay everything, and live on."""
    with lb.Store(place, **OPTIONS) as store:
        for name in names:
            store.verify(name)
            play(store.bandit(name), 100, 2)
        return digests(store, names)


def digests(store, names):
    return {
        name: hashlib.blake2b(store.bandit(name).to_bytes(), digest_size=16).hexdigest()
        for name in names
    }


def both(folder, *names):
    """This processor and plain x86-64: each writes a store, and opens the other's."""
    if names == ("all",):
        names = tuple(
            name for name, cls in lb.POLICIES.items() if not getattr(cls, "oracle", False)
        )
    here, there = Path(folder) / "here.db", Path(folder) / "there.db"
    written = write(here, names)
    environment = {**os.environ, **PLAIN, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
    done = subprocess.run(
        [sys.executable, __file__, str(there), str(here), *names],
        capture_output=True,
        text=True,
        check=False,
        env=environment,
    )
    assert done.returncode == 0, done.stderr
    plain = json.loads(done.stdout)
    check_equal(plain["written"], written)
    check_equal(plain["gone on"], go_on(there, names))
    return {"policies": len(names), "processors": sorted({this_processor(), plain["processor"]})}


def check_equal(one, other):
    differ = [name for name in one if one[name] != other[name]]
    assert not differ, f"these policies reach other states: {', '.join(differ)}"


def this_processor():
    return lb.store.platforms.this_platform()["processor"]


if __name__ == "__main__":
    if sys.argv[1] == "both":
        print(json.dumps(both(*sys.argv[2:])))
    else:
        new, old, *policies = sys.argv[1:]
        result = {"written": write(new, policies), "gone on": go_on(old, policies)}
        print(json.dumps({**result, "processor": this_processor()}))
