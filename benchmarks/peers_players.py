"""Lets lastblock and other libraries play the same policies, each through its own calls.

A library is imported only when one of its policies is made, since each has an environment of its
own: the program that measures it runs there, and finds none of the others.
"""
# ruff: noqa: PLC0415

import math
import random
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

WINDOW, DISCOUNT = 429, 0.9965  # the published tunings for T = 10 000 and two changes
FADING = 0.99  # 1 − 1/√T
HORIZON = 10_000

Choose = Callable[[], int]
Learn = Callable[[int, float], object]
Player = Callable[[int, int], tuple[Choose, Learn]]
"""Of the number of arms and a seed: what chooses an arm, and what takes in its reward."""
Phases = dict[int, tuple[float, ...]]
"""The means of the arms from a time on."""
Run = tuple[list[float], float]
"""The final regret of each replication, and the CPU seconds in all."""
Simulation = Callable[[str, Phases, int, int], Run | None]
"""Of policy, phases, horizon and replications; None for a world that it cannot simulate."""


@dataclass(frozen=True)
class Library:
    """A library, and the policies that it shares with us, with the same parameters."""

    name: str
    requirement: str
    players: dict[str, Player]
    first: str
    "The policy whose first decision is timed."
    replications: int
    "How many replications of T = 10 000 its speed allows."
    simulate: Simulation | None = None
    notes: dict[str, str] = field(default_factory=dict)
    "What differs from our policy of that name."


def lastblock_policies() -> dict[str, Any]:
    import lastblock as lb

    return {
        "LB-SDA": lb.LBSDA(),
        "LB-SDA-LM": lb.LBSDALM(),
        "LB-SDA-GM": lb.LBSDAGM(),
        "SW-LB-SDA": lb.SWLBSDA(window=WINDOW),
        "UCB1": lb.UCB1(scale=math.sqrt(2.0)),
        "kl-UCB": lb.KLUCB(),
        "MOSS": lb.MOSS(horizon=HORIZON),
        "Bayes-UCB": lb.BayesUCB(),
        "Thompson sampling": lb.Thompson(),
        "ε-greedy": lb.EpsilonGreedy(epsilon=0.1),
        "softmax": lb.Softmax(temperature=0.1),
        "EXP3": lb.EXP3(gamma=0.1),
        "BESA": lb.BESA(),
        "SW-UCB": lb.SWUCB(window=WINDOW),
        "D-UCB": lb.DUCB(discount=DISCOUNT),
        "discounted Thompson": lb.DiscountedThompson(discount=DISCOUNT),
        "forgetting ε-greedy": lb.DiscountedEpsilonGreedy(discount=FADING, epsilon=0.05),
    }


OURS = (
    *("LB-SDA", "LB-SDA-LM", "LB-SDA-GM", "SW-LB-SDA"),
    *("UCB1", "kl-UCB", "MOSS", "Bayes-UCB", "Thompson sampling", "ε-greedy", "softmax", "EXP3"),
    *("BESA", "SW-UCB", "D-UCB", "discounted Thompson", "forgetting ε-greedy"),
)
FORGETTING = ("SW-LB-SDA", "SW-UCB", "D-UCB", "discounted Thompson", "forgetting ε-greedy")


def lastblock(name: str, compiled: bool = True) -> Player:
    def make(arms: int, seed: int) -> tuple[Choose, Learn]:
        import lastblock as lb

        # A bandit that is not `compiled` decides at once, in plain Python until kernels are ready.
        options = {"compiled": True} if compiled else {}
        bandit = lb.Bandit(lastblock_policies()[name], arms, seed=seed, **options)
        ask, tell, decision = bandit.ask, bandit.tell, None

        def choose() -> int:
            nonlocal decision
            decision = ask()
            return decision.arm

        return choose, lambda arm, reward: tell(decision, reward)

    return make


def lastblock_simulate(name: str, phases: Phases, horizon: int, replications: int) -> Run:
    import lastblock as lb

    arms = {begin: [lb.Bernoulli(mean) for mean in means] for begin, means in phases.items()}
    world = lb.Piecewise(arms) if len(arms) > 1 else lb.Stationary(arms[0])
    policy, size = lastblock_policies()[name], {"horizon": horizon, "replications": replications}
    begun = time.process_time()
    run = lb.simulate(policy, world, **size, seed=1, threads=1, times=[horizon])
    return run.regret[:, -1].tolist(), time.process_time() - begun


