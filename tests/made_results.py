"""Results made of given numbers, for tests that need no run."""

import numpy as np
import pandas as pd

from lastblock.lab.results import FORMAT, Result


def made_result(
    regrets,
    *,
    name="made",
    horizon=100,
    seed=1,
    environment="arms",
    changes=(),
    delays=None,
    restarts=None,
    parameters=None,
    lai_robbins=None,
):
    """A result with these final regrets (a dict from label to array); curves rise like √t."""
    labels = list(regrets)
    n = len(next(iter(regrets.values())))
    times = np.unique(np.rint(np.geomspace(1, horizon, 20)).astype(int))
    rise = np.sqrt(times / horizon)
    curves, final, late = [], [], []
    for label, numbers in regrets.items():
        regret = np.asarray(numbers, float)
        se = regret.std(ddof=1) / np.sqrt(n) if n > 1 else np.nan
        ends = {"mean": regret.mean(), "se": se}
        ends |= {f"q{share}": np.quantile(regret, share / 100) for share in (25, 75)}
        rising = {name: rise * end for name, end in ends.items()}
        curves.append({"policy": label, "t": times, **rising, "best_share": rise})
        each = {"policy": label, "replication": np.arange(n)}
        counted = pd.array((restarts or {}).get(label, [None] * n), dtype="Int64")
        final.append({**each, "regret": regret, "restarts": counted})
        for phase in range(len(changes) + 1):
            given = [10] * n if delays is None else delays[label][phase]
            late.append({**each, "phase": phase, "delay": pd.array(given, dtype="Int64")})
    about = {
        "format": FORMAT,
        "versions": {"lastblock": "0", "sources": "0"},
        "scenario": {
            "name": name,
            "title": name.title(),
            "horizon": horizon,
            "replications": n,
            "seed": seed,
            "environment": {"environment": environment},
            "policies": {
                label: {"name": "P", "parameters": (parameters or {}).get(label, {})}
                for label in labels
            },
        },
        "source": None,
        "changes": list(changes),
        "lai_robbins": lai_robbins,
    }
    pulls = {"policy": labels, "phase": 0, "start": 0, "arm": 0, "mean": 1.0, "se": 0.0}
    policies = {"policy": labels, "name": "P", "parameters": "{}", "state_bytes": 8}
    timing = {"policy": labels, "seconds": 1.0, "ns_per_step": 1.0}
    frames = {
        "curves": pd.concat(map(pd.DataFrame, curves), ignore_index=True),
        "final": pd.concat(map(pd.DataFrame, final), ignore_index=True),
        "pulls": pd.DataFrame(pulls),
        "delays": pd.concat(map(pd.DataFrame, late), ignore_index=True),
        "policies": pd.DataFrame(policies),
        "timing": pd.DataFrame(timing),
    }
    for frame in frames.values():
        frame["policy"] = pd.Categorical(frame["policy"], categories=labels)
    return Result(about, **frames)
