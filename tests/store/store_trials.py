"""What is done to stores in processes of their own: they are killed, starved and locked out.

    python tests/store/store_trials.py TRIAL PLACE [ARGUMENT …]

prints one line of JSON. A place is a folder, or the URL of a PostgreSQL database. Children are
forks of one process, since that has everything compiled.
"""

import json
import mmap
import os
import random
import resource
import signal
import sys
import time
from contextlib import suppress
from datetime import timedelta
from pathlib import Path

from databases import fetch, store_at
from lives import change, has_lost, new_bandit, skip_lost

import lastblock as lb
from lastblock.kernels.background import compiling
from lastblock.store.opening import is_postgres

NAME = "button"
ACKNOWLEDGED, SAFE, READY, REFUSALS, MISTAKES = range(5)
PATIENCE = 60.0


def fork(work, *arguments):
    child = os.fork()
    if child == 0:
        try:
            work(*arguments)
        except BaseException:
            sys.excepthook(*sys.exc_info())
            sys.stderr.flush()
            os._exit(1)
        os._exit(0)
    return child


def wait_for(child):
    assert os.waitpid(child, 0)[1] == 0


def shared_cells():
    return memoryview(mmap.mmap(-1, 4096)).cast("q")


def kill_soon(path, rng, cells, work, *arguments):
    """Fork a writer, and kill it a moment after it is ready."""
    cells[READY] = 0
    child = fork(work, path, *arguments, cells)
    while not cells[READY]:
        assert os.waitpid(child, os.WNOHANG) == (0, 0), "the writer has ended"
        time.sleep(0.0005)
    time.sleep(rng.uniform(0.0, 0.25 if is_postgres(path) else 0.06))
    os.kill(child, signal.SIGKILL)
    assert os.waitpid(child, 0)[1] == signal.SIGKILL


def kill(place, durability, kills, seed, forks=False):
    """Kill a writer again and again; each time it must be where its events left it.

    The writer may fork meanwhile: its children are refused, and keep none of its locks.
    """
    path, rng = store_at(place), random.Random(int(seed))
    options, cells = {"durability": durability, "snapshot_every": 150}, shared_cells()
    with lb.Store(path) as store:
        new_bandit(store.create, name=NAME)
    twin, events = new_bandit(), []
    twin.attach(events.extend, twin.copy)
    steps = lost = 0
    for _ in range(int(kills)):
        cells[ACKNOWLEDGED] = cells[SAFE] = len(events)
        kill_soon(path, rng, cells, write, options, steps, forks)
        with lb.Store(path, **options) as store:
            bandit = free_bandit(store)
            found = store._journals[NAME].event - has_lost(bandit, twin)  # the last one is a skip
            begun = len(events)
            while len(events) < found:
                begun = len(events)
                change(twin, steps)
                steps += 1
            assert len(events) == found, "half a call is in the log"
            skip_lost(twin, bandit)
            assert bandit.to_bytes() == twin.to_bytes()
            assert found >= cells[SAFE], "more than the last group is lost"
            assert begun <= cells[ACKNOWLEDGED], "more than one call was not acknowledged"
            if durability == "always":
                assert found >= cells[ACKNOWLEDGED], "an acknowledged call is lost"
            lost += found < cells[ACKNOWLEDGED]
            for _ in range(3):
                for each in (bandit, twin):
                    change(each, steps)
                steps += 1
            assert bandit.to_bytes() == twin.to_bytes()
    assert cells[MISTAKES] == 0, "a child could use its parent's store"
    return {"steps": steps, "events": len(events), "lost": lost, "refusals": cells[REFUSALS]}


def free_bandit(store, name=NAME):
    """Open a bandit that may be another's for a moment.

    A child that was being born when its parent was killed has its locks; a lease ends.
    """
    until = time.monotonic() + PATIENCE
    while True:
        try:
            return store.bandit(name)
        except lb.BanditInUseError:
            assert time.monotonic() < until
            time.sleep(0.001)


