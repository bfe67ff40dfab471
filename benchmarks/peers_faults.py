"""Shows faults and limits of other libraries, each by some lines of code that run against them.

`make peers` runs them against the versions that it has installed; ``python -m
benchmarks.peers_faults`` runs them alone. Where a newer version does what it should, this says so.
"""

import re
import subprocess
from dataclasses import asdict, dataclass
from pathlib import Path
from textwrap import dedent
from typing import Any

from benchmarks.options import Parser

AN_ERROR = "an error"
RUN = """
import contextlib, io, sys, warnings
warnings.simplefilter("ignore")
printed, names = io.StringIO(), {}
try:
    with contextlib.redirect_stdout(io.StringIO()):  # what a library says while it is imported
        exec(sys.argv[2], names)
    with contextlib.redirect_stdout(printed):
        exec(sys.argv[1], names)
except Exception as error:
    print("raised", f"{type(error).__name__}: {error}".splitlines()[0], sep="\\n")
else:
    print("printed", printed.getvalue().strip().splitlines()[-1], sep="\\n")
"""


@dataclass(frozen=True)
class Fault:
    """Some lines of code that print what a library does, and what they should print."""

    library: str
    title: str
    code: str
    right: str
    "What should be printed; or `AN_ERROR`, where the call should be refused."
    before: str = ""
    "What runs first and is not shown."


# Imports print notes on what is missing; a function that SciPy has removed has a stand-in.
STAND_IN = """
import scipy.special
scipy.special.btdtri = scipy.special.betaincinv
import SMPyBandits.Policies
"""

