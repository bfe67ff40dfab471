"""Bandits that choose between colours, for tests of live bandits."""

import threading

import lastblock as lb

POLICY = lb.LBSDALM()
ARMS = ["red", "green", "blue"]
LEVEL = {"red": 0.2, "green": 0.5, "blue": 0.4, "gold": 0.9}


def new_bandit(policy=POLICY, arms=ARMS, seed=7, **options):
    return lb.Bandit(policy, arms=arms, seed=seed, **options)


def play(bandit, steps, **restriction):
    """Tell at once. Returns the decisions."""
    decisions = []
    for _ in range(steps):
        decision = bandit.ask(**restriction)
        reward = LEVEL.get(decision.arm, 0.3) + decision.id % 5 / 4
        bandit.tell(decision, min(reward, bandit.policy.support()[1]))
        decisions.append(decision)
    return decisions


def arms_of(bandit, steps, **restriction):
    """The arms that it takes in so many steps."""
    return [decision.arm for decision in play(bandit, steps, **restriction)]


def has_free_lock(bandit):
    """Whether another thread can change the bandit."""
    found = []

    def take():
        with bandit.locked():
            found.append(True)

    other = threading.Thread(target=take, daemon=True)
    other.start()
    other.join(10.0)
    return bool(found)
