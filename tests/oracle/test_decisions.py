"""Every policy takes its naive twin's decisions, one by one, whatever the rewards are like."""

from itertools import cycle, product

import pytest

import lastblock as lb
from oracle import worlds
from oracle.twin import twins
from oracle.worlds import jumps, play, regimes, steps
from trials import short_and_long

GAUSSIAN = {"family": "gaussian", "sigma": 0.5}
FAMILIES = [GAUSSIAN, {"family": "poisson"}, {"family": "exponential"}]
PRIOR = {"prior_mean": 0.7, "prior_sigma": 0.4}
MORE = [
    *(
        make(**parameters, **family)
        for make, parameters in [
            (lb.KLUCB, {"c": 0.3}),
            (lb.SWKLUCB, {"window": 7}),
            (lb.DKLUCB, {"discount": 0.97, "c": 2.0}),
            (lb.IMED, {}),
            (lb.MED, {}),
            (lb.KLUCBPlusPlus, {"horizon": 150}),
            (lb.GLRKLUCB, {"exploration": 0.1, "delta": 0.5}),
            (lb.TrackAndStop, {}),
            (lb.LUCB, {"confidence": 0.99, "practical": True}),
        ]
        for family in FAMILIES
    ),
    *(
        make(**parameters, **PRIOR, **family)
        for make, parameters in [
            (lb.Thompson, {}),
            (lb.DiscountedThompson, {"discount": 0.9}),
            (lb.SlidingWindowThompson, {"window": 25}),
            (lb.TopTwoThompson, {"beta": 0.2, "redraws": 1}),
        ]
        for family in FAMILIES
    ),
    *(lb.DirichletSampling("bounded", 1.5, 0.25), lb.DirichletSampling("known", upper=20.0)),
    *(lb.UCBV(0.5, 0.1, 2.0), lb.AnytimeMOSS(0.5, 1.0), lb.MOSS(10**6, 0.3), lb.UCBTuned(2.0)),
    *(lb.SWUCB(5, 0.2), lb.SWUCB(60, reference=True), lb.DUCB(0.5, 0.1)),
    lb.CUSUMUCB(4.0, 0.0, warmup=20, scale=2.0),
    *(lb.AdSwitch(3, 0.7), lb.RAWUCB(all_windows=True, alpha=4.0), lb.FEWA(0.3, 4.0, True)),
    *(lb.BayesUCB(**GAUSSIAN, prior_sigma=0.8), lb.LUCB(sigma=1.5), lb.LUCB("bernoulli")),
    *(lb.SlidingWindowThompson(1), lb.DiscountedThompson(1.0)),
    *(lb.EpsilonGreedy(0.0), lb.DiscountedEpsilonGreedy(0.5, 0.0), lb.GradientBandit(0.7, 0.9)),
    *(
        lb.Softmax(0.5, 0.5, 0.9),
        lb.REXP3(0.5, 1),
        lb.EXP3S(0.9, 0.9),
        lb.EXP3S(0.1, 0.01, False, True),
    ),
    *(lb.Binarized(lb.LBSDA(), -1.0, 0.75, clip=True), lb.Binarized(lb.LBSDA(), -2.0, 2.0)),
    *(lb.OracleRestart(lb.LBSDA(), (1, 30 + i, 100, 101)) for i in range(5)),
    *(lb.SSMC(0.0), lb.Giro(1.0), lb.NPTS(1.0), lb.PHE(2.0), lb.TsallisINF(False)),
    *(lb.Master(lb.UCB1(), 0.1, fall=1.5), lb.Master(lb.UCB1(), 0.02, 1.0, 1e6)),
]
TWINNED = [cls for name, cls in lb.POLICIES.items() if name != "BestArm"]
EXAMPLES = {repr(each): each for cls in TWINNED for each in cls.examples()}
POLICIES = {**EXAMPLES, **{repr(each): each for each in MORE}}
SHORT = {"AdSwitch": 100, "AdaptiveLBSDA": 150, "GradientBandit": 80, "TrackAndStop": 80}
"""The decisions of a twin that is very slow."""


def test_every_policy_has_a_twin():
    assert {cls.__name__ for cls in TWINNED} == set(twins())


# In the short form each kind of rewards is played with one of the sizes; and with policies that
# are no examples every other kind.
@short_and_long("sizes", None, [(2, 300), (3, 300), (4, 300), (5, 60), (7, 40)])
@pytest.mark.parametrize("name", POLICIES, ids=list(POLICIES))  # by which policies are grouped
def test_same_decisions(name, sizes):
    policy, kinds = POLICIES[name], worlds.kinds_for(POLICIES[name])
    some = list(zip(kinds, cycle([(2, 120), (3, 100), (4, 120), (5, 30)]), strict=False))
    if name not in EXAMPLES:
        some = some[len(name) % 2 :: 2]
    for seed, (kind, (arms, most)) in enumerate(some if sizes is None else product(kinds, sizes)):
        if arms <= getattr(policy, "window", arms):  # a window has room for all arms
            play(policy, kind, arms, min(most, SHORT.get(type(policy).__name__, most)), seed)


def glr(**parameters):
    return lb.GLRKLUCB(**{"exploration": 0.1, "delta": 0.5, **parameters})


