"""Live bandits as they are used: batches, contexts, copies, threads, interrupts."""

import random
import signal
import threading

import numpy as np
import pytest
from colours import POLICY, has_free_lock, new_bandit, play

import lastblock as lb
from lastblock.kernels.background import compiling


def test_ask_several():
    one, other = new_bandit(), new_bandit()
    assert one.ask(7) == [other.ask() for _ in range(7)]
    assert one.ask(1) == [other.ask()]
    assert one.asked == 8
    assert one.to_bytes() == other.to_bytes()


def test_tell_many(bandit):
    other = bandit.copy()
    out = bandit.pending
    bandit.tell_many([out[0], out[1].id, out[2]], np.array([1.0, 2.0, 3.0]))
    for decision, reward in zip(out, (1.0, 2.0, 3.0), strict=True):
        other.tell(decision, reward)
    assert bandit.to_bytes() == other.to_bytes()


def test_rewards_that_tell_by_themselves(bandit):
    """A generator may do anything, also tell the very decisions that it makes rewards for."""
    a, b, _ = bandit.pending

    def rewards():
        for decision in (a, b):
            bandit.tell(decision, 1.0)
            yield 1.0

    with pytest.raises(lb.UnknownDecisionError, match="told or forgotten already"):
        bandit.tell_many([a, b], rewards())
    assert len(bandit.pending) == 1
    assert sum(bandit.pulls.values()) == bandit.asked - 1


def test_expire(bandit):
    bandit.ask(10)
    assert [out.age for out in bandit.pending] == list(range(12, -1, -1))
    other = bandit.copy()
    gone = bandit.expire(older_than=9)
    assert [out.age for out in gone] == [12, 11, 10]
    assert [out.age for out in bandit.pending] == list(range(9, -1, -1))
    assert bandit.pulls == other.pulls
    for out in gone:
        other.forget(out)
    assert bandit.to_bytes() == other.to_bytes()

    gone = bandit.expire(older_than=7, reward=0.0)
    for out in gone:
        other.tell(out, 0.0)
    assert len(gone) == 2
    assert bandit.to_bytes() == other.to_bytes()
    assert bandit.expire(older_than=1000) == ()


@pytest.mark.parametrize("policy", [lb.Thompson(), lb.Binarized(lb.Thompson())], ids=repr)
def test_reseed(policy):
    bandit = new_bandit(policy)
    play(bandit, 20)
    same, other, alike = bandit.copy(), bandit.copy(), bandit.copy()
    other.reseed(1)
    alike.reseed(1)
    assert other.pulls == bandit.pulls
    decisions = [b.ask(100) for b in (bandit, same, other, alike)]
    assert decisions[0] == decisions[1] != decisions[2] == decisions[3]


def test_eight_threads_lose_nothing():
    """50 000 decisions and their rewards from each of 8 threads."""
    bandit = new_bandit(arms=3)
    seen = [[] for _ in range(8)]
    ready = threading.Barrier(8)

    def work(mine):
        ready.wait()
        for _ in range(50_000):
            decision = bandit.ask()
            mine.append(decision.id)
            bandit.tell(decision, float(decision.arm))

    threads = [threading.Thread(target=work, args=(mine,)) for mine in seen]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(id for mine in seen for id in mine) == list(range(400_000))
    assert sum(bandit.pulls.values()) == 400_000
    assert bandit.pending == ()


@pytest.mark.parametrize("policy", [lb.LBSDA(), POLICY, lb.SWLBSDA(window=60)], ids=repr)
def test_rewards_that_never_come_do_not_silence_an_arm(policy):
    """A third of the decisions is never answered nor forgotten; then the arms change places."""
    bandit = new_bandit(policy, arms=3)
    rng = random.Random(2)
    asked = []
    for t in range(3000):
        decision = bandit.ask()
        asked.append(decision.arm)
        if rng.random() > 1 / 3:
            best = 0 if t < 1000 else 2
            bandit.tell(decision, float(rng.random() < (0.8 if decision.arm == best else 0.2)))
    assert asked[500:1000].count(0) > 350
    if policy == lb.SWLBSDA(window=60):
        assert asked[1500:].count(2) > 1000


@pytest.fixture(params=["at once", "never"], ids=["compiled", "plain"])
def _kernels(request):
    with compiling(request.param):
        yield


@pytest.mark.skipif(not hasattr(signal, "setitimer"), reason="no timers on this system")
@pytest.mark.usefixtures("_kernels")
@pytest.mark.parametrize("floor", [None, 0.1])
def test_interrupts_lose_nothing(floor):
    """At whatever moment one comes: the lock is free, and every decision is out or told."""
    bandit = new_bandit(floor=floor)

    def interrupt(*_):
        raise KeyboardInterrupt

    before = signal.signal(signal.SIGALRM, interrupt)
    try:
        for n in range(300):
            try:
                signal.setitimer(signal.ITIMER_REAL, 1e-4 + 1e-6 * n)
                while True:
                    decision = bandit.ask()
                    bandit.tell(decision, 1.0)
                    bandit.tell_many(bandit.ask(2), [0.0, 1.0])
            except KeyboardInterrupt:
                signal.setitimer(signal.ITIMER_REAL, 0.0)
            assert has_free_lock(bandit)
            assert sum(bandit.pulls.values()) + len(bandit.pending) == bandit.asked
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0.0)
        signal.signal(signal.SIGALRM, before)
    assert lb.Bandit.from_bytes(bandit.to_bytes()).pending == bandit.pending
