"""Measures the same job in lastblock and in other libraries, in one run: ``make peers``.

With three Bernoulli arms and T = 10 000 it prints the microseconds a step of a whole simulated
horizon, and the microseconds for one live decision and its update after 10³ and after 10⁵ updates.
Then it prints the live times with ten arms, and how much faster our slowest policy is than the
fastest of each peer. It says so if a peer does not run on this version of Python.
"""

import contextlib
import importlib
import importlib.metadata
import io
import random
import time
import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import cycle
from typing import Any

import scipy.special

import lastblock as lb
from benchmarks.timing import step_ns

THREE = (0.5, 0.3, 0.4)
TEN = tuple(0.05 * (k + 1) for k in range(10))
HORIZON = 10_000
YOUNG, OLD = 1_000, 100_000
MEASURED = 5_000
STRETCH = 500
LONGER = 20_000  # updates measured for the ratio, many because the machine may be busy
PATIENCE = 20.0  # seconds; a peer that would take longer for 10⁵ updates is not measured there

Step = Callable[[], None]
Means = tuple[float, ...]


@dataclass
class Peer:
    """Another library, and for each policy that it shares with us a function that makes a step."""

    distribution: str
    module: str
    policies: dict[str, Callable[[Means], Step]]
    note: str = ""


def drawn(means: Means) -> list[Iterator[float]]:
    """Return endless rewards of each arm, drawn beforehand so that timings do not include it."""
    return [cycle([float(random.random() < mean) for _ in range(1021)]) for mean in means]


def ours() -> dict[str, Any]:
    return {
        "SW-LB-SDA": lb.SWLBSDA(window=429),
        "LB-SDA-LM": lb.LBSDALM(),
        "UCB1": lb.UCB1(),
        "kl-UCB": lb.KLUCB(),
        "Thompson sampling": lb.Thompson(),
        "ε-greedy": lb.EpsilonGreedy(epsilon=0.1),
        "EXP3": lb.EXP3(gamma=0.1),
        "BESA": lb.BESA(),
        "SW-UCB": lb.SWUCB(window=429),
    }


def live(policy: Any, means: Means) -> Step:
    bandit, rewards = lb.Bandit(policy, len(means), seed=1, compiled=True), drawn(means)

    def step() -> None:
        decision = bandit.ask()
        bandit.tell(decision, next(rewards[decision.arm]))

    return step


def mabwiser(learning_policy: str, *arguments: Any) -> Callable[[Means], Step]:
    def make(means: Means) -> Step:
        mab = importlib.import_module("mabwiser.mab")
        rule = getattr(mab.LearningPolicy, learning_policy)(*arguments)
        arms = list(range(len(means)))
        bandit, rewards = mab.MAB(arms, rule, seed=1), drawn(means)
        bandit.fit(arms, [next(rewards[arm]) for arm in arms])

        def step() -> None:
            arm = bandit.predict()
            bandit.partial_fit([arm], [next(rewards[arm])])

        return step

    return make


def river(name: str, **arguments: Any) -> Callable[[Means], Step]:
    def make(means: Means) -> Step:
        bandit = importlib.import_module("river.bandit")
        belief = [importlib.import_module("river.proba").Beta()] if "Thompson" in name else []
        policy = getattr(bandit, name)(*belief, seed=1, **arguments)
        arms, rewards = range(len(means)), drawn(means)

        def step() -> None:
            arm = policy.pull(arms)
            policy.update(arm, next(rewards[arm]))

        return step

    return make


def smpybandits(name: str, **arguments: Any) -> Callable[[Means], Step]:
    def make(means: Means) -> Step:
        policies = importlib.import_module("SMPyBandits.Policies")
        policy = getattr(policies, name)(len(means), **arguments)
        policy.startGame()
        rewards = drawn(means)

        def step() -> None:
            arm = policy.choice()
            policy.getReward(arm, next(rewards[arm]))

        return step

    return make


PEERS = [
    Peer(
        "mabwiser",
        "mabwiser.mab",
        {
            "UCB1": mabwiser("UCB1", 1.0),
            "Thompson sampling": mabwiser("ThompsonSampling"),
            "ε-greedy": mabwiser("EpsilonGreedy", 0.1),
        },
    ),
    Peer(
        "river",
        "river.bandit",
        {
            "UCB1": river("UCB", delta=1.0),
            "Thompson sampling": river("ThompsonSampling"),
            "ε-greedy": river("EpsilonGreedy", epsilon=0.1),
            "EXP3": river("Exp3", gamma=0.1),
        },
    ),
    Peer(
        "SMPyBandits",
        "SMPyBandits.Policies",
        {
            "UCB1": smpybandits("UCB"),
            "kl-UCB": smpybandits("klUCB"),
            "Thompson sampling": smpybandits("Thompson"),
            "ε-greedy": smpybandits("EpsilonGreedy", epsilon=0.1),
            "EXP3": smpybandits("Exp3", gamma=0.1),
            "BESA": smpybandits("BESA"),
            "SW-UCB": smpybandits("SWUCB", tau=429),
        },
        note="imported with a stand-in for scipy.special.btdtri, which SciPy has removed",
    ),
]


