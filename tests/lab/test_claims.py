"""The paper's claims: seen only where the figures are significant."""

import numpy as np
import pytest

from lastblock.lab.paper.claims import CLAIMS, Claim, compare, judge
from lastblock.lab.scenario_files.reading import names, read
from made_results import made_result

SMALL, LARGE = 12, 4000


def claim(small="", large="", **more):
    return Claim("made", "…", tuple(small.split()), tuple(large.split()), **more)


def regrets(n=400, **means):
    """Policies with these mean regrets and a spread of 10, on common draws (half of the spread)."""
    rng = np.random.default_rng(7)
    luck = rng.normal(0, 7, n)
    noise = {label: rng.normal(0, 7, n) for label in means}
    centred = {label: x - x.mean() + luck - luck.mean() for label, x in noise.items()}
    return {label: mean + centred[label] for label, mean in means.items()}


def test_every_claim_is_about_policies_of_its_scenario():
    assert {each.scenario for each in CLAIMS} == set(names())
    for each in CLAIMS:
        assert {*each.small, *each.large} <= set(read(each.scenario).policies)


@pytest.mark.parametrize(
    ("one", "seen"),
    [
        (claim("a"), True),
        (claim("b"), False),
        (claim(large="c"), True),
        (claim(large="b"), False),
        (claim("b a"), True),
        (claim("a c"), False),
        (claim("a", "b"), True),
        (claim("b", "a"), False),
        (claim("a", most=0.92), True),
        (claim("a", most=0.9), False),  # the interval is on both sides of it
        (claim("b", "a", least=0.85, most=1.15), True),
        (claim("b", "a", least=0.9, most=1.1), False),
        (claim("a", "b", least=0.9, most=1.1), True),
        (claim("a", "b", least=0.92, most=1.1), False),
    ],
)
def test_significant_differences_decide(one, seen):
    assert judge(one, regrets(LARGE, a=100, b=110, c=120))[0] == seen


def test_few_replications_show_no_small_difference():
    close = claim("a", "b", least=0.96, most=1.04)
    for one in (claim("a"), claim(large="b"), claim("a", most=0.99), close):
        assert not judge(one, regrets(SMALL, a=100, b=101))[0]


def test_the_figures_are_of_the_closest_comparison():
    seen, figures = judge(claim("a"), regrets(a=100, b=120, c=110))
    assert seen
    assert figures.startswith("a 100.00 ± 0.46, c 110.00 ± 0.51: 90.9% [90.")


def test_bands():
    rng = np.random.default_rng(8)
    found = {"a": rng.normal(9, 3, 500), "b": rng.normal(9, 1, 500), "c": rng.normal(9, 1.1, 500)}
    seen, figures = judge(claim(large="a", widths=True), found)
    assert seen
    assert figures.startswith("c has a band of 1.")
    assert not judge(claim(large="c", widths=True), found)[0]
    del found["a"]
    few = {label: x[:8] for label, x in found.items()}
    assert not any(judge(claim(large=label, widths=True), few)[0] for label in few)


@pytest.mark.parametrize(
    "one", [claim("a"), claim("a", most=0.5), claim("a", "b", most=2.0), claim("a", widths=True)]
)
@pytest.mark.parametrize(
    "found",
    [
        {"a": [1.0], "b": [100.0]},
        {"a": [0.0, 0.0], "b": [0.0, 0.0]},
        {"a": [1.0, 1.0, 1.0], "b": [1.0, 1.0, 1.0]},
        {"a": [0.0, 9.0], "b": [2.0, 2.0]},
    ],
    ids=["one", "zero", "level", "two"],
)
def test_little_data_shows_little(one, found):
    """No crash, no warning, and nothing is seen, except that equal regrets are close."""
    seen, figures = judge(one, {label: np.array(x) for label, x in found.items()})
    assert seen == (one.most == 2.0 and found["a"] == [1.0] * 3)
    assert "nan" not in figures


def test_results_of_other_scenarios_have_no_claims():
    found = {"LB-SDA-LM": [9.0, 11.0, 10.0], "kl-UCB": [9.0, 11.0, 10.5], "LB-SDA": [5.0, 5.0, 5.0]}
    frame = compare([made_result(found), made_result(found, name="stationary")])
    assert frame["scenario"].tolist() == ["stationary"] * 2
    assert frame["seen"].tolist() == [True, False]
