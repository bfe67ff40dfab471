"""Sequential runs: right decisions at the promised rate, and the results of a plain run."""

import math
import re
from functools import partial
from itertools import pairwise

import numpy as np
import pytest

import lastblock as lb
from lastblock.cli import main
from lastblock.lab import sequential
from lastblock.lab.sequential import Decider, Sequential, t_values
from lastblock.support.errors import ScenarioError

ENV = lb.Stationary([lb.Bernoulli(0.9), lb.Bernoulli(0.1), lb.Bernoulli(0.9)])
POLICIES = {"window": lb.SWLBSDA(window=60), "memory": lb.LBSDALM()}


def scenario(**changes):
    plain = {"environment": ENV, "horizon": 300, "policies": POLICIES, "replications": 400}
    return lb.lab.Scenario(**{"name": "small", **plain, "sequential": Sequential(), **changes})


@pytest.fixture
def few_flips(monkeypatch):
    monkeypatch.setattr(sequential, "FLIPS", 800)


def decide(draw, plan, budget, rng):
    """The decider after all its looks, and the number of replications."""
    table = draw(rng, budget)
    labels = [str(k) for k in range(table.shape[1])]
    decider = Decider(plan, labels, budget)
    for n in decider.planned:
        decider.look({label: table[:n, k] for k, label in enumerate(labels)})
        if decider.is_decided:
            break
    return decider, n


def test_looks_double_up_to_the_budget():
    assert Sequential().looks(1000) == [50, 100, 200, 400, 800, 1000]
    assert Sequential(first=20).looks(20) == [20]
    assert Sequential(first=20).looks(7) == [7]


def test_t_is_students():
    table = np.random.default_rng(1).normal(1.0, 2.0, (30, 2))
    expected = table.mean(axis=0) / (table.std(axis=0, ddof=1) / math.sqrt(30))
    assert t_values(table, table.sum(axis=0)) == pytest.approx(expected)
    plain = np.array([[0.0, 2.0]] * 10)
    assert t_values(plain, plain.sum(axis=0)).tolist() == [0.0, math.inf]


@pytest.mark.parametrize("test", ["means", "ranks"])
def test_without_a_difference_errors_are_as_rare_as_promised(few_flips, test):
    """Three equal policies with heavy tails, five looks: any decision at all would be wrong."""
    rng = np.random.default_rng(3)

    def draw(rng, n):
        return np.exp(1.5 * (rng.normal(size=(n, 1)) + rng.normal(size=(n, 3))))

    plan, trials = Sequential(first=20, confidence=0.9, test=test), 400
    wrong = sum(
        any(d.better is not None for d in decide(draw, plan, 200, rng)[0].decisions)
        for _ in range(trials)
    )
    assert wrong / trials < 0.1 + 3.0 * math.sqrt(0.1 * 0.9 / trials)
    assert wrong > 0  # the test is not so cautious that it decides nothing


def test_equal_policies_beside_a_bad_one_stay_undecided(few_flips):
    """The bad one is decided first, which lowers the bar for the others; still, few errors."""
    rng = np.random.default_rng(5)

    def draw(rng, n):
        return rng.gamma(2.0, 1.0, (n, 3)) * [1.0, 1.0, 3.0]

    wrong, trials, plan = 0, 200, Sequential(first=20, confidence=0.9)
    for _ in range(trials):
        decider, _ = decide(draw, plan, 200, rng)
        equal, one, other = decider.decisions
        assert (one.better, other.better) == ("0", "1")
        wrong += equal.better is not None
    assert wrong / trials < 0.1 + 3.0 * math.sqrt(0.1 * 0.9 / trials)


def _gammas(gap, rng, n):
    """Return regrets of two policies, whose means differ by the factor `gap`."""
    return rng.gamma(4.0, 1.0, (n, 2)) * [1.0, gap]


def test_large_differences_are_decided_sooner_than_small_ones(few_flips):
    rng = np.random.default_rng(7)
    stops = {}
    for gap in (3.0, 1.25):
        found = [decide(partial(_gammas, gap), Sequential(), 1600, rng) for _ in range(20)]
        assert all(decider.decisions[0].better == "0" for decider, _ in found)
        stops[gap] = np.mean([n for _, n in found])
    assert stops[3.0] == 50
    assert 50 < stops[1.25] < 1600


