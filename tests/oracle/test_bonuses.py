"""The policies with other bonuses than UCB1's take their twins' decisions, one by one."""

import math

import pytest
from scipy.special import betainccinv

import lastblock as lb
import oracle.bayesucb
import oracle.klucb
import oracle.ucb
from lastblock.policies._beta_quantiles import beta_quantile_above
from oracle.test_klucb import shares
from oracle.worlds import World, bernoulli, constant, gaussian, play, small_integers

ANY = [(constant, 4, 6), (gaussian, 2, 5), (small_integers, 3, 8)]
UNIT = [(bernoulli, 4, 2), (shares, 3, 3)]
GAUSSIAN = {"family": "gaussian", "sigma": 0.5}
CASES = [
    (oracle.ucb, "MOSS", {"horizon": 150}, ANY),
    (oracle.ucb, "MOSS", {"horizon": 10**6, "scale": 0.3}, ANY[:1]),
    (oracle.ucb, "AnytimeMOSS", {}, ANY),
    (oracle.ucb, "UCBV", {}, ANY),
    (oracle.ucb, "UCBV", {"zeta": 0.5, "c": 0.1, "range": 2.0}, ANY[1:]),
    (oracle.ucb, "UCBTuned", {}, ANY),
    (oracle.ucb, "POKER", {"horizon": 120}, ANY),
    (oracle.klucb, "KLUCBPlusPlus", {"horizon": 150}, UNIT),
    (oracle.klucb, "KLUCBPlusPlus", {"horizon": 150, **GAUSSIAN}, ANY[1:]),
    (oracle.bayesucb, "BayesUCB", {}, UNIT),
    (oracle.bayesucb, "BayesUCB", {**GAUSSIAN, "prior_sigma": 0.8}, ANY[1:]),
]


@pytest.mark.parametrize(
    ("twins", "name", "parameters", "worlds"),
    CASES,
    ids=[f"{name}-{parameters}" for _, name, parameters, _ in CASES],
)
def test_same_decisions(twins, name, parameters, worlds):
    for kind, arms, seed in worlds:
        twin = getattr(twins, name)(arms, seed, **parameters)
        play(lb.POLICIES[name](**parameters), twin, World(kind, arms, seed), 150, seed)


@pytest.mark.parametrize("wins", [0, 1, 7, 300, 20_000])
@pytest.mark.parametrize("losses", [0, 3, 40, 9000])
def test_beta_quantiles_are_scipys(wins, losses):
    for t in (3.0, 50.0, 1e4, 1e9):
        x, slope = beta_quantile_above(1.0 + wins, 1.0 + losses, math.log(t))
        assert x == pytest.approx(betainccinv(1.0 + wins, 1.0 + losses, 1.0 / t), rel=1e-9)
        # The slope is the derivative by log t, by which bounds are ruled out.
        further = betainccinv(1.0 + wins, 1.0 + losses, 1.0 / (t * 1.001))
        assert further <= x + slope * math.log(1.001) * (1.0 + 1e-6) + 1e-12
