"""Logs of clicks on colours."""

import numpy as np

import lastblock as lb

POLICY = lb.LBSDALM()
FIRST_ARM = lb.BestArm((0,), (0,))
LABELS = ("blue", "green", "red")
MEANS = np.array([0.2, 0.5, 0.8])


def make_columns(events=600):
    """A uniform log."""
    rng = np.random.default_rng(1)
    arms = rng.integers(3, size=events)
    return {
        "colour": np.array(LABELS)[arms],
        "click": (rng.random(events) < MEANS[arms]).astype(np.int64),
        "chance": np.full(events, 1 / 3),
        "when": np.arange(events) + 10,
    }


COLUMNS = make_columns()
NAMES = {"arm": "colour", "reward": "click", "propensity": "chance", "time": "when"}


def new_replay(columns=COLUMNS, **changes):
    return lb.Replay(columns, **{**NAMES, **changes})


def skewed_log(events):
    """A log whose policy changed its mind, with a floor of 0.1."""
    rng = np.random.default_rng(7)
    chances = np.array([[0.1, 0.3, 0.6], [0.4, 0.5, 0.1]])[np.arange(events) // 100 % 2]
    arms = (rng.random(events)[:, None] > chances.cumsum(axis=1)).sum(axis=1)
    rewards = (rng.random(events) < MEANS[arms]).astype(float)
    return lb.Replay((arms, rewards, chances[np.arange(events), arms]))


CHANGING = {
    "arm": ["a", "b", "a", "b", "d", "b", "d", "d"],
    "reward": [1.0, 0.0, 2.0, 1.0, 4.0, 3.0, 0.0, 2.0],
    "p": [0.5, 0.5, 0.8, 0.2, 0.25, 0.75, 0.5, 0.5],
    "choices": [["a", "b"]] * 4 + [["b", "d"]] * 4,
}
"""A log in which arm d comes in the middle, and arm a goes."""
