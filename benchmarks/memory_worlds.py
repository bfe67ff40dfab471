"""The worlds of the frontier of regret and memory, and the policies that are played there."""

import math
from typing import NamedTuple

import numpy as np

import lastblock as lb
from lastblock.core.duels import clear_duels, is_owed, update_leader
from lastblock.core.marks import clear_marks, take_in
from lastblock.core.registry import policy
from lastblock.core.rounds import enqueue, enqueue_all, shuffle
from lastblock.policies.lbsdagm import wins_duel

GEOMETRIC = "LB-SDA-GM"
THOMPSON = "Thompson sampling"


class World(NamedTuple):
    """Arms that stay as they are, for so long and so often."""

    title: str
    arms: list
    horizon: int
    replications: int
    family: str | None = "bernoulli"
    """For the policies that must be told it; None if they know none that suits."""
    largest: float | None = None
    """The largest reward, or one that is hardly ever passed: for policies that take coins only."""
    oblige: bool = False
    """Whether to try stronger sampling obligations."""


def bernoulli(*means):
    return [lb.Bernoulli(mean) for mean in means]


@policy(shift_invariant=True, scale_invariant=True)
class Obliged(NamedTuple):
    """LB-SDA-GM with another sampling obligation: an arm is owed (scale · log r)^power pulls."""

    scale: float
    power: float
    marks: int = 8

    @classmethod
    def examples(cls):
        return (cls(1.0, 1.0),)

    def layout(self, arms, horizon):
        return lb.LBSDAGM(self.marks).layout(arms, horizon)

    def start(self, s):
        clear_duels(s)
        for k in range(s.sums.shape[0]):
            s.block_sum[k] = 0.0
        clear_marks(s.marks)
        enqueue_all(s)
        shuffle(s)

    def plan(self, s):
        pulls = s.marks.written
        leader = update_leader(s, pulls, False)
        s.limit = math.floor((self.scale * math.log(s.round)) ** self.power)
        for k in range(s.arms):
            if k != leader and (is_owed(s, pulls, k) or wins_duel(s, k, leader, 0)):
                enqueue(s, k)
        if s.queued == 0:
            enqueue(s, leader)
        shuffle(s)

    def observe(self, s, arm, reward):
        take_in(s.marks, s.sums, arm, reward, 0)


def worlds() -> dict[str, list[World]]:
    spread = [0.02 + 0.001 * k for k in range(9)] + [0.04]
    revenue = [  # most visits bring nothing, a few bring a lot
        lb.Discrete([0.0, 10.0, 100.0, 2000.0], [1.0 - 1.1 * p - p / 100, p, p / 10, p / 100])
        for p in (0.02, 0.03)
    ]
    return {
        "paper": [World(".05 / .15", bernoulli(0.05, 0.15), 10**4, 20_000, oblige=True)],
        "clicks": [
            World(".001 / .002", bernoulli(0.001, 0.002), 10**5, 20_000),
            World(".02 / .03", bernoulli(0.02, 0.03), 10**5, 20_000),
            World(".05 / .055", bernoulli(0.05, 0.055), 10**5, 4000),
            World(".05 / .1", bernoulli(0.05, 0.1), 10**4, 20_000),
        ],
        "close": [World(".5 / .51", bernoulli(0.5, 0.51), 10**5, 4000)],
        "long": [
            World(".02 / .03", bernoulli(0.02, 0.03), 10**6, 400),
            World(".02 / .03", bernoulli(0.02, 0.03), 10**7, 40),
        ],
        "exponential": [
            World(
                "exponential .5 .4 .3 .2",
                [lb.Exponential(mean) for mean in (0.5, 0.4, 0.3, 0.2)],
                10**4,
                20_000,
                "exponential",
                6.0,  # passed by one reward of mean ½ in 160 000
                oblige=True,
            )
        ],
        "gaussian": [
            World(
                "Gaussian 0 .2 .4 .6 1",
                [lb.Gaussian(mean) for mean in (0.0, 0.2, 0.4, 0.6, 1.0)],
                10**4,
                20_000,
                "gaussian",
                oblige=True,
            )
        ],
        "tails": [World("revenue, tail to 2000", revenue, 10**5, 2000, None, 2000.0, oblige=True)],
        "ten": [World("ten arms, .02 to .04", bernoulli(*spread), 10**5, 1000)],
        "hundred": [
            World(
                "100 arms, .01 to .05",
                bernoulli(*np.linspace(0.01, 0.045, 99).tolist(), 0.05),
                10**5,
                200,
            )
        ],
    }


def policies(world: World) -> dict:
    found = {
        "LB-SDA": lb.LBSDA(),
        "LB-SDA-LM": lb.LBSDALM(),
        "LB-SDA-LM, (log r)² + 50": lb.LBSDALM(offset=50),  # the paper's experiment
        "LB-SDA-LM, M = 64, C = 0": lb.LBSDALM(minimum=64, scale=0.0),
        "LB-SDA-LM, M = 2000, C = 0": lb.LBSDALM(minimum=2000, scale=0.0),
    }
    for marks in (4, 6, 8, 16, 32):
        found[f"{GEOMETRIC}, {marks} marks"] = lb.LBSDAGM(marks)
    for block in ("long", "short"):
        found[f"{GEOMETRIC}, 8 marks, {block}"] = lb.LBSDAGM(8, block)
    if world.oblige:
        for scale, power in [(1.0, 0.75), (0.5, 1.0), (1.0, 1.0), (2.0, 1.0)]:
            found[f"{GEOMETRIC}, obligation ({scale:g} log r)^{power:g}"] = Obliged(scale, power)
    if world.family is not None:
        found["kl-UCB"] = lb.KLUCB(family=world.family)
        if world.family == "gaussian":
            found[THOMPSON] = lb.Thompson(family="gaussian", sigma=1.0, prior_sigma=1.0)
        elif world.family == "bernoulli":
            found[THOMPSON] = lb.Thompson()
    if world.largest is not None:
        found[f"{THOMPSON}, binarized"] = coins(lb.Thompson(), world.largest)
        if world.family is None:
            found["kl-UCB, binarized"] = coins(lb.KLUCB(), world.largest)
    return found


def coins(inside, largest: float):
    return lb.Binarized(inside, 0.0, largest, clip=True)


def tails() -> list[tuple[World, dict]]:
    """Return worlds and policies for 99.9 % quantiles, with many replications.

    LB-SDA and LB-SDA-GM only. T = 10⁶ and 10⁷, heavy tails, ten and a hundred arms would take long.
    """
    named = worlds()
    paper, rare, clicks, near, double = *named["paper"], *named["clicks"]
    many = [
        (double, 200_000),
        (paper, 200_000),
        (*named["gaussian"], 100_000),
        (*named["exponential"], 100_000),
        (clicks, 40_000),
        (rare, 40_000),
        (near, 40_000),
        (*named["close"], 40_000),
    ]
    chosen = {
        "LB-SDA": lb.LBSDA(),
        **{f"{GEOMETRIC}, {marks} marks": lb.LBSDAGM(marks) for marks in (4, 8, 16, 32)},
    }
    return [(world._replace(replications=n), chosen) for world, n in many]