def mabwiser(policy: str, *arguments: float) -> Player:
    def make(arms: int, seed: int) -> tuple[Choose, Learn]:
        from mabwiser.mab import MAB, LearningPolicy

        names = list(range(arms))
        bandit = MAB(names, getattr(LearningPolicy, policy)(*arguments), seed=seed)
        predict, partial_fit, untried = bandit.predict, bandit.partial_fit, names[::-1]

        def choose() -> int:  # it wants a reward of each arm before it predicts
            return untried.pop() if untried else predict()

        return choose, lambda arm, reward: partial_fit([arm], [reward])

    return make


def river(policy: str, **arguments: float) -> Player:
    def make(arms: int, seed: int) -> tuple[Choose, Learn]:
        from river import bandit, proba

        belief = {"reward_obj": proba.Beta()} if policy == "ThompsonSampling" else {}
        made = getattr(bandit, policy)(**belief, **arguments, seed=seed)
        pull, names = made.pull, range(arms)
        return lambda: pull(names), made.update

    return make


def smpybandits(policy: str, **arguments: float) -> Player:
    def make(arms: int, seed: int) -> tuple[Choose, Learn]:
        import numpy as np
        import scipy.special

        if not hasattr(scipy.special, "btdtri"):  # SciPy has removed it
            scipy.special.btdtri = scipy.special.betaincinv
        from SMPyBandits import Policies

        random.seed(seed)  # it draws from both global streams
        np.random.seed(seed)
        made = getattr(Policies, policy)(arms, **arguments)
        made.startGame()
        return made.choice, made.getReward

    return make


def gittins(**arguments: float) -> Player:
    def make(arms: int, seed: int) -> tuple[Choose, Learn]:
        from gittins import create, decide, learn

        state = create(bits=8, horizon=1e9, **arguments)
        candidates, salt = [(f"arm {k}", {}) for k in range(arms)], str(seed)
        now, decision = 0.0, ""

        def choose() -> int:
            nonlocal now, decision
            now += 1.0
            record = decide(state, {}, candidates, now, salt)
            decision = record.decision_id
            return record.chosen

        return choose, lambda arm, reward: learn(state, decision, reward, now)

    return make


PYMAB: dict[str, tuple[str, dict[str, Any]]] = {
    "UCB1": ("UCBPolicy", {"c": 2.0}),
    "kl-UCB": ("KLUCBPolicy", {"c": 1e-12}),  # the factor of log log t, which must be positive
    "MOSS": ("MOSSPolicy", {"horizon": HORIZON}),
    "Bayes-UCB": ("BernoulliBayesianUCBPolicy", {}),
    "Thompson sampling": ("BernoulliThompsonSamplingPolicy", {}),
    "ε-greedy": ("EpsilonGreedyPolicy", {"epsilon": 0.1}),
    "softmax": ("SoftmaxPolicy", {"temperature": 0.1}),
    "EXP3": ("EXP3Policy", {"gamma": 0.1}),
    "SW-UCB": ("SlidingWindowUCBPolicy", {"c": 0.5, "window_size": WINDOW}),
    "D-UCB": ("DiscountedUCBPolicy", {"c": 0.5, "discount_factor": DISCOUNT}),
    "discounted Thompson": (
        "DiscountedBernoulliThompsonSamplingPolicy",
        {"discount_factor": DISCOUNT},
    ),
}


def pymab_policy(name: str, arms: int) -> Any:
    from pymab import policies

    policy, arguments = PYMAB[name]
    return getattr(policies, policy)(n_arms=arms, **arguments)


def pymab(name: str) -> Player:
    def make(arms: int, seed: int) -> tuple[Choose, Learn]:
        import numpy as np

        made, rng = pymab_policy(name, arms), np.random.default_rng(seed)
        select, update = made.select_action, made.update
        return lambda: select(rng=rng), lambda arm, reward: update(action=arm, reward=reward)

    return make


def pymab_simulate(name: str, phases: Phases, horizon: int, replications: int) -> Run | None:
    if len(phases) > 1:  # it has random changes only
        return None
    import numpy as np
    from pymab import BanditEnvironment, BernoulliReward, Experiment, ExperimentConfig

    means = np.array(phases[0])
    world = BanditEnvironment(means=means, reward_model=BernoulliReward())
    config = ExperimentConfig(horizon=horizon, n_replicates=replications, seed=1)
    begun = time.process_time()
    result = Experiment(
        environment=world, policies={name: pymab_policy(name, len(means))}, config=config
    ).run()
    seconds = time.process_time() - begun
    return result.regret[:, :, 0].sum(axis=1).tolist(), seconds


