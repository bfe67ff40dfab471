"""A bandit's life, step by step: whoever is in the same state does the same."""

import json
import random

import lastblock as lb

ARMS = ["red", "green", "blue"]
NAME = "button"


def new_bandit(make=lb.Bandit, policy=None, **options):
    """`make` may be a store's `create`, with a name."""
    return make(policy=policy or lb.LBSDALM(), arms=ARMS, seed=7, **options)


def facts(bandit):
    """Everything in a bandit that a store must keep."""
    return bandit.to_bytes(), bandit._desk.ledger.facts()


def change(bandit, step):
    """One call of any kind. Arms come and go within the room of three."""
    rng = random.Random(step)
    act = rng.random()
    out = bandit.pending
    there = [label for label, state in bandit.arms.items() if state != "retired"]
    active = [label for label in there if bandit.arms[label] == "active"]
    if act < 0.38 or not out:
        bandit.ask()
    elif act < 0.41:
        bandit.ask(among=rng.sample(active, rng.randint(1, len(active))))
    elif act < 0.43:
        bandit.ask(len(active), distinct=True)
    elif act < 0.45:
        bandit.observe(rng.choice(there), rng.random())
    elif act < 0.47:
        bandit.observe_many(there, [rng.random() for _ in there])
    elif act < 0.5:
        bandit.ask(3)
    elif act < 0.78:
        bandit.tell(rng.choice(out), rng.uniform(-1.0, 1.0))
    elif act < 0.84:
        some = rng.sample(out, min(len(out), 4))
        bandit.tell_many(some, [rng.random() for _ in some])
    elif act < 0.88:
        bandit.forget(rng.choice(out).id)
    elif act < 0.92:
        bandit.expire(older_than=10, reward=rng.choice([None, 0.0]))
    elif act < 0.94 and len(there) > 2 and len(active) > 1:
        bandit.retire_arm(rng.choice(active))
    elif act < 0.96 and len(there) < 3:
        bandit.add_arm(f"arm {step}")
    elif act < 0.98 and len(active) < len(there):
        bandit.resume_arm(next(label for label in there if label not in active))
    elif act < 0.98 and len(active) > 1:
        bandit.pause_arm(rng.choice(active))
    elif act > 0.99:
        bandit.reseed(step)
    elif act > 0.985:
        bandit.set_floors(rng.choice([None, 0.1, {rng.choice(there): 0.25}]))
    else:
        bandit.tell(out[0], -0.0)


def lost_ids(bandit):
    """The ids that crashes have lost, from a first one to an end."""
    return json.loads(bandit.to_json())["bandit"]["lost"]


def has_lost(bandit, twin):
    """Whether a bandit has skipped ids that its twin has not."""
    return lost_ids(bandit) != lost_ids(twin)


def skip_lost(twin, bandit):
    """Let a twin skip the ids that a crash has lost of a bandit."""
    if has_lost(bandit, twin):
        twin.apply(("skip", None, None, lost_ids(bandit)[-1][1]))


def live(bandits, steps):
    """Let several bandits live the same life."""
    for step in steps:
        for bandit in bandits:
            change(bandit, step)
