"""Open a bandit or create it, from one process or from several at once."""

import os
import subprocess
import sys

import lastblock as lb

ARMS = ["red", "green"]

WORKER = """
import sys
import lastblock as lb

store = lb.Store(sys.argv[1])
print("ready", flush=True)
sys.stdin.readline()  # all begin at once
try:
    bandit = store.get_or_create("b", lb.UCB1(), ["red", "green"], seed=1, wait=float(sys.argv[2]))
except lb.BanditInUseError as error:
    print(error, flush=True)
else:
    bandit.tell(bandit.ask(), 1.0)
    print("owner of", sum(bandit.pulls.values()), flush=True)
if sys.argv[2] == "0":
    sys.stdin.readline()  # the owner keeps it until the others have tried
store.close()
"""


def test_creates_then_opens(tmp_path):
    with lb.Store(tmp_path / "s.db") as store:
        bandit = store.get_or_create("b", lb.UCB1(), ARMS, seed=1)
        assert store.get_or_create("b", lb.UCB1(), ARMS, seed=2) is bandit
        bandit.tell(bandit.ask(), 1.0)
    with lb.Store(tmp_path / "s.db") as store:
        assert sum(store.get_or_create("b", lb.UCB1(), ARMS).pulls.values()) == 1


def test_arms_may_have_come_and_gone(tmp_path):
    with lb.Store(tmp_path / "s.db") as store:
        bandit = store.create("b", lb.UCB1(), [*ARMS, "blue"], seed=1)
        bandit.add_arm("gold")
        bandit.retire_arm("red")
        assert store.get_or_create("b", lb.UCB1(), ARMS) is bandit


class Workers:
    def __init__(self, path, count, wait):
        self.all = [
            subprocess.Popen(
                [sys.executable, "-c", WORKER, str(path), wait],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                text=True,
                env={
                    **os.environ,
                    "NUMBA_DISABLE_JIT": "1",
                    "PYTHONPATH": os.pathsep.join(sys.path),
                },
            )
            for _ in range(count)
        ]
        for worker in self.all:
            assert worker.stdout.readline() == "ready\n"
        self.go_on()

    def go_on(self):
        for worker in self.all:
            worker.stdin.write("\n")
            worker.stdin.flush()

    def answers(self):
        return sorted(worker.stdout.readline().strip() for worker in self.all)

    def end(self):
        for worker in self.all:
            worker.communicate(timeout=300)
            assert worker.returncode == 0


def test_four_workers_at_once_make_one_bandit(tmp_path):
    """As `gunicorn -w 4` does: one of them gets it, the others are told the way out."""
    workers = Workers(tmp_path / "s.db", 4, "0")
    *refused, owner = workers.answers()
    assert owner == "owner of 1"
    for answer in refused:
        assert "is open in process " in answer
        assert "run one worker process with threads (gunicorn: -w 1 --threads 8)" in answer
    workers.go_on()
    workers.end()
    with lb.Store(tmp_path / "s.db") as store:
        assert store.names() == ("b",)


def test_workers_that_wait_get_it_one_after_the_other(tmp_path):
    workers = Workers(tmp_path / "s.db", 3, "60")
    assert workers.answers() == ["owner of 1", "owner of 2", "owner of 3"]
    workers.end()