@contextlib.contextmanager
def imported(peer: Peer) -> Iterator[str]:
    """Import a peer without its warnings and prints, and yield its version.

    SMPyBandits needs `scipy.special.btdtri`, which SciPy has removed.
    """
    if not hasattr(scipy.special, "btdtri"):
        scipy.special.btdtri = scipy.special.betaincinv
    with warnings.catch_warnings(), contextlib.redirect_stdout(io.StringIO()):
        warnings.simplefilter("ignore")
        importlib.import_module(peer.module)
        version = importlib.metadata.version(peer.distribution)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        yield version


def live_us(step: Step, steps: int = MEASURED) -> float:
    """Return the shortest time of a few: a record that grows compiles its new layout once."""
    return min(pace_us(step, STRETCH) for _ in range(steps // STRETCH))


def pace_us(step: Step, n: int) -> float:
    started = time.perf_counter()
    for _ in range(n):
        step()
    return (time.perf_counter() - started) / n * 1e6


def peer_paces(step: Step) -> tuple[str, str, str]:
    """Return the microseconds a step of a whole horizon, and live after 10³ and 10⁵ updates."""
    first = pace_us(step, YOUNG)
    young = live_us(step)
    whole = pace_us(step, HORIZON - YOUNG - MEASURED)
    mean = (first * YOUNG + young * MEASURED + whole * (HORIZON - YOUNG - MEASURED)) / HORIZON
    if whole * (OLD - HORIZON) / 1e6 > PATIENCE:
        return f"{mean:.1f}", f"{young:.1f}", "too slow"
    try:
        pace_us(step, OLD - HORIZON)
    except Exception as error:  # for example, weights that overflow
        return f"{mean:.1f}", f"{young:.1f}", f"  fails: {error}"
    return f"{mean:.1f}", f"{young:.1f}", f"{live_us(step):.1f}"


def three_arms() -> None:
    environment = lb.Stationary([lb.Bernoulli(mean) for mean in THREE])
    print(f"{'library':<22}{'policy':<20}{'µs/step':>10}{'live 10³':>10}{'live 10⁵':>10}")
    for name, policy in ours().items():
        whole = step_ns(policy, environment, horizon=HORIZON) / 1e3
        step = live(policy, THREE)
        pace_us(step, YOUNG)
        young = live_us(step)
        pace_us(step, OLD - YOUNG - MEASURED)
        old = live_us(step)
        print(f"{'lastblock':<22}{name:<20}{whole:>10.3f}{young:>10.1f}{old:>10.1f}", flush=True)
    for peer in PEERS:
        for name, make in usable(peer):
            try:
                paces = "".join(f"{pace:>10}" for pace in peer_paces(make(THREE)))
            except Exception as error:  # print any failure of a peer in its line
                paces = f"  fails: {error}"
            print(f"{peer.distribution:<22}{name:<20}{paces}", flush=True)


def ten_arms() -> None:
    print(f"\nTen arms, live after 10³ updates\n{'library':<22}{'policy':<20}{'µs':>10}")
    slowest = 0.0
    for name, policy in {"LB-SDA": lb.LBSDA(), **ours()}.items():
        step = live(policy, TEN)
        pace_us(step, YOUNG)
        pace = live_us(step, LONGER)
        if "SDA" in name:
            slowest = max(slowest, pace)
        print(f"{'lastblock':<22}{name:<20}{pace:>10.1f}", flush=True)
    for peer in PEERS:
        paces = {}
        for name, make in usable(peer):
            step = make(TEN)
            pace_us(step, YOUNG)
            paces[name] = live_us(step, LONGER)
            print(f"{peer.distribution:<22}{name:<20}{paces[name]:>10.1f}", flush=True)
        if paces:
            fastest = min(paces, key=paces.__getitem__)
            print(
                f"{'':<22}our slowest LB-SDA is {paces[fastest] / slowest:.1f} times as fast "
                f"as its {fastest}"
            )


def usable(peer: Peer) -> Iterator[tuple[str, Callable[[Means], Step]]]:
    """Print a line about a peer, and yield its policies if it can be imported."""
    try:
        with imported(peer) as version:
            note = f" ({peer.note})" if peer.note else ""
            print(f"{peer.distribution} {version}{note}")
            yield from peer.policies.items()
    except ImportError as error:
        print(f"{peer.distribution:<22}cannot be imported: {error}")


def main() -> None:
    random.seed(1)
    three_arms()
    ten_arms()


if __name__ == "__main__":
    main()