GROWING = {"growing": True, "factor": 1.0}
NORMAL = {"family": "gaussian"}
PROMPT, SHIFT = lb.GLR(delta=0.01), lb.MeanShift()
COINS, NORMALS = lb.Thompson(), lb.Thompson("gaussian")
HAPPENS = [
    (lb.CUSUMUCB(2.0, 0.1, warmup=5), regimes, 3, 200, "restarts"),
    (lb.MUCB(20, 4.2, 0.3), regimes, 3, 300, "restarts"),
    (lb.AdSwitch(20, 0.5), worlds.contrasts, 3, 300, "evictions checks episodes"),
    (lb.Master(lb.UCB1(), 0.1, fall=1.5), worlds.turning, 3, 500, "restarts"),
    (lb.Master(lb.UCB1(), 0.02, 1.0, 1e6), worlds.turning, 3, 900, "restarts"),
    (glr(), jumps, 2, 600, "alarms"),
    (glr(local=False), jumps, 2, 600, "alarms"),
    (glr(exploration=0.05, delta=0.01), jumps, 4, 600, "alarms"),
    (glr(exploration=0.0, delta=0.99), jumps, 3, 400, "alarms"),
    (glr(exploration=0.9, delta=0.3, c=0.5), jumps, 3, 400, "alarms"),
    (glr(**NORMAL), steps, 3, 400, "alarms"),
    (glr(**NORMAL, local=False), steps, 4, 400, "alarms"),
    (glr(family="exponential"), worlds.lifetimes, 3, 500, "alarms"),
    (glr(**GROWING), jumps, 3, 600, "alarms"),
    (glr(**GROWING, local=False), jumps, 2, 600, "alarms"),
    (glr(**GROWING, exploration=0.4), jumps, 4, 600, "alarms"),  # all pulls are forced
    (glr(exploration=1.0, diminishing=True), jumps, 3, 600, "alarms"),
    (glr(diminishing=True, local=False), jumps, 4, 600, "alarms"),
    (glr(**GROWING, all_splits=True), jumps, 3, 500, "alarms"),
    (glr(**NORMAL, all_splits=True), steps, 3, 400, "alarms"),
    # One long stretch without a change, then one: the splits on high rungs must be right.
    (glr(exploration=0.0, delta=0.2), worlds.one_rise, 2, 1700, ""),
    (lb.Restarting(NORMALS, SHIFT), jumps, 3, 500, "noticed"),
    (lb.Restarting(NORMALS, SHIFT, 2.0), steps, 3, 500, "noticed"),
    (lb.Restarting(NORMALS, SHIFT, 0.0), worlds.risers, 3, 500, ""),
    (lb.Restarting(COINS, PROMPT), jumps, 3, 500, "noticed"),
    # Turns of all arms, as in detection-augmented learning; then every decision is one.
    (lb.Restarting(COINS, PROMPT, 0.0, 0.05), jumps, 3, 500, "noticed"),
    (lb.Restarting(COINS, PROMPT, 0.0, 0.7), jumps, 3, 500, "noticed"),
    # LB-SDA plays rounds of several arms; it begins again in the middle of one.
    (lb.Restarting(lb.LBSDA(), lb.MeanShift(1.0), 1.0), jumps, 3, 600, "noticed"),
    *(
        (lb.AdaptiveLBSDA(alertness), kind, arms, 500, f"{happens} {probes}")
        for alertness, probes in [(0.075, ""), (1.0, "probes")]
        for kind, arms, happens in [
            (jumps, 3, "noticed doubts"),
            (steps, 3, "noticed"),
            (worlds.risers, 3, ""),
            (worlds.tails, 2, "clips doubts"),
            (worlds.outliers, 3, "clips"),
        ]
    ),
    (lb.AdaptiveLBSDA(), worlds.even(), 2, 1900, "full"),
    # Weights pass every bound many times over.
    (lb.EXP3(0.9), worlds.always, 2, 1500, ""),
    (lb.EXP3S(0.9, 1e-3), worlds.always, 2, 1200, ""),
    *(
        (lb.EXP3S(gamma, 1e-3, reference, not reference), kind, 3, 2000, "")
        for kind, gamma in [(worlds.losses, 0.9), (worlds.huge, 0.01)]
        for reference in (False, True)
    ),
    *(
        (lb.EXP3S(0.2, 0.001, reference=True), worlds.either(*values), 3, 1000, "")
        for values in [(-20.0, -100.0), (1e4, -1e4), (1e280, -1e280), (-1.0, -1e280)]
    ),
]


@pytest.mark.parametrize(
    ("policy", "kind", "arms", "decisions", "happens"),
    HAPPENS,
    ids=lambda x: getattr(x, "__name__", None) or repr(x),
)
def test_what_a_change_does(policy, kind, arms, decisions, happens):
    """Decisions and remembered changes are the twin's; and the test would mean little otherwise."""
    bandit, twin = play(policy, kind, arms, decisions, seed=8)
    for name in happens.split():
        assert getattr(twin, name), name
    for change, expected in zip(bandit.changes, getattr(twin, "noticed", [])[-8:], strict=True):
        assert tuple(change) == pytest.approx(expected, rel=1e-9, abs=1e-9)