def write(path, options, steps, forks, cells):
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)  # nobody waits for the children
    store = lb.Store(path, **options)
    groups = store._groups
    if groups is not None:
        take, put_down = groups._take, groups._write
        begun = []

        def take_group():
            begun.append(cells[ACKNOWLEDGED])  # these are in the queue by now
            return take()

        def write_group(rows, snapshots):
            put_down(rows, snapshots)
            cells[SAFE] = begun[-1]

        groups._take, groups._write = take_group, write_group
    bandit = store.bandit(NAME)
    cells[READY] = not forks  # else a child says when it has been refused
    while True:
        change(bandit, steps)
        cells[ACKNOWLEDGED] = store._journals[NAME].event
        steps += 1
        if forks and steps % 3 == 0:
            fork(try_both, path, bandit, cells)


def try_both(path, bandit, cells):
    """What a child of the writer may not do."""
    errors = []
    with_error(lambda: lb.Store(path).bandit(NAME), errors)
    with_error(bandit.ask, errors)
    is_refused = "belongs to the parent process" in errors[1]
    cells[REFUSALS if is_refused else MISTAKES] += 1
    cells[READY] = 1
    time.sleep(0.02)


def retries(place, kills, seed):
    """Kill a writer again and again; the next one sends the last request once more.

    Nothing is asked, told or closed twice, and nothing is left out.
    """
    path, rng, cells = store_at(place), random.Random(int(seed)), shared_cells()
    with lb.Store(path, keep_events=True) as store:
        new_bandit(store.create, name=NAME, rewards="sum")
    for _ in range(int(kills)):
        kill_soon(path, rng, cells, serve)
    with lb.Store(path, keep_events=True) as store:
        bandit = store.bandit(NAME)
        serve_one(store, bandit, cells[ACKNOWLEDGED])
        time.sleep(0.001)
        bandit.expire(older_than=timedelta(0))
        steps = cells[ACKNOWLEDGED] + 1
        store.verify(NAME)
        told = fetch(path, "SELECT decision, reward FROM events WHERE kind = 1 ORDER BY decision")
        assert told == [(step, 3.0) for step in range(steps)]
        assert (bandit.asked, bandit.pending) == (steps, ())
        token = bandit.ask(key=f"request {steps - 1}").token
        assert bandit.close(token) == 3.0
    return {"steps": steps}


def serve(path, cells):
    store = lb.Store(path, keep_events=True, snapshot_every=50)
    bandit = store.bandit(NAME)
    cells[READY] = 1
    while True:
        serve_one(store, bandit, cells[ACKNOWLEDGED])
        cells[ACKNOWLEDGED] += 1


def serve_one(store, bandit, step):
    token = bandit.ask(key=f"request {step}").token
    for key, reward in (("a", 1.0), ("b", 2.0)):
        store.tell(token, reward, key=key)
    bandit.close(token, defer=step % 2 == 0)
    bandit.expire(older_than=timedelta(milliseconds=step % 3))


