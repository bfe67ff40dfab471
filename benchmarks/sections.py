"""Fills in the tables of single sections of policies' pages: ``python -m benchmarks.sections``.

With names, ``python -m benchmarks.sections master``, only these sections. What every page has, the
regret in the paper's scenarios, comes from `benchmarks.figures`.
"""

import math
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import NamedTuple

import numpy as np
from tests.detectors.watching import noticed_by

import lastblock as lb
from benchmarks.field import HORIZON, REPLICATIONS
from benchmarks.options import Parser
from benchmarks.pages import Place, check_marks
from lastblock.lab.scenario import Scenario
from lastblock.support.spelling import advice

PAGES = Path(__file__).parent.parent / "docs" / "policies"
FEWER = 500
"""Replications of policies that are shown for their faults."""
COINS, CHANGE, RUNS = 300, 150, 500
"""The coins of a run, those before the change, and the runs, for detectors."""


class Section(NamedTuple):
    """A table on a page: the policy's page, and what makes the table's lines."""

    page: str
    lines: Callable[[], Iterator[str]]


def regret(policy, scenario: str, replications: int) -> str:
    """Return a policy's mean final regret, with its standard error."""
    environment = Scenario.load(scenario).environment
    run = lb.simulate(policy, environment, horizon=HORIZON, replications=replications, seed=1)
    return f"{run.mean()[-1]:.1f} ± {run.standard_error()[-1]:.1f}"


def rare_rewards() -> Iterator[str]:
    """Yield the regret of Dirichlet Sampling where few rewards are not 0."""
    yield f"| stationary, T = {HORIZON}, {REPLICATIONS} replications, seed 1 | regret |"
    yield "|---|---|"
    policies = {
        "RDS": lb.DirichletSampling(),
        "BDS, ρ = 4": lb.DirichletSampling(bonus="bounded"),
        "BDS, ρ = 8": lb.DirichletSampling(bonus="bounded", rho=8.0),
        "BDS, ρ = 16": lb.DirichletSampling(bonus="bounded", rho=16.0),
        "BDS, known bound": lb.DirichletSampling(bonus="known"),
        "the same, `memory=64`": lb.DirichletSampling(bonus="known", memory=64),
        "[NPTS](npts.md)": lb.NPTS(),
        "[LB-SDA](lbsda.md)": lb.LBSDA(),
    }
    for name, policy in policies.items():
        yield f"| {name} | {regret(policy, 'stationary', REPLICATIONS)} |"


def master() -> Iterator[str]:
    """Yield the regret of MASTER beside that of the policies inside it."""
    scenarios = "stationary", "bernoulli-changes"
    yield f"| T = {HORIZON}, {FEWER} replications, seed 1 | {' | '.join(scenarios)} |"
    yield "|---|---|---|"
    policies = {
        "`Master(UCB1())`": lb.Master(lb.UCB1()),
        f"`Master.tuned(UCB1(), horizon={HORIZON:_})`": lb.Master.tuned(lb.UCB1(), horizon=HORIZON),
        "`Master(UCB1(), level=1.0)`": lb.Master(lb.UCB1(), level=1.0),
        "UCB1 alone": lb.UCB1(),
        "`Master(KLUCB())`": lb.Master(lb.KLUCB()),
        "`Master(KLUCB(), level=1000.0)`": lb.Master(lb.KLUCB(), level=1000.0),
        "kl-UCB alone": lb.KLUCB(),
    }
    for name, policy in policies.items():
        yield f"| {name} | {' | '.join(regret(policy, each, FEWER) for each in scenarios)} |"


LOG_FACTORIAL = np.array([math.lgamma(n + 1.0) for n in range(COINS + 2)])


def log_evidence(n, heads):
    """Return the logarithms of the probabilities that Laplace's rule gives to n coins."""
    return LOG_FACTORIAL[heads] + LOG_FACTORIAL[n - heads] - LOG_FACTORIAL[n + 1]


def alarms_by_the_paper(coins: list[int], weight: Callable[[int], float]) -> list[int]:
    """Return after how many coins R-BOCPD raises alarms, with a forecaster for every coin.

    `weight` gives η for a number of coins. After an alarm all begin again.
    """
    found, begun = [], 0
    for t in range(1, len(coins) + 1):
        n = t - begun
        if n < 2:
            continue
        heads = np.cumsum(coins[begun:t])
        before, splits = heads[:-1], np.arange(1, n)
        later = log_evidence(splits, before) + log_evidence(n - splits, heads[-1] - before)
        if np.any(later + math.log(weight(n)) > log_evidence(n, heads[-1])):
            found.append(t)
            begun = t
    return found


def alarms_of(detector, coins: list[int]) -> list[int]:
    """Return after how many coins a detector raises alarms."""
    return [alarm[0] for alarm in noticed_by(detector, [0] * len(coins), [float(x) for x in coins])]


def rbocpd() -> Iterator[str]:
    """Yield how soon R-BOCPD finds a change of coins, and how often it sees one too early."""
    rules = {
        "`RBOCPD()`": lambda coins: alarms_of(lb.RBOCPD(), coins),
        "`RBOCPD(delta=1.0)`": lambda coins: alarms_of(lb.RBOCPD(delta=1.0), coins),
        "the paper, η = 1 / n": lambda coins: alarms_by_the_paper(coins, lambda n: 1.0 / n),
        "the paper, η = 1 / T": lambda coins: alarms_by_the_paper(coins, lambda n: 1.0 / COINS),
    }
    yield f"| {RUNS} runs, seed 1 | from, to | false alarm | missed | found after |"
    yield "|---|---|---|---|---|"
    for old, new in ((0.2, 0.8), (0.4, 0.7)):
        rng = np.random.default_rng(1)
        chance = np.where(np.arange(COINS) < CHANGE, old, new)
        runs = (rng.random((RUNS, COINS)) < chance).astype(int).tolist()
        for name, rule in rules.items():
            alarms = [rule(coins) for coins in runs]
            early = np.mean([any(t <= CHANGE for t in found) for found in alarms])
            late = [min((t for t in found if t > CHANGE), default=None) for found in alarms]
            delays = np.array([t - CHANGE for t in late if t is not None])
            missed = np.mean([t is None for t in late])
            error = delays.std(ddof=1) / math.sqrt(len(delays))
            yield (
                f"| {name} | {old}, {new} | {early:.1%} | {missed:.1%} | "
                f"{delays.mean():.1f} ± {error:.1f} coins |"
            )


SECTIONS = {
    "rare-rewards": Section("dirichletsampling", rare_rewards),
    "master": Section("master", master),
    "rbocpd": Section("restarting", rbocpd),
}


def main() -> None:
    parser = Parser("sections", __doc__, "about two minutes on two cores, once compiled")
    every = [*SECTIONS]
    parser.add_argument(
        "names",
        nargs="*",
        metavar="NAME",
        help=f"fill in these sections only, of {', '.join(every)}",
    )
    names = parser.parse_args().names or every
    if unknown := [name for name in names if name not in every]:
        parser.error(f"there is no section {unknown[0]!r}; {advice(unknown[0], every)}")
    places = [Place(PAGES / f"{SECTIONS[name].page}.md", name) for name in names]
    check_marks(parser, *places)
    for place in places:
        lines = []
        for line in SECTIONS[place.name].lines():
            lines.append(line)
            print(line, flush=True)
        place.fill([*lines, "", f"(`python -m benchmarks.sections {place.name}`)"])


if __name__ == "__main__":
    main()
