"""A small scenario with two kernels, and the bytes that its run leaves."""

import lastblock as lb

HORIZON = 300
FIRST = [lb.Bernoulli(0.9), lb.Bernoulli(0.1), lb.Bernoulli(0.9)]
SECOND = [lb.Bernoulli(0.1), lb.Bernoulli(0.9), lb.Bernoulli(0.2)]
ENV = lb.Piecewise({0: FIRST, 150: SECOND})
WINDOW, MEMORY = lb.SWLBSDA(window=60), lb.LBSDALM()
POLICIES = {"window": WINDOW, "memory": MEMORY}


def scenario(**changes):
    plain = {"environment": ENV, "horizon": HORIZON, "policies": POLICIES, "replications": 700}
    return lb.lab.Scenario(**{"name": "small", **plain, **changes})


def contents(folder):
    """The bytes of all results but the times they took."""
    return {
        path.name: path.read_bytes()
        for path in sorted(folder.glob("*.parquet"))
        if path.name != "timing.parquet"
    }
