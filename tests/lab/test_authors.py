"""The figures of the authors' code: what they are, and when ours agree with them."""

import math

import numpy as np
import pytest

from lastblock.lab.paper import authors
from lastblock.lab.paper.authors import Figure, agreement, as_published, figures
from lastblock.lab.scenario import Scenario
from lastblock.lab.scenario_files.reading import names
from made_results import made_result

FIGURE = Figure("stationary", "LB-SDA", 300, 10.0, 0.3, 0.0)
ROUNDED = FIGURE._replace(standard_error=None, rounding=0.5)


def sample(mean, spread=4.0, n=200):
    """Numbers with exactly this mean and standard deviation."""
    made = np.linspace(-1.0, 1.0, n)
    return mean + made * spread / made.std(ddof=1)


def test_every_figure_is_of_a_curve_of_the_paper():
    assert len(figures()) == 12
    scenarios = {name: Scenario.load(name) for name in names()}
    for figure in figures():
        assert figure.policy in scenarios[figure.scenario].policies
        assert scenarios[figure.scenario].horizon == authors.HORIZON
    twins = "gaussian-variance-changes-notebook"  # the same figure, in another reading
    assert (
        sum(len(made.policies) for name, made in scenarios.items() if name != twins)
        == authors.CURVES
    )


@pytest.mark.parametrize(
    ("figure", "mean", "agrees"),
    [
        # Of the difference: √(0.3² + 4²/200), which is 0.4123.
        (FIGURE, 10.0 + 3.99 * 0.4123, "yes"),
        (FIGURE, 10.0 + 4.01 * 0.4123, "no"),
        (FIGURE, 10.0 - 4.01 * 0.4123, "no"),
        # 4 · √(1/300 + 1/200), which is 0.3651, and half a unit for the rounding.
        (ROUNDED, 10.5 + 3.99 * 0.3651, "yes"),
        (ROUNDED, 10.5 + 4.01 * 0.3651, "no"),
        (ROUNDED, 9.7, "yes"),
    ],
)
def test_agreement_means_less_than_four_standard_errors(figure, mean, agrees):
    found = agreement(figure, sample(mean))
    assert found.agrees == agrees
    assert found.mean == pytest.approx(mean)
    assert found.standard_error == pytest.approx(4.0 / math.sqrt(200))
    assert found.apart < 0.1 or found.apart == pytest.approx(4.0, abs=0.02)


def test_one_replication_says_nothing():
    assert agreement(FIGURE, np.array([10.0])).agrees == "unknown"


def test_their_choices_are_made_and_other_policies_left_out():
    scenarios = [Scenario.load(name, replications=7, seed=3) for name in names()]
    made = {scenario.name: scenario for scenario in as_published(scenarios)}
    assert sum(len(each.policies) for each in made.values()) == len(figures())
    assert "gaussian-variance-changes" not in made
    stationary = made["stationary"]
    assert [*stationary.policies] == ["LB-SDA", "LB-SDA-LM", "kl-UCB"]
    assert stationary.policies["LB-SDA"].reference
    assert (stationary.replications, stationary.seed) == (7, 3)
    assert as_published([Scenario.load("stationary", horizon=500)]) == []


def test_a_regret_that_differs_is_said_to():
    regrets = {"LB-SDA": sample(10.2), "LB-SDA-LM": sample(30.0), "kl-UCB": sample(13.6)}
    parameters = {"LB-SDA": {"reference": True}, "LB-SDA-LM": {"reference": True}, "kl-UCB": {}}
    frame = authors.compare([made_result(regrets, name="stationary", parameters=parameters)])
    assert frame["policy"].tolist() == [*regrets]
    assert frame["agrees"].tolist() == ["yes", "no", "yes"]
    assert frame["rules"].tolist() == ["authors' code", "authors' code", "paper"]
    assert frame["theirs"].tolist() == [10.14, 14.15, 13.61]
    said = authors.verdict(frame)
    assert said.startswith("2 of 3 agree within 4 standard errors")
    assert "12 of the paper's 27 curves" in said
