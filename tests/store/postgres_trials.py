"""What is done to PostgreSQL servers, and to owners of bandits that are stopped and wake up later.

    python tests/store/postgres_trials.py server_kills KILLS
    python tests/store/postgres_trials.py rewinds REWINDS
    python tests/store/postgres_trials.py takeovers TAKEOVERS [SECONDS OF A LEASE]

Each starts a server of its own and prints one line of JSON.
"""

import contextlib
import logging
import os
import random
import re
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


def write_until_told(url, durability, cells, work=None):
    """Three threads, each with a bandit, `work` until they are told to stop."""
    with lb.Store(url, durability=durability, keep_events=True, snapshot_every=50) as store:
        names = [f"bandit {i}" for i in range(3)]
        for name in names:
            new_bandit(store.create, name=name)
        with ThreadPoolExecutor(3) as threads:
            list(threads.map(lambda name: (work or write_one)(store, name, cells), names))


def write_one(store, name, cells):
    """Write to a bandit and to a twin of it that nothing happens to."""
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


# The database goes back to an earlier state.

LOST, RANGE = 4, re.compile(r"events (\d+) to (\d+)")


def rewinds(count):
    """Restore copies, and promote replicas that are behind, while threads of processes write."""
    server, rng = Server(fsync="on"), random.Random(6)
    new_bandit()  # compiled
    result, children = {}, []
    try:
        urls = {durability: server.url(schema=durability) for durability in DURABILITIES}
        all_cells = {durability: shared_cells() for durability in DURABILITIES}
        children += [
            fork(write_until_told, urls[each], each, all_cells[each], write_and_reopen)
            for each in DURABILITIES
        ]
        for i in range(int(count)):
            wait_for_steps(all_cells.values(), 20)
            replica, copy = (server.replica(), None) if i % 2 else (None, server.copy())
            time.sleep(rng.uniform(0.0, 0.2))
            if replica is not None:
                server.cut_off(replica)
            wait_for_steps(all_cells.values(), rng.choice([1, 10, 100]))
            if replica is None:
                server.become(copy)
            else:
                server.promote(replica)
        wait_for_steps(all_cells.values(), 20)
        for cells in all_cells.values():
            cells[STOP] = 1
        while children:
            wait_for(children.pop())
        for durability, cells in all_cells.items():
            names = "steps", "failures", "named as lost"
            places = cells[STEPS], cells[FAILURES], cells[LOST]
            result[durability] = dict(zip(names, places, strict=True))
    finally:
        for child in children:  # of a trial that has failed
            os.kill(child, signal.SIGKILL)
        server.close()
    return result


def wait_for_steps(all_cells, steps):
    """Wait until all writers have gone on."""
    wanted = [(cells, cells[STEPS] + steps) for cells in all_cells]
    until = time.monotonic() + PATIENCE
    while any(cells[STEPS] < goal for cells, goal in wanted):
        assert time.monotonic() < until, "a writer does not go on"
        time.sleep(0.002)


def write_and_reopen(store, name, cells):
    """Take decisions and tell rewards; whatever is lost must be named, and nothing else."""
    rng, named = random.Random(name), []  # the events that the log names
    logger, handler = logging.getLogger("lastblock"), logging.Handler(logging.ERROR)
    handler.emit = lambda record: (
        name in record.getMessage()
        and named.extend(
            place
            for first, last in RANGE.findall(record.getMessage())
            for place in range(int(first), int(last) + 1)
        )
    )
    logger.addHandler(handler)
    bandit, journal = store.bandit(name), store._journals[name]
    there, given, out = {}, set(), []  # what was acknowledged, by its event; ids; those to tell
    while not cells[STOP]:
        try:
            if out and rng.random() < 0.5:
                id, kind = out.pop(rng.randrange(len(out))), 1
                bandit.tell(id, 1.0)
            else:
                id, kind = bandit.ask().id, 0
                check(id not in given, f"decision {id} is given twice")
                given.add(id)
                out.append(id)
            there[journal.event] = kind, id
            cells[STEPS] += 1
            time.sleep(0.001)  # so that logs stay short enough to look through
        except lb.StoreError as error:
            check("\n" not in str(error), error)
            cells[FAILURES] += 1
            if "went back" not in str(error):
                time.sleep(0.01)
                continue
            bandit = until_done(lambda: store.bandit(name))
            journal = store._journals[name]
            lost = set(named) & set(there)
            named.clear()
            log = {each.event: each for each in store.events(name, limit=1_000_000)}
            gone = set()
            for place in lost:
                kind, id = there.pop(place)
                check(not is_there(log, place, kind, id), f"event {place} is named, and is there")
                gone.add(id)
            cells[LOST] += len(lost)
            kept = bandit.pending
            out = [each.id for each in kept]
            for id in sorted(gone - set(out))[-20:]:
                try:
                    bandit.tell(id, 0.0)
                except lb.UnknownDecisionError:
                    continue
                raise AssertionError(f"decision {id} is another one") from None
            check_there(log, there)
    until_done(store.flush)
    until_done(lambda: store.verify(name))
    check_there({each.event: each for each in store.events(name, limit=1_000_000)}, there)
    logger.removeHandler(handler)


def check_there(log, there):
    """Check that what was acknowledged, and not named as lost, is in the log."""
    for place, (kind, id) in there.items():
        check(is_there(log, place, kind, id), f"event {place} is lost, and was not named")


def is_there(log, place, kind, id):
    """Whether the log has this event."""
    return place in log and (log[place].kind, log[place].id) == (("ask", "tell")[kind], id)


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
