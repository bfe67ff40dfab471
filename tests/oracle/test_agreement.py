"""Kernels and oracles take the same decisions, one by one."""

import math
import random
from itertools import pairwise

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

import lastblock as lb
import oracle.lbsda
import oracle.lbsdagm
import oracle.lbsdalm
import oracle.swlbsda
from oracle import worlds
from oracle.worlds import KINDS, World
from trials import mostly_trials, short_and_long

# In records for eight arms, with windows of up to 64 rounds: one or two compilations a policy
# serve all examples.
ARMS = st.sampled_from([2, 3, 5])
SEEDS = st.integers(0, 2**32)
HORIZONS = st.integers(10, 400)
KIND = st.sampled_from(KINDS)


def assert_same_decisions(policy, twin, world, horizon, seed):
    bandit = lb.Bandit(policy, twin.arms, seed=seed, room=8)
    for t in range(horizon):
        decision = bandit.ask()
        assert decision.arm == twin.ask(), f"step {t}, round {twin.round}"
        reward = world.reward(decision.arm)
        bandit.tell(decision, reward)
        twin.tell(decision.arm, reward)


@short_and_long("examples", 30, 120)
def test_lbsda(examples):
    @settings(max_examples=examples)
    @given(ARMS, SEEDS, HORIZONS, KIND, st.booleans())
    def agree(arms, seed, horizon, kind, reference):
        policy = lb.LBSDA(reference=reference)
        twin = oracle.lbsda.LBSDA(arms, seed, reference)
        assert_same_decisions(policy, twin, World(kind, arms, seed), horizon, seed)

    agree()


@short_and_long("examples", 40, 150)
def test_lbsdalm(examples):
    @settings(max_examples=examples)
    @given(
        ARMS,
        SEEDS,
        HORIZONS,
        KIND,
        st.fixed_dictionaries(
            {
                "minimum": st.integers(1, 63),
                "scale": st.floats(0.0, 0.1),
                "offset": st.integers(0, 20),
                "reference": st.booleans(),
            }
        ),
    )
    def agree(arms, seed, horizon, kind, parameters):
        policy = lb.LBSDALM(**parameters)
        twin = oracle.lbsdalm.LBSDALM(arms, seed, **parameters)
        assert_same_decisions(policy, twin, World(kind, arms, seed), horizon, seed)

    agree()


@short_and_long("examples", 15, 40)
def test_lbsdalm_with_memory_that_grows(examples):
    @settings(max_examples=examples)
    @given(SEEDS, HORIZONS, KIND, st.integers(1, 20), st.floats(0.5, 1.0), st.booleans())
    def agree(seed, horizon, kind, minimum, scale, reference):
        policy = lb.LBSDALM(minimum=minimum, scale=scale, reference=reference)
        twin = oracle.lbsdalm.LBSDALM(3, seed, minimum, scale, reference=reference)
        assert_same_decisions(policy, twin, World(kind, 3, seed), horizon, seed)

    agree()


# The examples tell apart r and r − 1 in the authors' leader rule, which few do.
@short_and_long("examples", 60, 250)
def test_swlbsda(examples):
    @settings(max_examples=examples)
    @given(ARMS, SEEDS, HORIZONS, KIND, st.integers(0, 54), st.booleans(), st.booleans())
    @example(3, 1683, 40, worlds.gaussian, 1, True, False)
    @example(5, 5091, 40, worlds.dyadic, 2, True, False)
    def agree(arms, seed, horizon, kind, spare, reference, naive):
        window = arms + spare
        policy = lb.SWLBSDA(window=window, reference=reference, naive_leader=naive)
        twin = oracle.swlbsda.SWLBSDA(arms, seed, window, reference, naive)
        assert_same_decisions(policy, twin, World(kind, arms, seed), horizon, seed)

    agree()


