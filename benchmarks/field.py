"""Measures the policies of the paper's experiments, Adaptive LB-SDA and others.

It also measures the time of the paper's 27 curves together.
"""

import time

import lastblock as lb
from benchmarks.options import Parser
from benchmarks.timing import step_ns, uniform_ns
from lastblock.lab.scenario import Scenario

PAPER = ("stationary", "bernoulli-changes", "gaussian-changes", "gaussian-variance-changes")
HORIZON, REPLICATIONS = 10_000, 2000  # in all four scenarios


def others() -> dict:
    """Return policies that are not in the paper's figures, for bernoulli-changes."""
    times = {"horizon": HORIZON, "changes": 2}
    return {
        "UCB1": lb.UCB1(),
        "SW-UCB": lb.SWUCB.tuned(**times),
        "D-UCB": lb.DUCB.tuned(**times),
        "kl-UCB": lb.KLUCB(),
        "IMED": lb.IMED(),
        "Thompson (K = 3)": lb.Thompson(),
        "BESA": lb.BESA(),
        "RB-SDA": lb.RBSDA(),
        "SSMC": lb.SSMC(),
        "PHE": lb.PHE(),
        "Giro": lb.Giro(),
        "NPTS": lb.NPTS(),
        "GLR-kl-UCB": lb.GLRKLUCB.tuned(horizon=HORIZON),
        "AdSwitch": lb.AdSwitch(horizon=HORIZON),
        "RAW-UCB": lb.RAWUCB(sigma=0.5),
        "EXP3": lb.EXP3.tuned(horizon=HORIZON, arms=3),
        "Rexp3": lb.REXP3.tuned(**times, arms=3),
        "ε-greedy": lb.EpsilonGreedy(epsilon=0.1),
        "play-the-winner": lb.PlayTheWinner(),
    }


def main() -> None:
    unit = uniform_ns()
    print(f"\nNanoseconds a step, one core, T = {HORIZON} (one uniform: {unit:.2f} ns)")
    print(f"{'scenario':<27}{'policy':<20}{'ns':>8}{'uniforms':>10}")
    seconds = 0.0
    curves = 0
    for scenario in map(Scenario.load, PAPER):
        policies = {
            **scenario.policies,
            "Adaptive LB-SDA": lb.AdaptiveLBSDA(),
        }
        if scenario.name == "bernoulli-changes":
            policies |= others()
        for name, policy in policies.items():
            pace = step_ns(policy, scenario.environment, replications=50, repeats=3)
            print(f"{scenario.name:<27}{name:<20}{pace:>8.1f}{pace / unit:>10.1f}", flush=True)
    for scenario in map(Scenario.load, PAPER):
        for policy in scenario.policies.values():
            started = time.perf_counter()
            lb.simulate(
                policy,
                scenario.environment,
                horizon=HORIZON,
                replications=REPLICATIONS,
                seed=1,
            )
            seconds += time.perf_counter() - started
            curves += 1
    print(f"\nAll {curves} curves of the paper, {REPLICATIONS} replications each: {seconds:.1f} s")


if __name__ == "__main__":
    Parser("field", __doc__, "about half a minute on two cores, once compiled").parse_args()
    main()