def full(folder, durability):
    """Files may not grow, then not change: calls fail and change nothing. Then they may again."""
    path = Path(folder) / "shop.db"
    store = lb.Store(path, durability=durability, snapshot_every=1000)
    bandit, twin = new_bandit(store.create, name=NAME), new_bandit()
    for each in (bandit, twin):
        for step in range(50):
            change(each, step)
    store.flush()
    largest = max(file.stat().st_size for file in Path(folder).iterdir())
    resource.setrlimit(resource.RLIMIT_FSIZE, (largest + 100_000, resource.RLIM_INFINITY))
    steps, errors = 50, []
    while not errors:
        before = bandit.to_bytes()
        try:
            change(bandit, steps)
        except lb.StoreError as error:
            errors.append(str(error))
            assert bandit.to_bytes() == before
        else:
            change(twin, steps)
            steps += 1
            if durability != "always":
                with suppress(lb.StoreError):  # the next call will tell
                    store.flush()
    resource.setrlimit(resource.RLIMIT_FSIZE, (0, resource.RLIM_INFINITY))  # nor for less than that
    before, out = bandit.to_bytes(), bandit.pending[0]
    for action in (
        bandit.ask,
        lambda: bandit.ask(2),
        lambda: bandit.tell(out, 1.0),
        lambda: bandit.forget(out),
        lambda: change_arms(bandit),
        lambda: bandit.observe(there(bandit)[0], 1.0),
        bandit.reseed,
        *([] if durability == "always" else [store.flush]),
    ):
        with_error(action, errors)
        assert bandit.to_bytes() == before
    assert before == twin.to_bytes()
    resource.setrlimit(resource.RLIMIT_FSIZE, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
    for step in range(steps, steps + 50):
        for each in (bandit, twin):
            change(each, step)
    assert bandit.to_bytes() == twin.to_bytes()
    store.close()
    with lb.Store(path) as again:
        assert again.bandit(NAME).to_bytes() == twin.to_bytes()
    return {"steps": steps, "errors": sorted(set(errors))}


def there(bandit):
    return [label for label, state in bandit.arms.items() if state != "retired"]


def change_arms(bandit):
    if len(there(bandit)) > 2:
        bandit.retire_arm(there(bandit)[-1])
    else:
        bandit.add_arm("one more")


def with_error(action, errors):
    try:
        action()
    except lb.StoreError as error:
        errors.append(str(error))
    else:
        raise AssertionError("no error")


def read_only(folder):
    """As somebody who may not write."""
    path = Path(folder) / "shop.db"
    with lb.Store(path) as store:
        new_bandit(store.create, name=NAME)
    Path(folder).chmod(0o777)
    path.chmod(0o444)
    for name, mode in (("closed", 0o555), ("hidden", 0o000)):
        (Path(folder) / name).mkdir()
        (Path(folder) / name).chmod(mode)
    before = path.read_bytes()
    if os.getuid() == 0:
        os.setuid(65534)
    errors = []
    with_error(lambda: lb.Store(path), errors)
    for name in ("closed", "hidden"):
        with_error(lambda name=name: lb.Store(Path(folder) / name / "shop.db"), errors)
    assert path.read_bytes() == before
    return errors


def owner(place):
    """A bandit that another process has; another one of the same file."""
    store = lb.Store(store_at(place), durability="interval")
    errors = []
    with_error(lambda: store.bandit(NAME), errors)
    with_error(lambda: store.delete(NAME), errors)
    with_error(lambda: new_bandit(store.get_or_create, name=NAME), errors)
    other = new_bandit(store.create, name="other")
    for step in range(30):
        change(other, step)
    store.close()
    return errors


def together(place):
    """Four processes make the file, and a bandit each and one in turn, all at once."""
    path = store_at(place)
    new_bandit()  # compiled
    for child in [fork(live, path, i) for i in range(4)]:
        wait_for(child)
    twin = new_bandit()
    for step in range(60):
        change(twin, step)
    with lb.Store(path) as store:
        shared = store.bandit("shared")
        store.delete("shared")
        alike = [store.bandit(name).to_bytes() == twin.to_bytes() for name in store.names()]
        return [*alike, sum(shared.pulls.values())]


def live(path, i):
    with lb.Store(path, durability="interval" if i % 2 else "always") as store:
        shared = new_bandit(store.get_or_create, name="shared", wait=PATIENCE)
        shared.tell(shared.ask(), 1.0)
        store.release("shared")
        bandit = new_bandit(store.create, name=f"bandit {i}")
        for step in range(60):
            change(bandit, step)


def left_open(place):
    """Ends without closing."""
    store = lb.Store(store_at(place), durability="interval", interval=60.0)
    bandit = new_bandit(store.create, name=NAME)
    for step in range(30):
        change(bandit, step)
    return bandit.to_json()


def main(trials):
    """Run the trial that the command line names, and print what it returns.

    With ``--serve``, trials are read from the input, a line of JSON each, and run in forks of this
    process, since to import and to load everything takes longer than most trials.
    """
    with compiling("at once"):  # children are forks, and shall find everything compiled
        if sys.argv[1:] != ["--serve"]:
            trial, *arguments = sys.argv[1:]
            print(json.dumps(trials[trial](*arguments)))
            return
        new_bandit()
        while line := sys.stdin.readline():
            out, err, trial, *arguments = json.loads(line)
            child = os.fork()
            if child == 0:  # it ends like a program
                for number, path in ((1, out), (2, err)):
                    os.dup2(os.open(path, os.O_WRONLY | os.O_CREAT), number)
                print(json.dumps(trials[trial](*arguments)), flush=True)
                return
            print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), flush=True)


if __name__ == "__main__":
    main(globals())
