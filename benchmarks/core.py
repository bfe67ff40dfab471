"""Measures the paper's three algorithms: time a step, growth with T, memory, start-up."""

import subprocess
import sys
import time
from pathlib import Path

import lastblock as lb
from benchmarks.options import Parser
from benchmarks.timing import best_of, step_ns, uniform_ns
from lastblock.lab.paper.table1 import measure
from lastblock.lab.scenario import Scenario

TESTS = Path(__file__).parent.parent / "tests"

_FRESH = """
import time; started = time.perf_counter()
import lastblock as lb
env = lb.Stationary([lb.Bernoulli(0.05), lb.Bernoulli(0.15)])
lb.simulate(lb.LBSDALM(offset=50), env, horizon=10_000, replications=1, seed=1)
print(time.perf_counter() - started)
"""


def oracle_ns(policy: object, environment, horizon: int = 2000) -> float:
    """Return the nanoseconds a step of the plain-Python twin, on the rewards of a trace."""
    sys.path.insert(0, str(TESTS))
    from oracle.twin import twin_of  # noqa: PLC0415  # the tests are not installed

    rewards = lb.trace(lb.LBSDA(), environment, horizon=horizon, seed=1).rewards
    twin = twin_of(policy, environment.n_arms, seed=1)
    started = time.perf_counter()
    for reward in rewards:
        twin.tell(twin.ask(), float(reward))
    return (time.perf_counter() - started) / horizon * 1e9


def geometric_ratio(environment, turns: int = 30) -> float:
    """LB-SDA-GM's time a step over LB-SDA's, steady on a busy machine.

    Short runs in turn, timed by the CPU time of their thread; the shortest of each counts, since
    other programs only ever add time, by caches that they empty.
    """
    geometric = plain = float("inf")
    for _ in range(turns):
        geometric = min(geometric, measure(lb.LBSDAGM(), environment, 10_000).nanoseconds)
        plain = min(plain, measure(lb.LBSDA(), environment, 10_000).nanoseconds)
    return geometric / plain


def three() -> dict:
    """Return the three algorithms, with the parameters of the paper's experiments."""
    window = lb.SWLBSDA.tuned(horizon=10_000, changes=2)
    return {"LB-SDA": lb.LBSDA(), "LB-SDA-LM": lb.LBSDALM(offset=50), "SW-LB-SDA": window}


def main() -> None:
    unit = uniform_ns()
    print(f"A bare xoshiro256++ uniform in a compiled loop takes {unit:.2f} ns here.\n")

    print("Nanoseconds a step, one core, T = 10 000")
    print(f"{'scenario':<20}{'policy':<12}{'ns':>7}{'uniforms':>10}{'twin in Python':>17}")
    for scenario in map(Scenario.load, ("stationary", "bernoulli-changes", "gaussian-changes")):
        for name, policy in three().items():
            pace = step_ns(policy, scenario.environment)
            twin = oracle_ns(policy, scenario.environment)
            ratios = f"{pace / unit:>10.1f}{twin / pace:>16.0f}×"
            print(f"{scenario.name:<20}{name:<12}{pace:>7.1f}{ratios}")

    print("\nAll cores: 2000 replications of 10 000 steps")
    for name, policy in three().items():
        environment = Scenario.load("bernoulli-changes").environment
        seconds = best_of(
            lambda policy=policy, environment=environment: (
                lb.simulate(policy, environment, horizon=10_000, replications=2000, seed=1).seconds
            ),
            3,
        )
        print(f"  {name:<12}{seconds:6.2f} s")

    env = Scenario.load("stationary").environment
    short = step_ns(lb.LBSDA(), env, horizon=10_000, replications=200)
    long = step_ns(lb.LBSDA(), env, horizon=1_000_000, replications=4, repeats=3)
    print(f"\nLB-SDA, time a step at T = 10⁶ divided by that at T = 10⁴: {long / short:.2f}")

    print("\nLB-SDA-GM's CPU time a step over LB-SDA's, taken in turn")
    for scenario in map(Scenario.load, ("stationary", "bernoulli-changes", "gaussian-changes")):
        print(f"  {scenario.name:<20}{geometric_ratio(scenario.environment):.2f}")

    size = lb.state_size(lb.LBSDAGM(), arms=4) / 4
    print(f"LB-SDA-GM, record of up to 10⁹ rounds: {size:.0f} bytes an arm")
    size = lb.state_size(lb.LBSDALM(), arms=4) / 4
    print(f"LB-SDA-LM, state for up to 10⁹ rounds: {size:.0f} bytes an arm")

    fresh = best_of(
        lambda: float(subprocess.check_output([sys.executable, "-c", _FRESH], text=True)), 3
    )
    print(f"\nImport and first simulation in a new process with a warm cache: {fresh:.2f} s")


if __name__ == "__main__":
    Parser("core", __doc__, "about half a minute, once compiled").parse_args()
    main()
