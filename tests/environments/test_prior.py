"""Arms from a prior: the right law, the same for all policies and threads, and precise errors."""

import math
import re

import numpy as np
import pytest

import lastblock as lb
from lastblock.kernels.streams import key_of
from lastblock.lab.report.page import write_report
from lastblock.simulation.simulate import Player
from oracle.stream import ENVIRONMENT, Stream

PRIOR = lb.Prior(lb.Bernoulli, 3, mean=lb.Beta(2, 3))


def means(prior, seed, replications):
    key = key_of(seed)
    return np.array([prior.draw(key, i).means(0) for i in range(replications)])


def test_the_arms_have_the_law_of_the_prior():
    drawn = means(PRIOR, 1, 600)
    assert drawn.shape == (600, 3)
    law = lb.Beta(2, 3)
    tolerance = 4.0 * math.sqrt(law.mean * (1 - law.mean) / 6 / drawn.size)  # a + b + 1 = 6
    assert drawn.mean() == pytest.approx(0.4, abs=tolerance)
    correlations = np.corrcoef(drawn.T)[np.triu_indices(3, 1)]
    assert np.abs(correlations).max() < 4.0 / math.sqrt(600)


def test_draws_are_those_of_a_naive_stream():
    """A law of two points needs one uniform for each arm, from a stream of its own."""
    prior = lb.Prior(lb.Gaussian, 3, mean=lb.Bernoulli(0.3), std=2.0)
    key = key_of(5)
    for replication in range(20):
        plain = Stream(5, replication, ENVIRONMENT, salt=0x5072696F72)
        expected = [1.0 if plain.uniform() < 0.3 else 0.0 for _ in range(3)]
        assert prior.draw(key, replication).means(0).tolist() == expected


def test_a_run_is_each_replication_in_its_own_world():
    run = lb.simulate(lb.LBSDALM(), PRIOR, horizon=200, replications=5, seed=3, threads=1)
    key = key_of(3)
    for i in range(5):
        player = Player(lb.LBSDALM(), PRIOR.draw(key, i), 200, key, run.times)
        alone = player.room(1)
        player.play(i, alone)
        assert np.array_equal(run.regret[i], alone.regret[0])
        assert np.array_equal(run.phase_pulls[i], alone.pulls[0])
    two = lb.simulate(lb.LBSDALM(), PRIOR, horizon=200, replications=5, seed=3, threads=2)
    assert np.array_equal(run.regret, two.regret)
    assert lb.trace(lb.LBSDALM(), PRIOR, horizon=200, seed=3).arms.size == 200


def test_lists_and_numbers_are_parameters_too():
    prior = lb.Prior(lb.Gaussian, 2, mean=[lb.Gaussian(5.0, 1.0), 0.0], std=0.5)
    drawn = means(prior, 1, 50)
    assert (drawn[:, 1] == 0.0).all()
    assert drawn[:, 0].mean() == pytest.approx(5.0, abs=4.0 / math.sqrt(50))
    assert repr(prior) == ("Prior(Gaussian, 2, mean=[Gaussian(mean=5.0, std=1.0), 0.0], std=0.5)")
    assert prior.support == (-math.inf, math.inf)
    assert PRIOR.support == (0.0, 1.0)
    varies = lb.Prior(
        lb.TruncatedGaussian, 2, location=0.0, scale=1.0, low=0.0, high=lb.Exponential(3.0)
    )
    assert varies.support is None


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        (lambda: lb.Prior("Bernoulli", 3, mean=lb.Beta(1, 1)), "is not an arm family"),
        (lambda: lb.Prior(lb.Bernoulli, 1, mean=lb.Beta(1, 1)), "arms=1 must be at least 2"),
        (lambda: lb.Prior(lb.Bernoulli, 3, men=lb.Beta(1, 1)), "did you mean 'mean'?"),
        (lambda: lb.Prior(lb.Bernoulli, 3), "Bernoulli needs mean; give mean=…"),
        (lambda: lb.Prior(lb.Bernoulli, 3, mean=0.5), "no parameter is a law"),
        (lambda: lb.Prior(lb.Bernoulli, 3, mean=[lb.Beta(1, 1)]), "mean has 1 values for 3 arms"),
        (lambda: lb.Prior(lb.Bernoulli, 3, mean=lb.Gaussian(0.5)), "a law gave a value that is no"),
    ],
)
def test_mistakes_are_precise(wrong, message):
    with pytest.raises(ValueError, match=re.escape(message)):
        wrong()


FILE = """\
horizon = 200
replications = 6

[prior]
family = "Bernoulli"
arms = 3
mean = { family = "Beta", a = 2, b = 3 }

[[policies]]
policy = "LBSDALM"
"""


def test_scenario_files_have_priors(tmp_path):
    file = tmp_path / "mine.toml"
    file.write_text(FILE)
    scenario = lb.lab.Scenario.load(file)
    assert scenario.describe()["environment"] == {
        "prior": {"family": "Bernoulli", "arms": 3, "mean": {"family": "Beta", "a": 2, "b": 3}}
    }
    result = lb.lab.run(scenario, out=tmp_path, threads=2)
    run = lb.simulate(lb.LBSDALM(), PRIOR, horizon=200, replications=6, seed=1)
    assert result.final_regret("LBSDALM").tolist() == run.regret[:, -1].tolist()
    page = write_report(tmp_path / "report.html", result).read_text()
    assert "Each replication draws 3 Bernoulli arms of its own: mean = Beta(2, 3)." in page
