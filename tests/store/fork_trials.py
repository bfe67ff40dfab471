"""What forks do to stores, in processes of their own.

    python tests/store/fork_trials.py TRIAL PLACE [ARGUMENT …]

prints one line of JSON. A place is a folder, or the URL of a PostgreSQL database.
"""

import json
import multiprocessing
import os
import signal
import sys
import time

from databases import store_at
from lives import change, new_bandit
from store_trials import NAME, PATIENCE, fork, main, shared_cells, with_error

import lastblock as lb

CHILD = 3  # a cell, as those of `store_trials`


def opened(path):
    """Open the store and its bandit; what is said if that is refused."""
    try:
        with lb.Store(path) as store:
            store.bandit(NAME).ask()
    except lb.StoreError as error:
        return str(error)
    return ""


def said(work):
    """What a child says, which must not hang."""
    read, sent = os.pipe()
    child = fork(lambda: os.write(sent, json.dumps(work()).encode()))
    os.close(sent)
    until = time.monotonic() + PATIENCE
    while os.waitpid(child, os.WNOHANG) == (0, 0):
        if time.monotonic() > until:
            os.kill(child, signal.SIGKILL)
            os.waitpid(child, 0)
            raise AssertionError("a child hangs")
        time.sleep(0.001)
    with os.fdopen(read) as file:
        return json.loads(file.read())


def children(folder, durability):
    """A child tries all; then the parent goes on, and a third process finds everything."""
    path = store_at(folder)
    store = lb.Store(path, durability=durability)
    bandit, twin = new_bandit(store.create, name=NAME), new_bandit()

    def child():
        errors = [opened(path)]
        for action in (
            bandit.ask,
            bandit.reseed,
            store.names,
            store.flush,
            lambda: store.bandit(NAME),
            lambda: store.verify(NAME),
        ):
            with_error(action, errors)
        store.close()  # no error, and nothing happens
        return errors

    errors = []
    for step in range(40):
        for each in (bandit, twin):
            change(each, step)
        if step % 10 == 5:
            opened_again, *others = said(child)
            errors += others
    store.close()
    with lb.Store(path) as again:
        assert again.bandit(NAME).to_bytes() == twin.to_bytes()
    return [opened_again, *errors]


def killed_parent(folder):
    """Its children live on, and the bandit is free nevertheless."""
    path, cells = store_at(folder), shared_cells()
    with lb.Store(path) as store:
        new_bandit(store.create, name=NAME)

    def parent():
        bandit = lb.Store(path).bandit(NAME)
        for _ in range(50):
            bandit.tell(bandit.ask(), 1.0)

        def child():
            cells[CHILD] = os.getpid()
            time.sleep(PATIENCE)

        fork(child)
        while not cells[CHILD]:
            time.sleep(0.001)
        os.kill(os.getpid(), signal.SIGKILL)

    process = fork(parent)
    assert os.waitpid(process, 0)[1] == signal.SIGKILL
    with lb.Store(path) as store:
        pulls = sum(store.bandit(NAME).pulls.values())
        store.bandit(NAME).ask()
    os.kill(cells[CHILD], signal.SIGKILL)  # it was there until now
    with lb.Store(path) as store:
        assert store.bandit(NAME).asked == 51
    return pulls


def ends_like_a_program(folder):
    """A child that ends by itself, with all that Python does then, touches no log of others."""
    path = store_at(folder)
    store = lb.Store(path)
    bandit = new_bandit(store.create, name=NAME)
    bandit.tell(bandit.ask(), 1.0)
    child = os.fork()
    if child == 0:
        del store, bandit
        sys.exit(0)
    store.close()
    killed = os.fork()  # whoever is killed leaves a log behind
    if killed == 0:
        mine = lb.Store(path).bandit(NAME)
        mine.tell(mine.ask(), 1.0)
        os.kill(os.getpid(), signal.SIGKILL)
    os.waitpid(killed, 0)
    os.waitpid(child, 0)
    with lb.Store(path) as again:
        assert sum(again.bandit(NAME).pulls.values()) == 2
    return True


def pool(folder):
    """Workers of multiprocessing: by fork with the store open, by fork before, by spawn."""
    path = store_at(folder)
    forked, spawned = map(multiprocessing.get_context, ("fork", "spawn"))
    with lb.Store(path) as store:
        new_bandit(store.create, name=NAME)
    answers = {}
    with forked.Pool(1) as workers:
        answers["closed"] = workers.apply(opened, (path,))
    with lb.Store(path):
        with forked.Pool(1) as workers:
            answers["open"] = workers.apply(opened, (path,))
        with spawned.Pool(1) as workers:
            answers["spawned"] = workers.apply(opened, (path,))
    with forked.Pool(1) as workers:
        answers["closed again"] = workers.apply(opened, (path,))
    return answers


if __name__ == "__main__":
    main(globals())
