"""What a scenario needs in memory and time, before anything of it is computed."""

from lastblock.core.layout import state_dtype
from lastblock.lab.scenario import Scenario
from lastblock.simulation.simulate import times_taken
from lastblock.support.amounts import (
    FASTEST_STEP,
    LONGEST_WORK,
    in_bytes,
    in_time,
    machine_memory,
)
from lastblock.support.errors import ScenarioError
from lastblock.support.parallel import cores

_A_CHUNK = 3000.0  # bytes of a chunk that waits: the chunk, its future, its address
_A_ROW = 48.0  # bytes of a row in the tables `final` and `delays`, by measurement


def memory_of(scenario: Scenario, replications: int) -> float:
    """Return about how many bytes of memory a run with so many replications takes.

    The tables of the results hold some numbers of each replication, and are made in memory. The
    chunks that wait to be computed are a list in memory.
    """
    environment, policies = scenario.environment, len(scenario.policies)
    phases = len(environment.changes) + 1
    rows = policies * replications * (1 + phases) * _A_ROW
    gathered = 3.0 * replications * phases * environment.n_arms * 8  # the pulls of one policy
    chunk = max(1, min(500, 2_000_000 // scenario.horizon))
    waiting = policies * -(-replications // chunk) * _A_CHUNK
    in_work = cores() * (
        max(
            state_dtype(policy, environment.n_arms, scenario.horizon).itemsize
            for policy in scenario.policies.values()
        )
        + chunk * (16 * times_taken(None, scenario.horizon).size + 8 * phases * environment.n_arms)
    )
    return rows + gathered + waiting + in_work


def check_needs(scenario: Scenario) -> None:
    """Raise a ScenarioError if a run would not fit into memory, or would take years.

    The message says how much it would take, and how many replications fit.
    """
    n = scenario.replications
    needed, seconds = memory_of(scenario, n), core_seconds(scenario)
    memory = machine_memory()
    is_large = memory is not None and needed > memory
    if not is_large and seconds <= LONGEST_WORK:
        return
    what = (
        f"scenario {scenario.name!r}: {n:,} replications of {scenario.horizon:,} steps with "
        f"{len(scenario.policies)} policies would take at least {in_time(seconds / cores())} on "
        f"{cores()} cores and about {in_bytes(needed)} of memory"
    )
    least = memory_of(scenario, 1)
    if is_large and memory is not None and least < memory:
        most = int((memory - least) / (needed - least) * n)
        most = 10 ** (len(str(most)) - 1) * int(str(most)[0])  # one digit is enough
        remedy = f"this machine has {in_bytes(memory)}, enough for about {most:,} replications"
    elif is_large and memory is not None:
        remedy = f"this machine has {in_bytes(memory)}; choose a shorter horizon"
    else:
        remedy = "ask for fewer replications or a shorter horizon"
    raise ScenarioError(f"{what}; {remedy}")


def core_seconds(scenario: Scenario) -> float:
    """Return the least seconds that a run takes on one core."""
    steps = float(scenario.replications) * scenario.horizon * len(scenario.policies)
    return steps * FASTEST_STEP
