"""How soon the best arm is known: ``python -m benchmarks.identification``.

It plays the first experiment of Garivier & Kaufmann (2016), Bernoulli arms at a confidence of 90 %,
and fills in the table of docs/how-to/when-can-i-stop.md: the mean number of pulls until the stop,
by our verdict and by the threshold of the paper's experiments.
"""

import math
from pathlib import Path

import numpy as np

import lastblock as lb
from benchmarks.options import Parser
from benchmarks.pages import Place, check_marks

MEANS = (0.5, 0.45, 0.43, 0.4)
CONFIDENCE = 0.9
HORIZON, REPLICATIONS = 30_000, 100
PAPER_HORIZON, PAPER_REPLICATIONS = 20_000, 300  # it stops sooner, and varies more
PAGE = Path(__file__).parent.parent / "docs" / "how-to" / "when-can-i-stop.md"
PUBLISHED = {"Track-and-Stop": "4052"}


def policies() -> dict:
    return {
        "Track-and-Stop": lb.TrackAndStop(),
        "top-two Thompson sampling": lb.TopTwoThompson(),
        "kl-LUCB, practical": lb.LUCB("bernoulli", confidence=CONFIDENCE, practical=True),
        "LB-SDA-GM": lb.LBSDAGM(),
    }


def paper_stop(trace: lb.Trace, arms: int, delta: float) -> float:
    """Return when the paper's rule stops: GLR > log((1 + log t) / δ); infinite for never."""
    pulled = np.eye(arms)[trace.arms]
    n, s = pulled.cumsum(axis=0), (pulled * trace.rewards[:, None]).cumsum(axis=0)
    with np.errstate(all="ignore"):
        means = s / n
        best = np.argmax(np.where(n > 0, means, -1.0), axis=1)[:, None]
        nb, sb = np.take_along_axis(n, best, 1), np.take_along_axis(s, best, 1)
        middle = (s + sb) / (n + nb)
        glr = nb * kl(sb / nb, middle) + n * kl(means, middle)
    np.put_along_axis(glr, best, np.inf, 1)
    t = np.arange(1, len(n) + 1)
    is_over = np.nan_to_num(glr.min(axis=1)) > np.log((1.0 + np.log(t)) / delta)
    return float(np.argmax(is_over)) + 1.0 if is_over.any() else math.inf


def kl(p: np.ndarray, q: np.ndarray) -> np.ndarray:
    ones = np.where(p > 0, p * np.log(p / q), 0.0)
    return ones + np.where(p < 1, (1 - p) * np.log((1 - p) / (1 - q)), 0.0)


def shown(values: np.ndarray, horizon: int) -> str:
    """Return the mean with its standard error, or the median if some are infinite."""
    if np.isinf(values).any():
        middle = np.quantile(values, 0.5, method="inverted_cdf")
        share = 100 * np.mean(np.isinf(values))
        median = "never" if np.isinf(middle) else f"median {middle:.0f}"
        return f"{median} ({share:.0f} % not within {horizon})"
    return f"{values.mean():.0f} ± {values.std(ddof=1) / math.sqrt(len(values)):.0f}"


def main() -> None:
    parser = Parser("identification", __doc__, "about a minute, once compiled")
    parser.parse_args()
    place = Place(PAGE, "stops")
    check_marks(parser, place)
    arms = lb.Stationary([lb.Bernoulli(mean) for mean in MEANS])
    bound = math.log(1.0 / (1.0 - CONFIDENCE)) * lb.theory.characteristic_time(arms)
    lines = [
        f"{PAPER_REPLICATIONS} replications by the paper's threshold, {REPLICATIONS} by our "
        f"verdict; T* log(1/δ) is {bound:.0f}.",
        "",
        "| policy | by the paper's threshold | published | by our verdict | wrong |",
        "|---|---|---|---|---|",
    ]
    for name, policy in policies().items():
        paper = []
        for i in range(PAPER_REPLICATIONS):
            trace = lb.trace(policy, arms, horizon=PAPER_HORIZON, seed=[1, i])
            paper.append(paper_stop(trace, len(MEANS), 1.0 - CONFIDENCE))
        run = lb.simulate(
            policy,
            arms,
            horizon=HORIZON,
            replications=REPLICATIONS,
            seed=1,
            confidence=CONFIDENCE,
        )
        found = run.identification
        ours = np.where(found.stopped < 0, np.inf, found.stopped)
        wrong = f"{100 * found.stopping_error()[0]:.0f} %"
        cells = [
            name,
            shown(np.array(paper), PAPER_HORIZON),
            PUBLISHED.get(name, "–"),
            shown(ours, HORIZON),
            wrong,
        ]
        lines.append(f"| {' | '.join(cells)} |")
        print(lines[-1], flush=True)
    place.fill(lines)


if __name__ == "__main__":
    main()
