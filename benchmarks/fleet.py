"""Measures a fleet of a million bandits, its speed and memory: ``python -m benchmarks.fleet``."""

import subprocess
import sys
import time

import numpy as np

import lastblock as lb
from benchmarks.live import pair_us, rewards
from benchmarks.options import Parser
from benchmarks.timing import uniform_ns
from lastblock.core.protocol import Policy
from lastblock.support.parallel import cores

SIZE = 1_000_000
ARMS = 8
BATCH = 1 << 18
MEANS = np.linspace(0.2, 0.6, ARMS)
GIB = 2**30
GEOMETRIC = lb.LBSDAGM(marks=6)
HORIZON = 100_000
FLEETS: list[tuple[Policy, int | None]] = [
    (lb.UCB1(), None),
    (lb.Thompson(), None),
    (GEOMETRIC, HORIZON),
    (lb.LBSDAGM(), HORIZON),
    (lb.LBSDAGM(), None),
    (lb.LBSDALM(minimum=64, scale=0.0), None),
    (lb.SWLBSDA(window=64), None),
    (lb.LBSDALM(), None),
]
"""Policies, and the rewards of an arm that their records must hold."""

_MEMORY = f"""
import numpy as np
import lastblock as lb
fleet = lb.Fleet(lb.{GEOMETRIC!r}, arms={ARMS}, size={SIZE}, horizon={HORIZON}, seed=1)
for ids in np.array_split(np.arange({SIZE}), {SIZE // BATCH + 1}):
    for _ in range(3):
        fleet.tell(ids, fleet.ask(ids), np.ones(ids.size))
with open("/proc/self/status") as file:  # has the peak memory of this process
    lines = dict(line.split(":", 1) for line in file)
print(int(lines["VmHWM"].split()[0]) * 1024, fleet.nbytes)
"""


def available() -> float:
    """Return the bytes of available memory; infinity if the system does not tell."""
    try:
        with open("/proc/meminfo", encoding="ascii") as file:
            lines = dict(line.split(":") for line in file)
        return float(lines["MemAvailable"].split()[0]) * 1024
    except (OSError, KeyError):
        return float("inf")


def serve(fleet: lb.Fleet, rng: np.random.Generator, n: int = BATCH) -> tuple[float, float]:
    """Ask and tell a batch of random ids; return the elapsed and the processor seconds."""
    ids = rng.integers(0, len(fleet), n)
    wall, busy = time.perf_counter(), time.process_time()
    arms = fleet.ask(ids)
    asked = time.perf_counter() - wall, time.process_time() - busy
    rewards = (rng.random(n) < MEANS[arms]).astype(float)
    wall, busy = time.perf_counter(), time.process_time()
    fleet.tell(ids, arms, rewards)
    return asked[0] + time.perf_counter() - wall, asked[1] + time.process_time() - busy


def age(fleet: lb.Fleet, rng: np.random.Generator, horizon: int | None) -> None:
    """Give every bandit the state of one that has had about 1500 rewards."""
    few = 2048
    small = lb.Fleet(fleet.policy, arms=fleet.arms, size=few, horizon=horizon, seed=2)
    for _ in range(1500 // 8):
        serve(small, rng, 8 * few)
    for first in range(0, len(fleet), few):
        part = fleet._states[first : first + few]
        part[:] = small._states[: part.size]


def touch(fleet: lb.Fleet, rng: np.random.Generator, pulls: int = 16) -> None:
    """Start every bandit with `pulls` decisions and rewards, about two rounds of all arms."""
    for ids in np.array_split(np.arange(len(fleet)), len(fleet) // BATCH + 1):
        for _ in range(pulls):
            arms = fleet.ask(ids)
            fleet.tell(ids, arms, (rng.random(ids.size) < MEANS[arms]).astype(float))


def named(policy: Policy, horizon: int | None) -> str:
    """Return the name of a fleet in a table."""
    return str(policy) if horizon is None else f"{policy}, horizon={horizon}"


def print_sizes() -> None:
    """Print the bytes of a record, and of a million."""
    print(f"The memory of {SIZE} bandits of {ARMS} arms")
    print(f"{'policy':<36}{'bytes':>6}{'all':>12}")
    for policy, horizon in FLEETS:
        size = lb.Fleet(policy, arms=ARMS, size=1, horizon=horizon).state_size
        print(f"{named(policy, horizon):<36}{size:>6}{size * SIZE / GIB:>8.2f} GiB", flush=True)


def print_speed() -> None:
    """Print how many decisions a second the fleets take that fit into memory."""
    unit = uniform_ns()
    loop = pair_us(lb.Bandit(GEOMETRIC, ARMS, seed=1, compiled=True), rewards()) * 1e3
    print(f"\nBatches of {BATCH} random ids, {cores()} threads")
    print(f"A bare uniform takes {unit:.2f} ns here; ask and tell of one Bandit in a Python loop")
    print(f"take {loop:.0f} ns. The time of a pair includes sorting the ids and all checks.\n")
    print(f"{'':<36}{'bandits':<8}{'pairs/s':>10}{'core-ns':>9}{'uniforms':>10}{'one by one':>12}")
    for policy, horizon in FLEETS:
        rng = np.random.default_rng(1)
        size = lb.Fleet(policy, arms=ARMS, size=1, horizon=horizon).state_size
        if size * SIZE > 0.7 * available():
            print(f"{named(policy, horizon):<36}skipped: too little memory")
            continue
        fleet = lb.Fleet(policy, arms=ARMS, size=SIZE, horizon=horizon, seed=1)
        touch(fleet, rng)
        for state in ("young", "old"):
            if state == "old":
                age(fleet, rng, horizon)
            seconds = [serve(fleet, rng) for _ in range(12)]
            wall = min(wall for wall, _ in seconds) / BATCH * 1e9
            core = min(busy for _, busy in seconds) / BATCH * 1e9
            print(
                f"{named(policy, horizon):<36}{state:<8}{1e9 / wall:>10,.0f}"
                f"{core:>9.0f}{wall / unit:>10.0f}{loop / wall:>11.1f}×",
                flush=True,
            )
        del fleet


def main() -> None:
    parser = Parser(
        "fleet",
        __doc__,
        "some minutes on two cores, once compiled, and all memory (records that do not fit are "
        "left out)",
    )
    parser.add_argument("--sizes", action="store_true", help="print the sizes of records alone")
    only_sizes = parser.parse_args().sizes
    print_sizes()
    if only_sizes:
        return
    print_speed()
    done = subprocess.check_output([sys.executable, "-c", _MEMORY], text=True)
    peak, records = map(int, done.split())
    print(f"\n{named(GEOMETRIC, HORIZON)}, all {SIZE} in use:")
    print(f"the process takes at most {peak / GIB:.2f} GiB,")
    print(f"of which the records take {records / GIB:.2f} GiB")


if __name__ == "__main__":
    main()