FAULTS = [
    Fault(
        "mabwiser",
        "A new arm is never tried by UCB1: without a reward its index is 0, not infinite.",
        """
        from mabwiser.mab import MAB, LearningPolicy

        bandit = MAB(["old", "new"], LearningPolicy.UCB1(alpha=1.0), seed=1)
        bandit.fit(["old"], [0])
        for _ in range(1000):
            arm = bandit.predict()
            bandit.partial_fit([arm], [1 if arm == "new" else 0])
        print("tried:", bandit._imp.arm_to_count["new"] > 0)
        """,
        "tried: True",
    ),
    Fault(
        "mabwiser",
        "A reward of an arm that does not exist is accepted, and counts as a round.",
        """
        from mabwiser.mab import MAB, LearningPolicy

        bandit = MAB(["a", "b"], LearningPolicy.UCB1(), seed=1)
        bandit.fit(["a", "b"], [1, 0])
        bandit.partial_fit(["c"], [1])
        print(bandit._imp.total_count, "rounds", bandit._imp.arm_to_count)
        """,
        AN_ERROR,
    ),
    Fault(
        "mabwiser",
        "Softmax takes the largest of Dirichlet draws, whose chances are not those of softmax: the "
        "best of these arms should have e⁰ / (e⁰ + e⁻² + e⁻¹) = 0.67.",
        """
        from mabwiser.mab import MAB, LearningPolicy

        bandit = MAB(["a", "b", "c"], LearningPolicy.Softmax(tau=0.1), seed=1)
        bandit.fit(["a", "b", "c"], [0.5, 0.3, 0.4])
        chosen = [bandit.predict() for _ in range(20_000)]
        print(f"{chosen.count('a') / 20_000:.2f}")
        """,
        "0.67",
    ),
    Fault(
        "river",
        "EXP3 fails after some ten thousand steps: its weights overflow.",
        """
        import random
        from river import bandit

        policy, rng = bandit.Exp3(gamma=0.1, seed=1), random.Random(1)
        for step in range(100_000):
            arm = policy.pull([0, 1])
            policy.update(arm, float(rng.random() < [0.3, 0.5][arm]))
        print("100000 steps")
        """,
        "100000 steps",
    ),
    Fault(
        "river",
        "One NaN as a reward is accepted, and the arm stays with it: 2000 rewards of 1 for "
        "the other arm change nothing.",
        """
        from river import bandit

        policy = bandit.EpsilonGreedy(epsilon=0.1, seed=1)
        policy.update("a", float("nan"))
        for _ in range(2000):
            arm = policy.pull(["a", "b"])
            policy.update(arm, 1.0 if arm == "b" else 0.0)
        print({arm: policy._counts[arm] for arm in "ab"})
        """,
        AN_ERROR,
    ),
    Fault(
        "river",
        "Thompson sampling and Bayes-UCB count every reward that is not 0 as a success: 0.01, "
        "−1 and NaN alike.",
        """
        from river import proba

        belief = proba.Beta()
        for reward in (0.01, -1.0, float("nan")):
            belief.update(reward)
        print(belief.alpha - 1, "successes,", belief.beta - 1, "failures")
        """,
        AN_ERROR,
    ),
    Fault(
        "river",
        "UCB with a distribution as `reward_obj` has no bonus at all (an `else` takes it in), and "
        "stays with whichever arm was lucky.",
        """
        import random
        from river import bandit, proba

        policy, rng = bandit.UCB(delta=1, reward_obj=proba.Beta(), seed=2), random.Random(0)
        for _ in range(10_000):
            arm = policy.pull(["worse", "better"])
            policy.update(arm, rng.random() < {"worse": 0.3, "better": 0.5}[arm])
        print("mostly the better arm:", policy._counts["better"] > 5000)
        """,
        "mostly the better arm: True",
    ),
    Fault(
        "river",
        "ε-greedy takes the first of equal arms, so that its regret depends on their order.",
        """
        from river import bandit

        policies = [bandit.EpsilonGreedy(epsilon=0.0, seed=seed) for seed in range(100)]
        print(sorted({policy.pull(["a", "b", "c"]) for policy in policies}))
        """,
        "['a', 'b', 'c']",
    ),
    Fault(
        "SMPyBandits",
        "It cannot be imported beside the SciPy that pip installs with it, which has removed a "
        "function.",
        """
        import SMPyBandits.Policies

        print("imported")
        """,
        "imported",
    ),
    Fault(
        "SMPyBandits",
        "ε-greedy never explores the last arm: NumPy's `randint` leaves out its end.",
        """
        from SMPyBandits.Policies import EpsilonGreedy

        policy = EpsilonGreedy(3, epsilon=1.0)
        policy.startGame()
        print(sorted({int(policy.choice()) for _ in range(1000)}))
        """,
        "[0, 1, 2]",
        STAND_IN,
    ),
    Fault(
        "SMPyBandits",
        "ε-greedy exploits the largest sum of rewards, not the largest mean.",
        """
        from SMPyBandits.Policies import EpsilonGreedy

        policy = EpsilonGreedy(2, epsilon=0.0)
        policy.startGame()
        for reward in [1.0] * 10:
            policy.getReward(0, reward)  # mean 1.0
        for reward in [0.2] * 100:
            policy.getReward(1, reward)  # mean 0.2
        print("arm", policy.choice())
        """,
        "arm 0",
        STAND_IN,
    ),
    Fault(
        "SMPyBandits",
        "D-UCB keeps discounted counts as integers: an arm's count stays 1 for ever, and its mean "
        "passes 1.",
        """
        from SMPyBandits.Policies import DiscountedUCB

        policy = DiscountedUCB(2, gamma=0.99)
        policy.startGame()
        for _ in range(1000):
            policy.getReward(0, 1.0)
        print("mean", round(float(policy.discounted_rewards[0] / policy.discounted_pulls[0]), 3))
        """,
        "mean 1.0",
        STAND_IN,
    ),
    Fault(
        "SMPyBandits",
        "Discounted Thompson sampling fades the arm that was pulled once more for each other arm, "
        "and the others never.",
        """
        from SMPyBandits.Policies import DiscountedThompson

        policy = DiscountedThompson(2, gamma=0.5)
        policy.startGame()
        policy.getReward(0, 1.0)
        for _ in range(10):
            policy.getReward(1, 1.0)
        print("evidence of arm 0:", float(round(policy.posterior[0].N[1], 3)))
        """,
        "evidence of arm 0: 0.001",
        STAND_IN,
    ),
    Fault(
        "SMPyBandits",
        "The same seed gives other decisions: it draws from two global streams, NumPy's and "
        "Python's, and has no seed of its own.",
        """
        import numpy as np
        from SMPyBandits.Policies import EpsilonGreedy


        def play():
            np.random.seed(1)
            policy = EpsilonGreedy(3, epsilon=0.5)
            policy.startGame()
            return [int(policy.choice()) for _ in range(100)]


        print("the same:", play() == play())
        """,
        "the same: True",
        STAND_IN,
    ),
    Fault(
        "SMPyBandits",
        "NaN as a reward is accepted by UCB, which chooses at random from then on.",
        """
        from SMPyBandits.Policies import UCB

        policy, pulls = UCB(2), [0, 0]
        policy.startGame()
        policy.getReward(0, float("nan"))
        for _ in range(10_000):
            arm = policy.choice()
            pulls[arm] += 1
            policy.getReward(arm, float(arm == 1))
        print("the better arm:", f"{pulls[1] / 10_000:.1f}", "of the time")
        """,
        AN_ERROR,
        STAND_IN,
    ),
    Fault(
        "gittins",
        "Two candidates of the same name are accepted as two arms that share all they learn.",
        """
        import gittins

        state = gittins.create(bits=8, horizon=3600.0)
        record = gittins.decide(state, {}, [("a", {}), ("a", {})], 0.0, "web")
        print("propensity", record.propensity)
        """,
        AN_ERROR,
    ),
    Fault(
        "pymab",
        "A policy's state cannot be kept: it has no method to save it, and `pickle` refuses.",
        """
        import pickle
        from pymab.policies import UCBPolicy

        policy = UCBPolicy(n_arms=2)
        policy.update(action=0, reward=1.0)
        print(pickle.loads(pickle.dumps(policy)).step, "step")
        """,
        "1 step",
    ),
    Fault(
        "pymab",
        "Its Page–Hinkley detector hears rises only: an arm may fall from 0.9 to 0.1 unnoticed.",
        """
        import numpy as np
        from pymab.policies import PageHinkleyUCBPolicy

        policy, rng = PageHinkleyUCBPolicy(n_arms=1), np.random.default_rng(0)
        for mean in [0.9] * 1000 + [0.1] * 5000:
            policy.update(action=0, reward=float(rng.random() < mean))
        print("changes found:", policy.change_counts[0] > 0)
        """,
        "changes found: True",
    ),
    Fault(
        "pybandits",
        "A restored bandit does not go on where it was: `get_state` has the seed, not where "
        "its stream stands. (A pickle has.)",
        """
        from pybandits.model import Beta
        from pybandits.smab import SmabBernoulli

        bandit = SmabBernoulli(actions={"a": Beta(), "b": Beta()}, random_seed=1)
        bandit.predict(n_samples=10)
        again = SmabBernoulli.from_state(bandit.get_state()[1])
        print("the same:", bandit.predict(n_samples=50)[0] == again.predict(n_samples=50)[0])
        """,
        "the same: True",
    ),
    Fault(
        "bayesianbandits",
        "A reward that is none of the classes is taken in, and changes nothing.",
        """
        import numpy as np
        from bayesianbandits import Agent, Arm, DirichletClassifier, ThompsonSampling

        coin = DirichletClassifier({0: 1, 1: 1})
        arm = Arm("a", reward_function=lambda chances: chances[..., 1], learner=coin)
        agent = Agent([arm], ThompsonSampling(), random_seed=1)
        agent.pull()
        agent.update(np.array([7]))
        print("evidence", [float(a) for a in coin.known_alphas_[1.0]])
        """,
        AN_ERROR,
    ),
]


