"""For which gaps LB-SDA-LM's memory is too small: ``python -m benchmarks.gaps``.

Fills in the table on its page.
"""

from pathlib import Path

import lastblock as lb
from benchmarks.options import Parser
from benchmarks.pages import Place, check_marks
from lastblock.core.protocol import Policy
from lastblock.theory import kl

PAGE = Path(__file__).parent.parent / "docs" / "policies" / "lbsdalm.md"
HORIZON, REPLICATIONS = 10**6, 100
GAPS = ((0.05, 0.15), (0.3, 0.35), (0.1, 0.12), (0.05, 0.06), (0.02, 0.03), (0.02, 0.022))


def regret(policy: Policy, worse: float, better: float) -> str:
    """Mean final regret ± standard error."""
    environment = lb.Stationary([lb.Bernoulli(worse), lb.Bernoulli(better)])
    run = lb.simulate(
        policy,
        environment,
        horizon=HORIZON,
        replications=REPLICATIONS,
        seed=1,
        times=[HORIZON],
    )
    return f"{run.mean()[-1]:.1f} ± {run.standard_error()[-1]:.1f}"


def main() -> None:
    parser = Parser("gaps", __doc__, "about half a minute on two cores, once compiled")
    parser.parse_args()
    place = Place(PAGE, "gaps")
    check_marks(parser, place)
    lines = [
        "| arms | rewards needed | `LBSDALM()`, 191 rewards | `for_gap` | its memory an arm "
        "| `LBSDA()` | any arm at random |",
        "|---|---|---|---|---|---|---|",
    ]
    for worse, better in GAPS:
        policy = lb.LBSDALM.for_gap(worse, better, horizon=HORIZON)
        size = lb.state_size(policy, arms=2) / 2
        figures = [regret(p, worse, better) for p in (lb.LBSDALM(), policy, lb.LBSDA())]
        lines.append(
            f"| {worse}, {better} (kl {kl(worse, better):.2g}) | {policy.minimum} | {figures[0]} "
            f"| {figures[1]} | {size / 1024:.0f} KiB | {figures[2]} "
            f"| {(better - worse) / 2 * HORIZON:.0f} |"
        )
        print(lines[-1], flush=True)
    place.fill(lines)


if __name__ == "__main__":
    main()
