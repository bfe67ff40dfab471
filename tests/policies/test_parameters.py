"""Parameters of the three policies and of environments: converted, checked, kept."""

import numpy as np
import pytest

import lastblock as lb
from lastblock.core.layout import room_for, state_dtype


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: lb.LBSDALM(minimum=0), "LBSDALM: minimum=0 must lie between 1 and"),
        (lambda: lb.LBSDALM(minimum=-5), "LBSDALM: minimum=-5 must lie"),
        (lambda: lb.LBSDALM(minimum=2**70), "LBSDALM: minimum=.* must lie"),
        (lambda: lb.LBSDALM(scale=-1.0), "LBSDALM: scale=-1.0 must lie between 0 and"),
        (lambda: lb.LBSDALM(scale=1e17), "LBSDALM: scale=1e.17 must lie"),
        (lambda: lb.LBSDALM(scale=1e300), "LBSDALM: scale=1e.300 must lie"),
        (lambda: lb.LBSDALM(scale=1e6), "LBSDALM: scale=1000000.0 would keep"),
        (lambda: lb.LBSDALM(scale=float("nan")), "LBSDALM: scale=nan must be finite"),
        (lambda: lb.LBSDALM(scale="2"), "LBSDALM: scale='2' must be a number"),
        (lambda: lb.LBSDALM(scale=True), "LBSDALM: scale=True must be a number"),
        (lambda: lb.LBSDALM(offset=2**63 - 1), "LBSDALM: offset=.* must lie"),
        (lambda: lb.SWLBSDA(window=1), "SWLBSDA: window=1 must lie between 2 and"),
        (lambda: lb.SWLBSDA(window=4.5), "SWLBSDA: window=4.5 must be a whole number"),
        (lambda: lb.SWLBSDA(window=True), "SWLBSDA: window=True must be a whole number"),
        (lambda: lb.LBSDA(reference=1), "LBSDA: reference=1 must be True or False"),
        (lambda: lb.Bernoulli("0.5"), "Bernoulli: mean='0.5' must be a number"),
        (lambda: lb.Discrete(1, 1), "Discrete: values=1 must be a list"),
        (lambda: lb.Discrete("12", [0.5, 0.5]), "Discrete: values='12' must be a list"),
        (lambda: lb.Table(0.5), "Table: values=0.5 must be a list"),
        (lambda: lb.Stationary(3), "arms=3 must be a list of arms"),
        (lambda: lb.Stationary(lb.Bernoulli(0.5)), r"arms=.*0.5\) is a single arm; give a list of"),
        (lambda: lb.Piecewise({0: lb.Gaussian(0)}), r"phases\[0\]=.* is a single arm; give a list"),
        (lambda: lb.Drifting(lb.Gaussian(0), []), "arms=.* is a single arm; give a list of arms"),
        (lambda: lb.state_size(lb.UCB1, 3), r"policy=UCB1 is a class; give an instance: UCB1\(…"),
        (lambda: lb.state_size("ucb", 3), "policy='ucb' is not a policy"),
        (lambda: lb.Stationary([lb.Dirac(1e308), lb.Dirac(0.0)]), "has a mean beyond 1e.290"),
        (lambda: lb.Piecewise({0: None}), r"phases\[0\]=None must be a list"),
        (
            lambda: lb.Drifting([lb.Dirac(0.0)] * 2, means=lb.Sinusoid(0.0, 1.0, 9.0)),
            "must be a list of paths",
        ),
    ],
)
def test_errors_name_the_argument(make, message):
    with pytest.raises(ValueError, match=message):
        make()


def test_numpy_scalars_are_numbers():
    policy = lb.LBSDALM(minimum=np.int32(7), scale=np.float32(0.5))
    assert policy == lb.LBSDALM(minimum=7, scale=0.5)
    assert type(policy.minimum) is int
    assert lb.SWLBSDA(window=np.int64(9))._replace(window=10).window == 10
    with pytest.raises(ValueError, match="window=0"):
        lb.SWLBSDA(window=9)._replace(window=0)


def test_arms_keep_their_own_numbers():
    values = [0.0, 1.0]
    arm = lb.Discrete(values, np.array([0.5, 0.5]))
    values[1] = float("nan")
    assert arm.mean == 0.5
    assert arm == lb.Discrete((0.0, 1.0), (0.5, 0.5))
    assert hash(arm)


@pytest.mark.parametrize("arms", [2, 3, 5, 9, 17, 33, 100])
def test_memory_of_a_billion_rounds(arms):
    simulated = state_dtype(lb.LBSDALM(), arms).itemsize
    assert simulated / arms < 5 * 1024
    live = lb.state_size(lb.LBSDALM(), arms=arms)
    assert live / room_for(arms) < 4.3 * 1024  # an arm, used or spare
    assert live < 2 * simulated


def test_a_name_can_be_taken_once():
    def steal():
        from typing import NamedTuple  # noqa: PLC0415  # as a user's module would

        @lb.policy()
        class LBSDA(NamedTuple):
            x: int = 0

            layout, start, plan = lb.LBSDA.layout, lb.LBSDA.start, lb.LBSDA.plan
            observe = lb.LBSDA.observe

    with pytest.raises(ValueError, match="LBSDA is the name of"):
        steal()


def test_a_history_that_cannot_fit():
    env = lb.Stationary([lb.Dirac(0.0), lb.Dirac(1.0)])
    with pytest.raises(ValueError, match="choose a shorter horizon or a policy of bounded memory"):
        lb.simulate(lb.LBSDA(), env, horizon=10**13)
    for horizon in (2**70, -1, 1):
        with pytest.raises(ValueError, match="horizon="):
            lb.simulate(lb.LBSDALM(), env, horizon=horizon)
    for environment in (None, [lb.Dirac(0.0)], lb.Stationary):
        with pytest.raises(ValueError, match="is not an environment"):
            lb.simulate(lb.LBSDALM(), environment, horizon=10)
