"""The recipe of random problems."""

from itertools import pairwise

import numpy as np
import pytest
from benchmarks.suite.problems import (
    ARMS,
    EACH,
    HALVES,
    KINDS,
    LEAD,
    LONGEST,
    SHORTEST,
    calm_problems,
    count,
    further_problem,
    problem,
)

from lastblock.environments.drifting import Drifting


@pytest.fixture(scope="module")
def half():
    return [problem(i) for i in range(count())]


def levels(environment):
    return [np.array([arm.mean for arm in arms]) for arms in environment.phases]


def test_numbers_and_sizes(half):
    assert len(HALVES) * count() >= 100
    assert sorted(made.kind for made in half) == sorted(list(KINDS) * EACH)
    assert len({made.title for made in half}) == count()
    assert len({made.seed for made in half}) == count()
    for made in half:
        assert SHORTEST <= made.horizon <= LONGEST
        assert made.environment.n_arms in ARMS
        changes = made.environment.changes
        assert all(0 < t < made.horizon for t in changes)
        if not isinstance(made.environment, Drifting):
            assert made.changes == len(changes)


def test_the_halves_stay_as_they_were():
    """What was published about a half belongs to these problems."""
    assert [problem(0, half).horizon for half in HALVES] == [33704, 84317, 23167, 10948, 6463]
    assert [problem(0, half).seed for half in HALVES] == [0, 4000, 1000, 2000, 3000]


def test_further_problems_belong_to_no_half():
    found = {further_problem(i, seed).horizon for i in range(5) for seed in (10, 11)}
    assert len(found) == 10
    assert not found & {problem(i, half).horizon for i in range(5) for half in HALVES}
    assert further_problem(64, 10).kind == problem(4).kind


def test_kinds_are_what_they_say(half):
    for made in half:
        if isinstance(made.environment, Drifting):
            assert made.kind in ("slow", "fast", "walk")
            continue
        phases = levels(made.environment)
        best = [int(np.argmax(means)) for means in phases]
        if made.kind == "stationary":
            assert len(phases) == 1
        for (old, new), (was, now) in zip(pairwise(phases), pairwise(best), strict=True):
            if made.kind == "rise":
                assert now != was
                assert new[was] == old[was]
                assert np.count_nonzero(new != old) == 1
            elif made.kind == "fall":
                assert now != was
                assert np.count_nonzero(new != old) == 1
                assert new[was] < old[was]
            elif made.kind == "irrelevant":
                assert now == was
                assert new[was] == old[was]
                assert np.count_nonzero(new != old) == len(new) - 1
            elif made.kind == "single":
                assert np.count_nonzero(new != old) == 1
            elif made.kind == "variance":
                assert np.array_equal(new, old)
            else:
                assert np.all(new != old)


def test_the_best_arm_leads(half):
    for made in half:
        if made.kind in ("stationary", "few", "many", "variance", "tails"):
            for means in levels(made.environment):
                top = np.sort(means)
                # The levels' range is what the family makes of [0, 1]; the worst arm is above 0.
                assert top[-1] - top[-2] >= LEAD * (top[-1] - top[0]) * (1 - 1e-9)


def test_calm_problems_never_change():
    problems = calm_problems()
    assert len(problems) == 7
    for environment in problems.values():
        assert environment.changes == ()
        assert environment.n_arms == 3


@pytest.mark.parametrize(
    ("make", "index", "half", "message"),
    [
        (problem, -1, "test", "index=-1 must lie between 0 and 59"),
        (problem, 60, "test", "index=60 must lie between 0 and 59"),
        (problem, 0, "both", "half='both' must be one of 'development', 'test'"),
        (further_problem, 0, 2, "seed=2 must be 10 or more; the halves have the others"),
        (further_problem, -1, 10, "index=-1 must not be negative"),
    ],
)
def test_no_such_problem(make, index, half, message):
    with pytest.raises(ValueError, match=message):
        make(index, half)
