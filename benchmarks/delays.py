"""Measures the regret when rewards arrive late: ``python -m benchmarks.delays``.

The reward of a decision arrives D decisions later, where D is geometric on 0, 1, 2, … with a given
mean; with probability 0 or 0.1 it never arrives. A decision without its reward stays open: nothing
calls `forget`.

Then conversions arrive within a window, and a decision without one is told 0 at its end: the policy
learns conversions when they arrive, or at the end of the window, too.
"""

import math
import time
from typing import NamedTuple

import numpy as np

import lastblock as lb
from benchmarks.options import Parser
from lastblock.core.layout import state_dtype
from lastblock.core.restarts import restarts_of
from lastblock.core.rounds import begin, next_arm, reward_arm
from lastblock.kernels.jit import entry, kernel, specialise
from lastblock.kernels.record_arrays import RecordArray
from lastblock.kernels.streams import ENVIRONMENT, key_of, next_word, seed_stream, uniform
from lastblock.lab.scenario import Scenario

HORIZON = 10_000
REPLICATIONS = 1000
SEED = 1
MEANS = (0, 1, 10, 100, 1000)
NEVER = (0.0, 0.1)

CONVERSIONS = (0.02, 0.022, 0.03)
LONGER = 20_000
WINDOW = 0.02 * LONGER


class Law(NamedTuple):
    """When rewards come. With a window, those of 0 come at its end."""

    scale: float
    """The mean delay, of conversions only where there is a window."""
    never: float = 0.0
    window: float = 0.0
    defers: bool = False
    """Whether conversions are told at the end of the window, too."""


@kernel
def delay_of(law, reward, u):
    """Return after how many decisions a reward comes; `u` is uniform on [0, 1)."""
    if law.window == 0.0:
        stays = math.log(law.scale / (1.0 + law.scale)) if law.scale > 0.0 else -math.inf
        return math.floor(math.log(1.0 - u) / stays)
    if law.defers or reward == 0.0:
        return law.window
    most = 1.0 - math.exp(-law.window / law.scale) if law.scale > 0.0 else 0.0
    return math.floor(-law.scale * math.log(1.0 - u * most))


@entry
def play_late(
    policy, environment, n_arms, state, key, luck, streams, law, book, rewards, regret, restarts
):
    """Fill `regret` with the final regret of each replication, and `restarts` with their number.

    The rows of `book` are: the arm of each decision, the first decision whose reward arrives at
    each step, and the next one after it (a linked list; −1 ends it).
    """
    stream, scratch, late = streams[0], streams[1], streams[2]
    arms, due, following = book[0], book[1], book[2]
    s = state[0]
    horizon = arms.shape[0]
    for i in range(regret.shape[0]):
        seed_stream(stream, key, i, ENVIRONMENT)
        seed_stream(late, luck, i, ENVIRONMENT)
        begin(policy, s, n_arms, key, i)
        for t in range(horizon):
            due[t] = -1
        total = 0.0
        cursor = 0
        for t in range(horizon):
            arm = next_arm(policy, s)
            cursor = environment.seek(t, cursor)
            arms[t] = arm
            rewards[t] = environment.sample(cursor, arm, next_word(stream), scratch)
            total += environment.best(cursor) - environment.mean(cursor, arm)
            delay = delay_of(law, rewards[t], uniform(late))
            if uniform(late) >= law.never and t + delay < horizon:
                following[t] = due[t + int(delay)]
                due[t + int(delay)] = t
            told = due[t]
            while told >= 0:
                reward_arm(policy, s, arms[told], rewards[told])
                told = following[told]
        regret[i] = total
        restarts[i] = restarts_of(s)


def late_regret(policy, environment, law, horizon=HORIZON):
    """Return the final regret of every replication, and how often the policy restarted."""
    regret, restarts = np.empty((2, REPLICATIONS))
    arguments = (
        policy,
        environment.compile(horizon),
        environment.n_arms,
        RecordArray(np.zeros(1, state_dtype(policy, environment.n_arms, horizon))),
        key_of(SEED),
        key_of(SEED + 1),
        np.empty((3, 4), np.uint64),
        law,
        np.empty((3, horizon), np.int64),
        np.empty(horizon),
        regret,
        restarts,
    )
    specialise(play_late, *arguments)(*arguments)
    return regret, restarts


def main() -> None:
    started = time.perf_counter()
    scenarios = {
        "stationary": lb.SWLBSDA(window=HORIZON),
        "bernoulli-changes": lb.SWLBSDA.tuned(horizon=HORIZON, changes=2),
    }
    print(f"Mean regret ± standard error at T = {HORIZON}, {REPLICATIONS} replications.\n")
    for name, windowed in scenarios.items():
        environment = Scenario.load(name).environment
        policies = {
            "LB-SDA-GM": lb.LBSDAGM(),
            "SW-LB-SDA": windowed,
            "LB-SDA-LM": lb.LBSDALM(),
            "Thompson sampling": lb.Thompson(),
        }
        print(f"| {name} | " + " | ".join(policies) + " |")
        print("|---" * (1 + len(policies)) + "|")
        for mean in MEANS:
            for never in NEVER:
                cells = []
                for policy in policies.values():
                    regret, _ = late_regret(policy, environment, Law(float(mean), never))
                    cells.append(in_words(regret))
                delay = "at once" if mean == 0 else f"mean delay {mean}"
                lost = ", 10 % never" if never else ""
                print(f"| {delay}{lost} | " + " | ".join(cells) + " |", flush=True)
        print()
    compare_windows()
    print(f"{time.perf_counter() - started:.0f} s")


def compare_windows():
    """Print the regret, and the share of runs with a false change, by when rewards are told."""
    laws = {
        "each reward at once": Law(0.0),
        "conversions at once, zeros at the end": Law(0.0, window=WINDOW),
        "conversions when they arrive, zeros at the end": Law(WINDOW / 4, window=WINDOW),
        "everything at the end": Law(WINDOW / 4, window=WINDOW, defers=True),
    }
    policies = {
        "Adaptive LB-SDA": lb.AdaptiveLBSDA(),
        "LB-SDA-GM": lb.LBSDAGM(),
        "LB-SDA-LM": lb.LBSDALM(),
        "Thompson sampling": lb.Thompson(),
    }
    environment = lb.Stationary([lb.Bernoulli(mean) for mean in CONVERSIONS])
    print(f"T = {LONGER}, a window of {WINDOW:.0f} decisions, {REPLICATIONS} replications.\n")
    print("| told | " + " | ".join(policies) + " | false changes |")
    print("|---" * (2 + len(policies)) + "|")
    for told, law in laws.items():
        cells, false = [], 0.0
        for policy in policies.values():
            regret, restarts = late_regret(policy, environment, law, LONGER)
            cells.append(in_words(regret))
            false = max(false, float((restarts > 0).mean()))
        print(f"| {told} | " + " | ".join(cells) + f" | {false:.1%} |", flush=True)
    print()


def in_words(regret):
    """Return the mean of final regrets with its standard error."""
    return f"{regret.mean():.1f} ± {regret.std(ddof=1) / math.sqrt(REPLICATIONS):.1f}"


if __name__ == "__main__":
    Parser("delays", __doc__, "about a minute, once compiled").parse_args()
    main()
