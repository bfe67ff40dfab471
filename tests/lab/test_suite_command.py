"""``lastblock suite``: what it runs, prints and keeps."""

import json

import pandas as pd
import pytest

import lastblock as lb
from lastblock.cli import main
from lastblock.lab.suite import halves, problems, statistics
from lastblock.lab.suite.problems import SuiteProblem
from lastblock.lab.suite.rivals import (
    ADAPTIVE,
    TUNED,
)


@pytest.fixture
def small(monkeypatch, tmp_path):
    """Two small problems, two policies."""
    coins = [[lb.Bernoulli(p) for p in means] for means in ([0.9, 0.1, 0.9], [0.1, 0.9, 0.2])]

    def tiny(index, half="development"):
        phases = dict(enumerate(coins[:1])) if index == 0 else {0: coins[0], 150: coins[1]}
        kind = list(problems.KINDS)[index]
        return SuiteProblem(f"{half} {index}", kind, lb.Piecewise(phases), 300, index, 1)

    def two(made):
        return {ADAPTIVE: lb.AdaptiveLBSDA(alertness=0.5), TUNED: lb.SWLBSDA(window=60)}

    calm = {"coins": lb.Piecewise({0: coins[0]})}
    monkeypatch.setattr(halves, "problem", tiny)
    monkeypatch.setattr(statistics, "problem", tiny)
    monkeypatch.setattr(halves, "rivals", two)
    monkeypatch.setattr(halves, "windows", lambda made: {})
    monkeypatch.setattr(halves, "calm_problems", lambda: calm)
    monkeypatch.setattr(halves, "CALM_STEPS", 300)
    for module in (halves, statistics):
        monkeypatch.setattr(module, "COUNTED", (ADAPTIVE,))
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_the_command(small, capsys):
    arguments = ["run", "adaptive-suite", "--problems", "0,1", "--replications", "3"]
    assert main(arguments) == 0
    out, err = capsys.readouterr()
    assert err == ""
    assert "adaptive-suite, development half, problems 0-1: 2 problems, 3 replications" in out
    assert "worst case of Adaptive LB-SDA: " in out
    lines = out.splitlines()
    assert lines[-1] == "report: results/report.html"
    assert "(4,500 in" in lines[-2]  # two policies on two problems, and one in the calm
    page = (small / "results/report.html").read_text()
    assert "Adaptive suite, development half" in page
    assert "lastblock run adaptive-suite" in page
    folder = small / "results/adaptive-suite"
    assert (folder / "adaptive-suite-development-001/curves.parquet").is_file()

    assert main([*arguments, "--json"]) == 0
    out, err = capsys.readouterr()
    (about,) = json.loads(out)
    assert (about["suite"], about["half"], about["problems"]) == (
        "adaptive-suite",
        "development",
        2,
    )
    assert about["numbers"] == [0, 1]
    one = pd.read_parquet(folder / "development-0-1/ratios.parquet")
    ratio = one.loc[(one["problem"] == 1) & (one["policy"] == ADAPTIVE), "tuned"].item()
    runs = [
        lb.simulate(p, halves.problem(1).environment, horizon=300, replications=3, seed=1)
        for p in halves.rivals(None).values()
    ]
    assert ratio == pytest.approx(runs[0].mean()[-1] / runs[1].mean()[-1])
    calm = pd.read_csv(folder / "development-0-1/calm.csv")
    assert set(calm["policy"]) == {ADAPTIVE}
    assert calm["steps"].tolist() == [900, 900]

    # The page is written again from what is kept.
    (small / "results/report.html").unlink()
    assert main(["report"]) == 0
    page = (small / "results/report.html").read_text()
    assert "Adaptive suite, development half, problems 0-1" in page


def test_a_part_leaves_the_whole_half_alone(small, capsys, monkeypatch):
    def name(half, numbers):  # as if these two were the whole half
        return half if numbers == [0, 1] else halves.name_of(half, numbers)

    monkeypatch.setattr(statistics, "name_of", name)
    arguments = ["run", "adaptive-suite", "--replications", "3", "--problems"]
    assert main([*arguments, "0,1"]) == 0
    folder = small / "results/adaptive-suite"
    whole = {path: path.read_bytes() for path in (folder / "development").iterdir()}
    assert len(whole) == 6
    assert main([*arguments, "1"]) == 0
    assert {path: path.read_bytes() for path in (folder / "development").iterdir()} == whole
    about = json.loads((folder / "development-1/summary.json").read_text())
    assert (about["problems"], about["numbers"]) == (1, [1])
    page = (small / "results/report.html").read_text()
    assert "Adaptive suite, development half, problem 1<" in page
    capsys.readouterr()
    assert main(["report"]) == 0
    page = (small / "results/report.html").read_text()
    assert "Adaptive suite, development half<" in page
    assert "Adaptive suite, development half, problem 1<" in page
    assert page.count('id="suite-development') == 2


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["adaptive-suit"], "there is no scenario 'adaptive-suit'; did you mean 'adaptive-suite'?"),
        (["adaptive-suite", "stationary"], "adaptive-suite runs alone"),
        (["adaptive-suite", "--horizon", "9"], "has its own horizon; leave out --horizon"),
        (["stationary", "--half", "test"], "--half is for adaptive-suite only"),
        (["stationary", "--problems", "1"], "--problems is for adaptive-suite only"),
        (["adaptive-suite", "--problems", "99"], "problems '99': write numbers from 0 to 59"),
        (["adaptive-suite", "--half", "tset"], "unknown --half 'tset'; did you mean 'test'?"),
    ],
)
def test_mistakes(arguments, message, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    assert main(["run", *arguments]) == 2
    out, err = capsys.readouterr()
    assert out == ""
    assert message in err
    assert err.count("\n") == 1
    assert list(tmp_path.iterdir()) == []


def test_scenarios_mention_the_suite(capsys):
    assert main(["scenarios"]) == 0
    assert "adaptive-suite: 60 random problems" in capsys.readouterr().out
    assert main(["scenarios", "adaptive-suite"]) == 0
    assert len(capsys.readouterr().out.splitlines()) == 60
