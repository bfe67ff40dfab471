"""A small scenario with two kernels, the bytes that its run leaves, and what odd reports are of."""

import base64

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


HOSTILE = (
    "</script><b class=evil>$title & \"quoted\" 'text'</b><script>document.evil = 1</script>"
    r" $\bad{$ 漢字"
)
ODD = {"window": WINDOW, "memory": MEMORY, "window again": WINDOW, "memory again": MEMORY}
PNG = base64.b64decode(
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="
)
SVG = (
    b'<svg xmlns="http://www.w3.org/2000/svg" width="40" height="20">'
    b"<script>document.evil = 1</script></svg>"
)
