"""Kernels and oracles take the same decisions, one by one."""

import math
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
from oracle.worlds import KINDS, World, follow, follow_trace, play
from trials import mostly_trials, short_and_long

# In records for four arms, with windows of up to 64 rounds, which the conformance suite compiles.
ARMS = st.sampled_from([2, 3, 4])
SEEDS = st.integers(0, 2**32)
HORIZONS = st.integers(10, 400)
KIND = st.sampled_from(KINDS)


def same_decisions(name, arms, seed, horizon, kind, parameters):
    make_policy, make_twin = TWINS[name]
    twin = make_twin(arms, seed, **parameters)
    play(make_policy(**parameters), twin, World(kind, arms, seed), horizon, seed)


TWINS = {
    "LBSDA": (lb.LBSDA, oracle.lbsda.LBSDA),
    "LBSDALM": (lb.LBSDALM, oracle.lbsdalm.LBSDALM),
    "SWLBSDA": (lb.SWLBSDA, oracle.swlbsda.SWLBSDA),
    "LBSDAGM": (lb.LBSDAGM, oracle.lbsdagm.LBSDAGM),
}
SOME_MEMORY = {
    "minimum": st.integers(1, 63),
    "scale": st.floats(0.0, 0.1),
    "offset": st.integers(0, 20),
    "reference": st.booleans(),
}
BLOCKS = st.sampled_from(["near", "long", "short"])
GROWING_MEMORY = {
    "minimum": st.integers(1, 20),
    "scale": st.floats(0.5, 1.0),
    "reference": st.booleans(),
}


@pytest.mark.parametrize(
    ("name", "arms", "parameters", "share"),
    [
        ("LBSDA", ARMS, {"reference": st.booleans()}, 1.0),
        ("LBSDALM", ARMS, SOME_MEMORY, 1.3),
        ("LBSDALM", st.just(3), GROWING_MEMORY, 0.5),
        (
            "LBSDAGM",
            ARMS,
            {"marks": st.just(8), "block": BLOCKS},
            0.8,
        ),
        ("LBSDAGM", st.just(3), {"marks": st.just(4)}, 0.2),
    ],
)
@short_and_long("examples", 30, 120)
def test_same_decisions(name, arms, parameters, share, examples):
    @settings(max_examples=int(share * examples))
    @given(arms, SEEDS, HORIZONS, KIND, st.fixed_dictionaries(parameters))
    def agree(arms, seed, horizon, kind, chosen):
        same_decisions(name, arms, seed, horizon, kind, chosen)

    agree()


# The examples tell apart r and r − 1 in the authors' leader rule, which few do.
@short_and_long("examples", 60, 250)
def test_swlbsda(examples):
    @settings(max_examples=examples)
    @given(ARMS, SEEDS, HORIZONS, KIND, st.integers(0, 54), st.booleans(), st.booleans())
    @example(3, 1683, 40, worlds.gaussian, 1, True, False)
    @example(5, 5091, 40, worlds.dyadic, 2, True, False)
    def agree(arms, seed, horizon, kind, spare, reference, naive):
        parameters = {"window": arms + spare, "reference": reference, "naive_leader": naive}
        same_decisions("SWLBSDA", arms, seed, horizon, kind, parameters)

    agree()


TAKEOVERS = [(1, False), (21, False), (22, False), (6, True), (18, True), (23, True)]


@pytest.mark.parametrize(("seed", "reference"), mostly_trials(TAKEOVERS, {(1, False), (6, True)}))
def test_swlbsda_flags_after_a_takeover(seed, reference):
    """Flags count from the takeover when the new leader is beaten from its first round on."""
    window = 500
    delay = 3 * math.log(window) ** 2
    delay = int(delay) if reference else math.ceil(delay)
    twin = oracle.swlbsda.SWLBSDA(4, seed, window, reference)
    bandit = lb.Bandit(lb.SWLBSDA(window=window, reference=reference), 4, seed=seed)
    follow(bandit, twin, worlds.stalls(twin, seed), 3000)
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
PLAYED = {
    "LBSDA": {},
    "LBSDALM": {"minimum": 1, "offset": 50},
    "SWLBSDA": {"window": 429},
}


@pytest.mark.usefixtures("shared_records")
@pytest.mark.parametrize("reference", [False, True], ids=["paper", "reference"])
@pytest.mark.parametrize("scenario", mostly_trials(SCENARIOS, {"bernoulli-changes"}))
@pytest.mark.parametrize("name", PLAYED)
def test_simulated(name, scenario, reference):
    simulated_as_twin(name, scenario, **PLAYED[name], reference=reference)


@pytest.mark.parametrize("scenario", mostly_trials(SCENARIOS, {"gaussian-changes"}))
def test_lbsdagm_simulated(scenario):
    simulated_as_twin("LBSDAGM", scenario)


def simulated_as_twin(name, scenario, **parameters):
    make_policy, make_twin = TWINS[name]
    environment = SCENARIOS[scenario]
    played = lb.trace(make_policy(**parameters), environment, horizon=10_000, seed=2021)
    follow_trace(played, make_twin(environment.n_arms, 2021, **parameters))
