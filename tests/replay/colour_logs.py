"""Logs of clicks on colours."""

import numpy as np

import lastblock as lb

POLICY = lb.LBSDALM()
FIRST_ARM = lb.BestArm((0,), (0,))
LABELS = ("blue", "green", "red")
MEANS = np.array([0.2, 0.5, 0.8])


def make_columns(events=600, seed=1):
    """A uniform log."""
    rng = np.random.default_rng(seed)
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
