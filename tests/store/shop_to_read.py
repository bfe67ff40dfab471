"""A store for tests that look into it with ``lastblock store``."""

import numpy as np

import lastblock as lb

POLICY = lb.LBSDALM()  # compiled by other tests, for three arms and with floors
HOSTILE = "<script>alert('é')</script>"


def play(bandit, n, seed=1):
    rng = np.random.default_rng(seed)
    rates = {arm: 0.2 + 0.2 * i for i, arm in enumerate(bandit.arms)}
    for _ in range(n):
        decision = bandit.ask()
        bandit.tell(decision, float(rng.random() < rates[decision.arm]))


def made(place):
    """A store with a bandit that has floors, one that has none, and one that was never asked."""
    with lb.Store(place, keep_events=True, snapshot_every=50) as store:
        button = store.create("button", POLICY, arms=["red", HOSTILE, "blue"], seed=7, floor=0.2)
        play(button, 60)
        button.ask(3)
        title = store.create("title", lb.UCB1(), arms=3, seed=7)
        play(title, 20)
        title.retire_arm(0)
        play(title, 5)
        store.create("new", POLICY, arms=3, seed=1)
    return place
