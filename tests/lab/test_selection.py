"""Differences from the policy with the smallest mean, which the same numbers have chosen."""

import numpy as np
import pandas as pd
import pytest
from scipy import stats

from lastblock.lab.statistics import differences
from made_results import made_result

TRIALS = 100
REPLICATIONS = 40
ERROR = np.sqrt(0.05 * 0.95 / TRIALS)
"""Of a share of 5 % of the trials."""


def result_of(table, **more):
    """A result with a policy for each column."""
    return made_result({f"p{k}": column for k, column in enumerate(table.T)}, **more)


def trial(rng, policies, gaps=0.0):
    """Regrets on common draws: skewed luck that all share, and noise of unlike sizes."""
    luck = rng.gamma(2.0, 5.0, size=(REPLICATIONS, 1))
    noise = rng.normal(0.0, np.linspace(1.0, 3.0, policies), (REPLICATIONS, policies))
    return luck + noise + gaps


@pytest.mark.parametrize(
    "policies",
    [3, pytest.param(10, marks=pytest.mark.trial), pytest.param(20, marks=pytest.mark.trial)],
)
def test_equal_policies_seldom_differ_significantly(policies):
    """The family-wise error: some difference is significant in 5 % of the trials at most.

    With Holm's method for the rows alone it is 7, 14 and 24 % of them. And in all the others every
    interval covers the truth, 0.
    """
    rng = np.random.default_rng(policies)
    alarms = covered = careless = 0
    for _ in range(TRIALS):
        result = result_of(trial(rng, policies))
        frame = differences(result)
        alarms += frame["significant"].any()
        covered += ((frame["low"] <= 0.0) & (frame["high"] >= 0.0)).all()
        named = differences(result, frame["baseline"].iloc[0])
        careless += named["significant"].any()
    assert alarms / TRIALS < 0.05 + 3 * ERROR
    assert covered / TRIALS > 0.95 - 3 * ERROR
    if policies == 20:
        assert careless / TRIALS > 0.05 + 3 * ERROR  # what this is about


def test_p_values_are_holms_for_all_pairs():
    table = trial(np.random.default_rng(3), 4, np.array([0.0, 0.3, 1.0, 2.0]))
    frame = differences(result_of(table))
    base = table.mean(axis=0).argmin()
    pairs = [(i, j) for i in range(4) for j in range(i)]
    raw = {pair: stats.ttest_rel(*table.T[list(pair)]).pvalue for pair in pairs}
    ordered = sorted(raw.values())
    adjusted = dict(
        zip(ordered, np.maximum.accumulate(np.array(ordered) * range(6, 0, -1)), strict=True)
    )
    others = [k for k in range(4) if k != base]
    expected = [min(1.0, adjusted[raw[max(k, base), min(k, base)]]) for k in others]
    assert list(frame["p"]) == pytest.approx(expected)
    assert (frame["adjusted"] == "all pairs").all()
    gaps = table[:, others] - table[:, [base]]
    reach = stats.t.isf(0.025 / 6, REPLICATIONS - 1) * stats.sem(gaps)
    assert list(frame["high"]) == pytest.approx(list(gaps.mean(axis=0) + reach))


def test_two_policies_are_one_pair():
    """There is nothing to choose but the sign."""
    result = result_of(trial(np.random.default_rng(4), 2))
    ours = differences(result)
    named = differences(result, ours["baseline"].iloc[0])
    columns = ["policy", "difference", "se", "low", "high", "p", "significant"]
    pd.testing.assert_frame_equal(ours[columns], named[columns])
    assert set(named["adjusted"]) == {"these rows"}


def test_results_of_several_seeds_and_lengths():
    rng = np.random.default_rng(6)
    results = [result_of(trial(rng, 3), name="a"), result_of(trial(rng, 2)[:25], name="b")]
    results.append(result_of(trial(rng, 3), seed=2, name="c"))
    frame = differences(results)
    assert len(frame) == 7
    assert not frame["p"].isna().any()
    assert (frame["low"] <= frame["difference"]).all()
    assert not frame["significant"].any()
