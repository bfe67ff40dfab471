"""What is done to PostgreSQL servers, and to owners of bandits that are stopped and wake up later.

    python tests/store/postgres_trials.py server_kills KILLS
    python tests/store/postgres_trials.py takeovers TAKEOVERS [SECONDS OF A LEASE]

Each starts a server of its own and prints one line of JSON.
"""

import contextlib
import os
import random
import signal
import time
from concurrent.futures import ThreadPoolExecutor

from databases import fetch
from lives import change, new_bandit
from postgres_server import Server
from store_trials import fork, free_bandit, main, shared_cells, wait_for, with_error

import lastblock as lb
from lastblock.store import postgres_leases

DURABILITIES = ("always", "interval")
STOP, STEPS, FAILURES, AFTER = range(4)  # cells that a child shares with its parent
PATIENCE = 120.0


def check(is_right, message):
    if not is_right:
        raise AssertionError(str(message))


# The server is killed.


def server_kills(kills):
    """Kill the server again and again while threads of one process write, and start it again."""
    server, rng = Server(fsync="on"), random.Random(5)
    new_bandit()  # compiled
    result = {}
    try:
        for durability in DURABILITIES:
            url, cells = server.url(schema=durability), shared_cells()
            child = fork(write_until_told, url, durability, cells)
            for _ in range(int(kills) // len(DURABILITIES)):
                done = cells[STEPS]
                until = time.monotonic() + PATIENCE
                while cells[STEPS] < done + 5:  # it goes on by itself
                    assert time.monotonic() < until, "the writer does not go on"
                    assert os.waitpid(child, os.WNOHANG) == (0, 0), "the writer has ended"
                    time.sleep(0.002)
                time.sleep(rng.uniform(0.0, 0.2))
                server.kill()
                time.sleep(rng.choice([0.0, 0.1]))
                server.start()
            cells[STOP] = 1
            wait_for(child)
            told = "SELECT decision FROM events WHERE kind = 1 AND decision >= 0"
            twice = f"{told} GROUP BY bandit, decision "
            assert fetch(url, f"{twice} HAVING count(*) > 1") == [], "a decision was told twice"
            result[durability] = {"steps": cells[STEPS], "failures": cells[FAILURES]}
    finally:
        server.close()
    return result


def write_until_told(url, durability, cells):
    """Three threads, each with a bandit and a twin of it that nothing happens to."""
    with lb.Store(url, durability=durability, keep_events=True, snapshot_every=50) as store:
        names = [f"bandit {i}" for i in range(3)]
        for name in names:
            new_bandit(store.create, name=name)
        with ThreadPoolExecutor(3) as threads:
            list(threads.map(lambda name: write_one(store, name, cells), names))


def write_one(store, name, cells):
    bandit, twin, step = store.bandit(name), new_bandit(), 0
    journal = store._journals[name]
    while not cells[STOP]:
        before = journal.event
        try:
            change(bandit, step)
        except lb.StoreError as error:
            check("\n" not in str(error), error)
            cells[FAILURES] += 1
            settle(bandit)
            if journal.event == before:  # it was not committed: once more
                continue
        change(twin, step)
        step += 1
        cells[STEPS] += 1
        assert bandit.to_bytes() == twin.to_bytes()
    until_done(store.flush)
    until_done(lambda: store.verify(name))
    until_done(lambda: store.release(name))
    again = until_done(lambda: store.bandit(name))
    assert again.to_bytes() == twin.to_bytes(), "what was acknowledged is lost"


def settle(bandit):
    """Wait until the bandit knows what the database has."""
    until_done(lambda: bandit.tell_many((), ()))


def until_done(action):
    until = time.monotonic() + PATIENCE
    while True:
        try:
            return action()
        except lb.StoreError as error:
            check(time.monotonic() < until, error)
            time.sleep(0.02)


# An owner is stopped, and wakes up later.


def takeovers(count, lease=None):
    """Stop owners of bandits, take their bandits over, and let them go on."""
    if lease is not None:
        postgres_leases.LEASE = float(lease)
        postgres_leases.RENEW = 0.3 * float(lease)
        postgres_leases.MARGIN = 0.1 * float(lease)
    server, rng = Server(fsync="on"), random.Random(5)
    new_bandit()  # compiled
    taken = fenced = 0
    try:
        url = server.url(schema="shop")
        while taken < int(count):
            owners = min(10, int(count) - taken)
            with lb.Store(url) as store:
                names = [f"bandit {taken + i}" for i in range(owners)]
                for name in names:
                    new_bandit(store.create, name=name)
            all_cells = [shared_cells() for _ in names]
            children = [
                fork(own, url, name, DURABILITIES[i % 2], cells)
                for i, (name, cells) in enumerate(zip(names, all_cells, strict=True))
            ]
            for cells in all_cells:
                while cells[STEPS] < 20:
                    time.sleep(0.002)
            for child in children:
                time.sleep(rng.uniform(0.0, 0.02))
                os.kill(child, signal.SIGSTOP)
                assert os.WIFSTOPPED(os.waitpid(child, os.WUNTRACED)[1])
            with lb.Store(url) as store:
                for i, name in enumerate(names):
                    bandit = free_bandit(store, name)
                    found = store._journals[name].event
                    if i % 2 == 0:  # "always"
                        assert found >= all_cells[i][STEPS], "what was acknowledged is lost"
                    for _ in range(10):
                        bandit.tell(bandit.ask(), 1.0)
                events = {name: store._journals[name].event for name in names}
                for cells in all_cells:
                    cells[STOP] = 1  # from now on nothing may succeed
                for child in children:
                    os.kill(child, signal.SIGCONT)
                for child in children:
                    wait_for(child)
                for cells in all_cells:
                    assert cells[AFTER] <= 1, "a stale owner decides"  # the call it was stopped in
                    fenced += cells[FAILURES]
                for name in names:
                    store.bandit(name).tell(store.bandit(name).ask(), 1.0)
                    assert store._journals[name].event == events[name] + 2, "a stale owner wrote"
                    store.verify(name)
            taken += owners
        told = "SELECT decision FROM shop.events WHERE kind = 1 AND decision >= 0"
        twice = f"{told} GROUP BY bandit, decision"
        assert server.execute(f"{twice} HAVING count(*) > 1") == [], "a decision was told twice"
    finally:
        server.close()
    return {"takeovers": taken, "stale owners told so": fenced}


def own(url, name, durability, cells):
    """Write until somebody else has the bandit; then every call must say so."""
    store = lb.Store(url, durability=durability)
    bandit = store.bandit(name)
    journal = store._journals[name]
    step = 0
    while True:
        try:
            change(bandit, step)
        except lb.StoreError as error:
            if "was taken over by process" in str(error):
                break
            check("\n" not in str(error), error)
            continue
        if cells[STOP]:
            cells[AFTER] += 1
        else:
            cells[STEPS] = journal.event
        step += 1
    errors = []
    for action in (bandit.ask, lambda: bandit.ask(3), bandit.reseed, lambda: store.bandit(name)):
        with_error(action, errors)
    assert "is open in process" in errors[-1], "two owners"
    assert all("was taken over by process" in error for error in errors[:-1]), errors
    cells[FAILURES] = 1
    with contextlib.suppress(lb.StoreError):
        store.close()


if __name__ == "__main__":
    main(globals())