@pytest.mark.parametrize(
    ("seed", "reference"), [(1, False), (21, False), (22, False), (6, True), (18, True), (23, True)]
)
def test_swlbsda_flags_after_a_takeover(seed, reference):
    """Flags count from the takeover when the new leader is beaten from its first round on.

    Arms 0 and 1 are level. After a takeover arm 2 wins for long, and arm 3 raises its flag.
    """
    window = 500
    delay = 3 * math.log(window) ** 2
    delay = int(delay) if reference else math.ceil(delay)
    twin = oracle.swlbsda.SWLBSDA(4, seed, window, reference)
    bandit = lb.Bandit(lb.SWLBSDA(window=window, reference=reference), 4, seed=seed)
    rng = random.Random(seed)
    leader, stalled_until = None, 0
    for t in range(3000):
        decision = bandit.ask()
        assert decision.arm == twin.ask(), f"step {t}, round {twin.round}"
        if t >= max(300, stalled_until) and twin.leader != leader:
            stalled_until = t + 200
        leader = twin.leader
        if t < stalled_until:
            reward = [0.0, 0.0, 1.0, -1.0][decision.arm]
        elif decision.arm < 2:
            reward = float(rng.random() < 0.5)
        else:
            reward = [0.25, -1.0][decision.arm - 2]
        bandit.tell(decision, reward)
        twin.tell(decision.arm, reward)
    led = 0  # rounds since the takeover
    at_once = 0
    for before, now in pairwise(twin.rounds):
        led = led + 1 if now.leader == before.leader else 0
        at_once += now.flagged == [3] and led == delay
    assert at_once > 0


# The paper's scenarios, through the engine of `simulate`.


def changing(family, *phases):
    return lb.Piecewise({start: [family(mean) for mean in means] for start, *means in phases})


def gaussian(mean):
    return lb.Gaussian(mean, 0.5)


SCENARIOS = {
    "stationary": changing(lb.Bernoulli, (0, 0.05, 0.15)),
    "bernoulli-changes": changing(
        lb.Bernoulli, (0, 0.5, 0.3, 0.4), (3000, 0.3, 0.7, 0.2), (5000, 0.5, 0.3, 0.6)
    ),
    "gaussian-changes": changing(
        gaussian,
        (0, 0.9, 0.5, 0.4),
        (2500, 0.4, 0.8, 0.5),
        (4500, 0.3, 0.2, 0.7),
        (7000, 0.9, 0.8, 0.4),
    ),
}
TWINS = {
    "LBSDA": (lb.LBSDA, oracle.lbsda.LBSDA, {}),
    "LBSDALM": (lb.LBSDALM, oracle.lbsdalm.LBSDALM, {"minimum": 1, "offset": 50}),
    "SWLBSDA": (lb.SWLBSDA, oracle.swlbsda.SWLBSDA, {"window": 429}),
}


@pytest.mark.usefixtures("shared_records")
@pytest.mark.parametrize("reference", [False, True], ids=["paper", "reference"])
@pytest.mark.parametrize("scenario", mostly_trials(SCENARIOS, {"bernoulli-changes"}))
@pytest.mark.parametrize("name", TWINS)
def test_simulated(name, scenario, reference):
    make_policy, make_twin, parameters = TWINS[name]
    environment = SCENARIOS[scenario]
    policy = make_policy(**parameters, reference=reference)
    played = lb.trace(policy, environment, horizon=10_000, seed=2021)
    twin = make_twin(environment.n_arms, 2021, **parameters, reference=reference)
    for t, (arm, reward) in enumerate(
        zip(played.arms.tolist(), played.rewards.tolist(), strict=True)
    ):
        assert twin.ask() == arm, f"step {t}, round {twin.round}"
        twin.tell(arm, reward)


@short_and_long("examples", 30, 120)
def test_lbsdagm(examples):
    @settings(max_examples=examples)
    @given(
        ARMS,
        SEEDS,
        HORIZONS,
        KIND,
        st.sampled_from([(8, "near"), (8, "long"), (8, "short"), (4, "near")]),
    )
    def agree(arms, seed, horizon, kind, parameters):
        marks, block = parameters
        arms = min(arms, 3) if marks == 4 else arms  # saves a compilation
        policy = lb.LBSDAGM(marks=marks, block=block)
        twin = oracle.lbsdagm.LBSDAGM(arms, seed, marks, block)
        assert_same_decisions(policy, twin, World(kind, arms, seed), horizon, seed)

    agree()


@pytest.mark.parametrize("scenario", SCENARIOS)
def test_lbsdagm_simulated(scenario):
    environment = SCENARIOS[scenario]
    played = lb.trace(lb.LBSDAGM(), environment, horizon=10_000, seed=2021)
    twin = oracle.lbsdagm.LBSDAGM(environment.n_arms, 2021)
    for t, (arm, reward) in enumerate(
        zip(played.arms.tolist(), played.rewards.tolist(), strict=True)
    ):
        assert twin.ask() == arm, f"step {t}, round {twin.round}"
        twin.tell(arm, reward)
