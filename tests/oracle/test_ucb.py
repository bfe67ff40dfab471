"""The UCB policies and their naive twins take the same decisions, one by one."""

import pytest

import lastblock as lb
import oracle.ucb
from oracle.worlds import (
    World,
    bernoulli,
    constant,
    gaussian,
    play,
    regimes,
    small_integers,
)

# Windows below 64 share their compilations.
WORLDS = [
    (bernoulli, 2, 1),
    (bernoulli, 4, 2),
    (small_integers, 3, 3),
    (gaussian, 3, 5),
    (constant, 4, 6),
    (regimes, 4, 8),
]
PARAMETERS = {
    "UCB1": [{}, {"scale": 1.5}],
    "SWUCB": [{"window": 40}, {"window": 5, "scale": 0.2}, {"window": 60, "reference": True}],
    "DUCB": [{"discount": 0.97}, {"discount": 0.5, "scale": 0.1}, {"discount": 1.0}],
    "CUSUMUCB": [
        {"threshold": 2.0, "exploration": 0.1, "warmup": 5},
        {"threshold": 0.7, "exploration": 0.4, "drift": 0.1, "warmup": 1},
        {"threshold": 4.0, "exploration": 0.0, "warmup": 20, "scale": 2.0},
    ],
    "MUCB": [
        {"window": 20, "threshold": 4.2, "exploration": 0.3},
        {"window": 2, "threshold": 0.7, "exploration": 1.0},
        {"window": 40, "threshold": 6.1, "exploration": 0.05, "scale": 0.5},
        {"window": 20, "threshold": 4.2, "exploration": 1.0, "diminishing": True},
    ],
    "RAWUCB": [{}, {"sigma": 0.1, "alpha": 4.0}, {"all_windows": True}],
    "FEWA": [{}, {"sigma": 0.3, "alpha": 4.0}, {"all_windows": True}],
    "AdSwitch": [{"horizon": 50, "eviction": 2.0}, {"horizon": 3, "eviction": 0.7}],
}
CASES = [
    pytest.param(name, parameters, *world, id=f"{name}{i}-{world[0].__name__}-{world[1]}")
    for name, choices in PARAMETERS.items()
    for i, parameters in enumerate(choices)
    for world in WORLDS
]


def contrasts(rng, levels, t, arm):
    """Arms far apart, which change places now and then."""
    return 4.0 * ((arm + t // 75) % len(levels)) + rng.randint(0, 1) / 2


def follow(name, parameters, kind, arms, seed, horizon):
    """Play both; the twin tells what it has been through."""
    twin = getattr(oracle.ucb, name)(arms, seed, **parameters)
    return play(getattr(lb, name)(**parameters), twin, World(kind, arms, seed), horizon, seed)


@pytest.mark.parametrize(("name", "parameters", "kind", "arms", "seed"), CASES)
def test_decisions(name, parameters, kind, arms, seed):
    follow(name, parameters, kind, arms, seed, 100 if name == "AdSwitch" else 250)


@pytest.mark.parametrize("name", PARAMETERS)
def test_more_arms(name):
    follow(name, PARAMETERS[name][0], bernoulli, 5, 9, 120)


def test_cusum_restarts():
    assert follow("CUSUMUCB", PARAMETERS["CUSUMUCB"][0], regimes, 3, 10, 200).restarts > 0


def test_mucb_restarts():
    assert follow("MUCB", PARAMETERS["MUCB"][0], regimes, 3, 11, 300).restarts > 0


def test_adswitch_evicts_checks_and_starts_episodes():
    parameters = {"horizon": 20, "eviction": 0.5}
    twin = follow("AdSwitch", parameters, contrasts, 3, 12, 300)
    assert twin.evictions > 0
    assert twin.checks > 0
    assert twin.episodes > 1