def shown(fault: Fault, python: Path, version: str) -> dict[str, Any]:
    """Run the lines of a fault, and return them with what came out and whether it is there."""
    code = dedent(fault.code).strip()
    done = subprocess.run(
        [python, "-c", RUN, code, fault.before],
        capture_output=True,
        text=True,
        check=False,
    )
    how, _, came = done.stdout.strip().partition("\n")
    came = re.sub(r" \([^()]*site-packages[^()]*\)$", "", came)  # which file it was
    if how not in {"raised", "printed"}:
        raise RuntimeError(f"{fault.library}: {fault.title}\n{done.stdout}{done.stderr}")
    right = how == "raised" if fault.right == AN_ERROR else came == fault.right
    return {**asdict(fault), "code": code, "version": version, "came": came, "there": not right}


def main() -> None:
    from benchmarks.peers import prepared  # noqa: PLC0415  # it imports this module, too

    for fault in FAULTS:
        python, version = prepared(fault.library)
        if python is None:
            print(f"{fault.library} is missing: {version}")
            continue
        found = shown(fault, python, version)
        state = "" if found["there"] else "(not in this version) "
        print(f"{fault.library} {version}: {state}{fault.title}")
        print(f"    came: {found['came']}    should: {fault.right}", flush=True)


if __name__ == "__main__":
    Parser("peers_faults", __doc__, "about a minute, once the libraries are installed").parse_args()
    main()
