"""Measures the regret when rewards arrive late: ``python -m benchmarks.delays``.

The reward of a decision arrives D decisions later, where D is geometric on 0, 1, 2, … with a given
mean; with probability 0 or 0.1 it never arrives. A decision without its reward stays open: nothing
calls `forget`.
"""

import math
import time

import numpy as np

import lastblock as lb
from benchmarks.options import Parser
from lastblock.core.layout import state_dtype
from lastblock.core.rounds import begin, next_arm, reward_arm
from lastblock.kernels.jit import entry, specialise
from lastblock.kernels.streams import ENVIRONMENT, key_of, next_word, seed_stream, uniform
from lastblock.lab.scenario import Scenario

HORIZON = 10_000
REPLICATIONS = 1000
SEED = 1
MEANS = (0, 1, 10, 100, 1000)
NEVER = (0.0, 0.1)


@entry
def play_late(
    policy, environment, n_arms, state, key, luck, streams, mean, never, book, rewards, regret
):
    """Fill `regret` with the final regret of each replication.

    The rows of `book` are: the arm of each decision, the first decision whose reward arrives at
    each step, and the next one after it (a linked list; −1 ends it).
    """
    stream, scratch, late = streams[0], streams[1], streams[2]
    arms, due, following = book[0], book[1], book[2]
    s = state[0]
    horizon = arms.shape[0]
    stays = math.log(mean / (1.0 + mean)) if mean > 0.0 else -math.inf
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
            delay = math.floor(math.log(1.0 - uniform(late)) / stays)
            if uniform(late) >= never and t + delay < horizon:
                following[t] = due[t + int(delay)]
                due[t + int(delay)] = t
            told = due[t]
            while told >= 0:
                reward_arm(policy, s, arms[told], rewards[told])
                told = following[told]
        regret[i] = total


def late_regret(policy, environment, mean: float, never: float) -> np.ndarray:
    """Return the final regret of every replication."""
    regret = np.empty(REPLICATIONS)
    arguments = (
        policy,
        environment.compile(HORIZON),
        environment.n_arms,
        np.zeros(1, state_dtype(policy, environment.n_arms, HORIZON)),
        key_of(SEED),
        key_of(SEED + 1),
        np.empty((3, 4), np.uint64),
        float(mean),
        never,
        np.empty((3, HORIZON), np.int64),
        np.empty(HORIZON),
        regret,
    )
    specialise(play_late, *arguments)(*arguments)
    return regret


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
                    regret = late_regret(policy, environment, mean, never)
                    error = regret.std(ddof=1) / math.sqrt(REPLICATIONS)
                    cells.append(f"{regret.mean():.1f} ± {error:.1f}")
                delay = "at once" if mean == 0 else f"mean delay {mean}"
                lost = ", 10 % never" if never else ""
                print(f"| {delay}{lost} | " + " | ".join(cells) + " |", flush=True)
        print()
    print(f"{time.perf_counter() - started:.0f} s")


if __name__ == "__main__":
    Parser("delays", __doc__, "about a minute, once compiled").parse_args()
    main()