def pybandits(arms: int, seed: int) -> tuple[Choose, Learn]:
    from pybandits.model import Beta
    from pybandits.smab import SmabBernoulli

    made = SmabBernoulli(actions={str(k): Beta() for k in range(arms)}, random_seed=seed)
    predict, update = made.predict, made.update
    return (
        lambda: int(predict()[0][0]),
        lambda arm, reward: update(actions=[str(arm)], rewards=[int(reward)]),
    )


def bayesianbandits(policy: str, **arguments: float) -> Player:
    def make(arms: int, seed: int) -> tuple[Choose, Learn]:
        import bayesianbandits as bb
        import numpy as np

        names = [
            bb.Arm(k, reward_function=rate_of_ones, learner=bb.DirichletClassifier({0: 1, 1: 1}))
            for k in range(arms)
        ]
        agent = bb.Agent(names, getattr(bb, policy)(**arguments), random_seed=seed)
        pull, update = agent.pull, agent.update
        return lambda: pull()[0], lambda arm, reward: update(np.array([reward]))

    return make


def rate_of_ones(chances: Any) -> Any:
    return chances[..., 1]


LIBRARIES = {
    library.name: library
    for library in (
        Library(
            "lastblock",
            "",
            {name: lastblock(name) for name in OURS},
            first="Thompson sampling",
            replications=2000,
            simulate=lastblock_simulate,
        ),
        Library(
            "mabwiser",
            "mabwiser>=2.7",
            {
                "UCB1": mabwiser("UCB1", 1.0),
                "Thompson sampling": mabwiser("ThompsonSampling"),
                "ε-greedy": mabwiser("EpsilonGreedy", 0.1),
                "softmax": mabwiser("Softmax", 0.1),
            },
            first="Thompson sampling",
            replications=12,
        ),
        Library(
            "river",
            "river>=0.26",
            {
                "UCB1": river("UCB", delta=1.0),
                "Bayes-UCB": river("BayesUCB"),
                "Thompson sampling": river("ThompsonSampling"),
                "ε-greedy": river("EpsilonGreedy", epsilon=0.1),
                "EXP3": river("Exp3", gamma=0.1),
            },
            first="Thompson sampling",
            replications=60,
        ),
        Library(
            "SMPyBandits",
            "SMPyBandits[full]>=0.9",  # with numba, which it uses where it is found
            {
                "UCB1": smpybandits("UCB"),
                "kl-UCB": smpybandits("klUCB"),
                "MOSS": smpybandits("MOSSH", horizon=HORIZON),
                "Bayes-UCB": smpybandits("BayesUCB"),
                "Thompson sampling": smpybandits("Thompson"),
                "ε-greedy": smpybandits("EpsilonGreedy", epsilon=0.1),
                "softmax": smpybandits("Softmax", temperature=0.1),
                "EXP3": smpybandits("Exp3", gamma=0.1),
                "BESA": smpybandits("BESA"),
                "SW-UCB": smpybandits("SWUCB", tau=WINDOW, alpha=0.5),
                "D-UCB": smpybandits("DiscountedUCB", gamma=DISCOUNT, alpha=1.0),
                "discounted Thompson": smpybandits("DiscountedThompson", gamma=DISCOUNT),
            },
            first="Thompson sampling",
            replications=12,
            notes={
                "": "imports only with a stand-in for `scipy.special.btdtri`, which SciPy has "
                "removed"
            },
        ),
        Library(
            "gittins",
            "gittins>=2.0",
            {
                "ε-greedy": gittins(epsilon=0.1, forgetfulness=1.0),
                "forgetting ε-greedy": gittins(epsilon=0.05, forgetfulness=FADING),
            },
            first="ε-greedy",
            replications=100,
            notes={"": "a contextual engine, here without context: ε-greedy on a linear model"},
        ),
        Library(
            "pymab",
            "pymab[bayes]>=2.0",
            {name: pymab(name) for name in PYMAB},
            first="Thompson sampling",
            replications=100,
            simulate=pymab_simulate,
            notes={"Bayes-UCB": "a fixed quantile of 0.95 in place of 1 − 1/t"},
        ),
        Library(
            "pybandits",
            "pybandits>=8.4",
            {"Thompson sampling": pybandits},
            first="Thompson sampling",
            replications=10,
        ),
        Library(
            "bayesianbandits",
            "bayesianbandits>=1.5",
            {
                "Thompson sampling": bayesianbandits("ThompsonSampling"),
                "ε-greedy": bayesianbandits("EpsilonGreedy", epsilon=0.1),
            },
            first="Thompson sampling",
            replications=12,
            notes={"ε-greedy": "means estimated from 1000 draws of the posterior"},
        ),
    )
}