def test_a_run_stops_when_it_is_decided_and_is_a_plain_run_of_that_length(tmp_path):
    clear = scenario(policies={"memory": lb.LBSDALM(), "bad": lb.EpsilonGreedy(0.9)})
    result = lb.lab.run(clear, out=tmp_path / "a", threads=2)
    assert result.replications == 50
    assert result.decisions.to_dict("records") == [
        {"policy": "memory", "other": "bad", "better": "memory", "replications": 50}
    ]
    plain = lb.lab.run(clear.replace(sequential=None), out=tmp_path / "b", replications=50)
    for name in ("curves", "final", "pulls", "delays", "policies"):
        assert getattr(result, name).equals(getattr(plain, name))
    assert plain.decisions.empty
    kept = lb.lab.load(tmp_path / "a" / "small")
    assert kept.decisions.equals(result.decisions)
    again = lb.lab.run(clear, out=tmp_path / "a", threads=1)
    assert again.about == result.about


def test_a_run_that_stays_undecided_spends_its_budget(tmp_path):
    result = lb.lab.run(
        scenario(
            policies={"memory": lb.LBSDALM(), "memory too": lb.LBSDALM()},
            sequential=Sequential(first=30, test="ranks"),
        ),
        out=tmp_path,
    )
    assert result.replications == 400
    looks = result.about["scenario"]["sequential"]["looks"]
    assert looks == [30, 60, 120, 240, 400]
    assert all(a < b for a, b in pairwise(looks))
    (row,) = result.decisions.to_dict("records")
    assert row["better"] is None


def test_wrong_plans_are_refused():
    for wrong, message in (
        ({"first": 3}, "first=3 must be at least 10"),
        ({"confidence": 1.5}, "confidence=1.5 must lie between 0 and 1"),
        ({"test": "median"}, "test='median' must be one of means, ranks"),
        ({"baseline": 3}, "baseline=3 must be the label"),
    ):
        with pytest.raises(ValueError, match=re.escape(message)):
            Sequential(**wrong)
    with pytest.raises(ScenarioError, match=r"baseline='widow' is not a policy .* mean 'window'"):
        scenario(sequential=Sequential(baseline="widow"))
    with pytest.raises(ScenarioError, match="one policy leaves nothing to decide"):
        scenario(policies={"memory": lb.LBSDALM()})


FILE = """\
horizon = 300
replications = 200

[arms]
family = "Bernoulli"
mean = [0.9, 0.1, 0.9]

[[policies]]
policy = "LBSDALM"

[[policies]]
policy = "EpsilonGreedy"
epsilon = 0.9

[sequential]
"""


def test_scenario_files_have_a_table(tmp_path):
    file = tmp_path / "mine.toml"
    file.write_text(FILE)
    assert lb.lab.Scenario.load(file).sequential == Sequential()
    file.write_text(f'{FILE}first = 20\nbaseline = "LBSDALM"\ntest = "ranks"\n')
    read = lb.lab.Scenario.load(file).sequential
    assert read == Sequential(20, "LBSDALM", test="ranks")
    for line, message in (
        ("frist = 20", "mine.toml:16: unknown key 'frist' in [sequential]; did you mean 'first'?"),
        ("first = 2", "mine.toml:16: first=2 must be at least 10"),
        ('baseline = "X"', "mine.toml:16: baseline='X' is not a policy of the scenario"),
    ):
        file.write_text(f"{FILE}{line}\n")
        with pytest.raises(ScenarioError) as error:
            lb.lab.Scenario.load(file)
        assert message in str(error.value)


def test_the_program_stops_early_and_says_what_it_decided(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "mine.toml").write_text(FILE.replace("\n[sequential]\n", ""))
    command = ["run", "mine.toml", "--sequential", "--baseline", "LBSDALM"]
    assert main(command) == 0
    out = capsys.readouterr().out
    assert "Stopped after 50 of at most 200 replications" in out
    assert "Decided: LBSDALM has less regret than EpsilonGreedy (50)" in out
    assert "Sequential:" in (tmp_path / "results/report.html").read_text()
    for test in ("means", "ranks"):
        assert main(["compare", "mine", "--test", test]) == 0
        assert "p-values of a fixed number of replications are not valid" in capsys.readouterr().out
    assert main(["run", "mine.toml", "--baseline", "LBSDALM"]) == 2
    assert "--baseline is for --sequential only" in capsys.readouterr().err
    assert main(["run", "mine.toml", "--sequential", "--baseline", "X"]) == 2
    assert "baseline='X' is not a policy" in capsys.readouterr().err
