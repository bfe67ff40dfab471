"""Every change detector and every arm family meets every check."""

import pytest

import lastblock as lb
from lastblock.testing import DETECTOR_CHECKS, check_detector, check_family
from lastblock.testing.detectors import exact_alarms
from lastblock.testing.families import exact_rewards
from lastblock.testing.without_jit import work_without_jit
from trials import trial

DETECTORS = [lb.ADWIN(), lb.GLR(delta=0.5), lb.MeanShift(), lb.PageHinkley(), lb.RBOCPD()]
ARMS = [
    lb.Bernoulli(0.05),
    lb.Beta(0.5, 0.7),
    lb.Dirac(-3.0),
    lb.Discrete([1.0, -2.0, 7.5], [0.2, 0.5, 0.3]),
    lb.Exponential(2.5),
    lb.Gaussian(3.0, 0.5),
    lb.Poisson(2.0),
    lb.Poisson(40.0),
    lb.TruncatedGaussian(0.5, 0.1),
]
RESTARTERS = lb.GLR, lb.MeanShift
JIT = "jit_changes_nothing"  # one process serves all, below
RESTARTS = "it_restarts_a_policy"


def test_none_is_left_out():
    assert {type(detector).__name__ for detector in DETECTORS} == set(lb.DETECTORS)
    assert {type(arm).__name__ for arm in ARMS} == set(lb.FAMILIES)


@pytest.mark.parametrize("detector", DETECTORS, ids=repr)
def test_detector(detector):
    skip = {JIT} if isinstance(detector, RESTARTERS) else {JIT, RESTARTS}
    check_detector(detector, skip=skip, progress=False)


@trial
@pytest.mark.parametrize("detector", DETECTORS, ids=repr)
def test_any_detector_restarts_a_policy(detector):
    DETECTOR_CHECKS[RESTARTS](detector)


@pytest.mark.parametrize("arm", ARMS, ids=repr)
def test_arm(arm):
    check_family(arm, skip={JIT}, progress=False)


@pytest.mark.parametrize(
    ("work", "subjects"),
    [(exact_alarms, DETECTORS), (exact_rewards, ARMS)],
    ids=["detectors", "arms"],
)
def test_jit_changes_nothing(work, subjects):
    assert work(subjects) == work_without_jit(work, subjects)
