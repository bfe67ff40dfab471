"""Sweeps: one policy with several values of a parameter, in Python, files, figures and pages."""

import re

import numpy as np
import pytest

import lastblock as lb
from lastblock.cli import main
from lastblock.lab.figures import result_figure
from lastblock.support.errors import ResultError
from made_results import made_result

FILE = """\
horizon = 300
replications = 4

[arms]
family = "Bernoulli"
mean = [0.9, 0.1, 0.9]

[[policies]]
policy = "LBSDALM"

[[policies]]
policy = "EpsilonGreedy"
label = "greedy"
epsilon = { sweep = [0.5, 0.1, 0.9] }
"""
LABELS = ["greedy, epsilon = 0.1", "greedy, epsilon = 0.5", "greedy, epsilon = 0.9"]


@pytest.fixture
def file(tmp_path):
    (path := tmp_path / "mine.toml").write_text(FILE)
    return path


def test_a_file_and_python_make_the_same_scenario(file):
    read = lb.lab.Scenario.load(file)
    assert list(read.policies) == ["LBSDALM", *LABELS]
    assert [read.policies[label].epsilon for label in LABELS] == [0.1, 0.5, 0.9]
    plain = file.with_name("plain.toml")
    plain.write_text(FILE.replace("{ sweep = [0.5, 0.1, 0.9] }", "0.3"))
    made = lb.lab.Scenario.load(plain).sweep("greedy", epsilon=[0.1, 0.5, 0.9])
    assert made.policies == read.policies
    assert made.sweeps == read.sweeps
    assert made.sweeps[0].labels == tuple(LABELS)
    assert "sweeps" not in lb.lab.Scenario.load(plain).describe()


def test_mistakes_in_python(file):
    scenario = lb.lab.Scenario.load(file)
    with pytest.raises(ValueError, match="no policy 'greedi' to sweep"):
        scenario.sweep("greedi", epsilon=[0.1, 0.2])
    with pytest.raises(ValueError, match="LBSDALM has no parameter 'epsilon'"):
        scenario.sweep("LBSDALM", epsilon=[0.1, 0.2])
    with pytest.raises(TypeError, match="one parameter at a time, not 2"):
        scenario.sweep("LBSDALM", minimum=[1, 2], offset=[1, 2])


def test_the_figure_has_a_point_for_each_value_and_a_line_for_others():
    rng = np.random.default_rng(1)
    regrets = {label: rng.gamma(9.0, 1.0, 50) for label in ("other", *LABELS)}
    result = made_result(regrets)
    with pytest.raises(ResultError, match="made has no sweep; run it with --sweep"):
        result_figure(result, kind="sweep")
    assert result.sweep_table().empty
    values = [1, 10, 100]
    sweep = {"label": "greedy", "parameter": "epsilon", "values": values, "labels": LABELS}
    result.about["scenario"]["sweeps"] = [sweep]
    table = result.sweep_table()
    assert table["value"].tolist() == values
    assert table["mean"].tolist() == [regrets[label].mean() for label in LABELS]
    (panel,) = result.plot(kind="sweep").axes
    assert panel.get_xscale() == "log"
    assert panel.get_xlabel() == "epsilon"
    drawn = [line for line in panel.lines if line.get_transform() == panel.transData]
    assert any(np.array_equal(line.get_ydata(), table["mean"]) for line in drawn)
    mean = regrets["other"].mean()
    assert any(np.array_equal(line.get_ydata(), [mean, mean]) for line in drawn)


def test_the_program_sweeps(file, monkeypatch, capsys):
    monkeypatch.chdir(file.parent)
    assert main(["run", "mine.toml", "--sweep", "LBSDALM:minimum=50,60", "--quiet"]) == 0
    page = (file.parent / "results/report.html").read_text()
    assert re.search(r"greedy: the smallest mean, [\d.]+, is at epsilon = 0\.\d", page)
    assert "LBSDALM: the smallest mean" in page
    assert main(["plot", "mine", "--kind", "sweep", "--output", "sweep.svg"]) == 0
    assert (file.parent / "sweep.svg").exists()
    capsys.readouterr()
    for wrong in ("LBSDALM", "LBSDALM:minimum", "LBSDALM:minimum=a", ":minimum=1,2"):
        assert main(["run", "mine.toml", "--sweep", wrong]) == 2
        assert "must name a policy, a parameter and numbers" in capsys.readouterr().err
    assert main(["run", "mine.toml", "--sweep", "X:minimum=1,2"]) == 2
    assert "--sweep: there is no policy 'X' to sweep" in capsys.readouterr().err
