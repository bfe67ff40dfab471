"""Measures a fleet of a million bandits, its speed and memory: ``python -m benchmarks.fleet``."""

import subprocess
import sys
import time
from typing import Any

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
LIMITED = lb.LBSDALM(minimum=64, scale=0.0)
GEOMETRIC = lb.LBSDAGM()
GIB = 2**30

_MEMORY = f"""
import numpy as np
import lastblock as lb
policy = lb.{GEOMETRIC!r}
fleet = lb.Fleet(policy, arms={ARMS}, size={SIZE}, seed=1)
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


def age(fleet: lb.Fleet, rng: np.random.Generator, pulls: int = 1500) -> None:
    """Give every bandit the state of one that has had about `pulls` rewards."""
    few = 2048
    small = lb.Fleet(fleet.policy, arms=fleet.arms, size=few, seed=2)
    for _ in range(pulls // 8):
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


class Sealed(lb.Fleet):
    """A fleet in memory whose records have seals, as those in a file."""

    def _prepare(self, *arguments: Any, **options: Any) -> None:
        super()._prepare(*arguments, **(options | {"sealed": True}))


def seal_ratios(policy: Policy, size: int, rounds: int = 15) -> tuple[float, float]:
    """The time of a batch with seals in units of one without; the same with whole records sealed.

    Median ratios of neighbouring batches of the same ids: whatever else the machine does meanwhile
    slows both.
    """
    plain, sealed = (kind(policy, arms=ARMS, size=size, seed=1) for kind in (lb.Fleet, Sealed))
    for fleet in (plain, sealed):
        touch(fleet, np.random.default_rng(1))
    ratios, whole = [], []
    for i in range(rounds):
        order = (plain, sealed) if i % 2 else (sealed, plain)
        took = {fleet: serve(fleet, np.random.default_rng(i))[1] for fleet in order}
        before = time.process_time()
        sealed._seal(sealed._open_records)
        all_sealed = time.process_time() - before
        ratios.append(took[sealed] / took[plain])
        # Asking and telling would both seal all of it, instead of the beginning.
        whole.append((took[plain] + 2.0 * all_sealed) / took[plain])
    return float(np.median(ratios)), float(np.median(whole))


def print_seals(policies: dict[str, Policy], size: int = SIZE // 4) -> None:
    """What the seals of records in a file cost."""
    print(f"\nThe seals of a file: how many times as long a batch takes, {size} bandits that")
    print("have just begun (core time, the median of neighbouring batches)")
    print(f"{'policy':<26}{'sealed':>8}{'whole records sealed each time':>33}")
    for name, policy in policies.items():
        sealed, whole = seal_ratios(policy, size)
        print(f"{name:<26}{sealed:>7.2f}×{whole:>32.2f}×", flush=True)


def main() -> None:
    unit = uniform_ns()
    loop = pair_us(lb.Bandit(GEOMETRIC, ARMS, seed=1, compiled=True), rewards()) * 1e3
    print(f"{SIZE} bandits of {ARMS} arms, batches of {BATCH} random ids, {cores()} threads")
    print(f"A bare uniform takes {unit:.2f} ns here; ask and tell of one Bandit in a Python loop")
    print(f"take {loop:.0f} ns. The time of a pair includes sorting the ids and all checks.\n")
    print(
        f"{'policy':<26}{'bytes':>6}  {'bandits':<8}{'pairs/s':>10}"
        f"{'core-ns':>9}{'uniforms':>10}{'one by one':>12}"
    )
    policies = {
        "LB-SDA-GM, 8 marks": GEOMETRIC,
        "LB-SDA-LM, 64 rewards": LIMITED,
        "SW-LB-SDA, 64 rounds": lb.SWLBSDA(window=64),
        "Thompson": lb.Thompson(),
    }
    for name, policy in policies.items():
        rng = np.random.default_rng(1)
        fleet = lb.Fleet(policy, arms=ARMS, size=SIZE, seed=1)
        if fleet.nbytes > 0.7 * available():
            print(f"{name:<26}{fleet.state_size:>6}  skipped: too little memory")
            continue
        touch(fleet, rng)
        for state in ("young", "old"):
            if state == "old":
                age(fleet, rng)
            seconds = [serve(fleet, rng) for _ in range(12)]
            wall = min(wall for wall, _ in seconds) / BATCH * 1e9
            core = min(busy for _, busy in seconds) / BATCH * 1e9
            print(
                f"{name:<26}{fleet.state_size:>6}  {state:<8}{1e9 / wall:>10,.0f}"
                f"{core:>9.0f}{wall / unit:>10.0f}{loop / wall:>11.1f}×",
                flush=True,
            )
        fleet.close()

    print_seals(policies)

    done = subprocess.check_output([sys.executable, "-c", _MEMORY], text=True)
    peak, records = map(int, done.split())
    print(f"\n{GEOMETRIC}, {SIZE} bandits of {ARMS} arms, all of them in use:")
    print(f"the process takes at most {peak / GIB:.2f} GiB,")
    print(f"of which the records take {records / GIB:.2f} GiB")


if __name__ == "__main__":
    Parser(
        "fleet",
        __doc__,
        "about a minute on two cores, once compiled, and up to 13 GB of memory (records that do "
        "not fit are left out)",
    ).parse_args()
    main()
