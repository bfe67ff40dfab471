"""The commands: what they print and write, and how shells complete them."""

import io
import json
import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from coins import SCENARIO

import lastblock as lb
import made_results
from lastblock.cli.parser import COMMANDS
from lastblock.lab.scenario_files import reading


def test_run_prints_a_table_the_pace_and_the_report(lastblock, folder):
    status, out, err = lastblock("run", "coins.toml")
    assert (status, err) == (0, "")
    lines = out.splitlines()
    assert lines[0] == "coins: Three coins (40 × 300 steps, seed 1)"
    assert lines[1].split()[:2] == ["policy", "regret"]
    assert [line.split()[0] for line in lines[2:4]] == ["window", "memory"]
    assert " steps a second (24,000 in " in lines[-2]
    assert lines[-1] == "report: results/report.html"
    assert (folder / "results/figures/coins.png").read_bytes().startswith(b"\x89PNG")
    assert r"\begin{tabular}" in (folder / "results/tables/coins.tex").read_text()
    assert len(pd.read_csv(folder / "results/tables/coins.csv")) == 2
    assert "lastblock run coins.toml" in (folder / "results/report.html").read_text()

    again, out, err = lastblock("run", "coins.toml")
    assert (again, err) == (0, "")
    assert out.splitlines()[:4] == lines[:4]
    assert out.splitlines()[-2] == "nothing to compute: all chunks were finished before"


def test_json_is_one_array_and_nothing_else(lastblock, folder):
    (folder / "more.toml").write_text(SCENARIO)
    options = "--replications", 3, "--horizon", 200, "--seed", 5, "--threads", 1, "--out", "here"
    status, out, err = lastblock("run", "coins.toml", "more.toml", *options, "--json")
    assert (status, err) == (0, "")
    coins, more = json.loads(out)
    assert list(coins) == ["scenario", "horizon", "replications", "seconds", "report", "policies"]
    assert (coins["scenario"], more["scenario"]) == ("coins", "more")
    assert (coins["horizon"], coins["replications"]) == (200, 3)
    assert coins["seconds"] > 0
    assert Path(coins["report"]).is_file()
    result = lb.lab.load("here/coins")
    assert result.seed == 5
    frame = result.summary().merge(result.timing).merge(result.policies)
    columns = ["policy", "mean", "se", "q25", "q75", "ns_per_step", "state_bytes"]
    assert coins["policies"] == [pytest.approx(row) for row in frame[columns].to_dict("records")]
    assert more["policies"][0]["mean"] == coins["policies"][0]["mean"]  # the same arms and seed
    status, out, _ = lastblock("run", "coins.toml", "--replications", 1, "--json")
    assert json.loads(out)[0]["policies"][0]["se"] is None  # of a single replication
    assert "NaN" not in out


def test_quiet_leaves_the_path_only(lastblock):
    status, out, err = lastblock("run", "coins.toml", "--replications", 2, "--quiet")
    assert (status, out, err) == (0, "report: results/report.html\n", "")


def test_progress_is_shown_on_a_terminal_only(lastblock, monkeypatch):
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True)
    status, out, err = lastblock("run", "coins.toml", "--replications", 4, "--json")
    assert status == 0
    assert len(json.loads(out)) == 1
    assert "coins:" in err
    assert "/2.40k [" in err  # of both policies, with the time left
    assert lastblock("run", "coins.toml", "--replications", 5, "--quiet", "--json")[2] == ""


def test_reproduce_runs_what_is_named(lastblock, folder, monkeypatch):
    frame = pd.DataFrame({"policy": ["LB-SDA"], "rewards": [1000], "ns": [1.23], "ns ~ b": [0.123]})
    monkeypatch.setattr("lastblock.lab.paper.table1.table1", lambda: frame)
    small = "--replications", 2
    status, out, err = lastblock("reproduce", "stationary", "means", "takeover", "table1", *small)
    assert (status, err) == (0, "")
    assert "stationary: Bernoulli arms, no change (2 × 10000 steps, seed 1)" in out
    assert "table1: storage and cost, measured\npolicy  rewards   ns  ns ~ b\n" in out
    assert "LB-SDA    1,000  1.2    0.12\n" in out
    assert re.search(
        r"^stationary +LB-SDA +10\.14 +0\.25 +[\d.]+ +[\d.]+ +[\d.]+ +(yes|no)$", out, re.M
    )
    assert re.search(r"^\d of 3 agree within 4 standard errors", out, re.M)
    figures = sorted(path.name for path in (folder / "results/figures").iterdir())
    assert figures == ["means.png", "stationary.png", "takeover.png"]
    page = (folder / "results/report.html").read_text()
    parts = "Table 1", "Figure 1", '<section id="authors">', "Limited memory costs LB-SDA little"
    for part in ("stationary", *parts):
        assert part in page
    # The page again, from what lies there.
    (folder / "results/report.html").unlink()
    assert lastblock("report")[:2] == (0, "report: results/report.html\n")
    again = (folder / "results/report.html").read_text()
    for part in ("stationary", *parts):
        assert part in again
    (one,) = json.loads(lastblock("reproduce", "stationary", *small, "--json")[1])
    assert [row["policy"] for row in one["authors"]] == ["LB-SDA", "LB-SDA-LM", "kl-UCB"]
    assert one["authors"][0]["theirs"] == 10.14
    # The results are by the paper's rules; the others were for the comparison alone.
    assert not lb.lab.load("results/stationary").about["scenario"]["policies"]["LB-SDA"][
        "parameters"
    ]["reference"]


def test_reproduce_compares_with_nothing_at_another_horizon(lastblock, folder):
    out = lastblock("reproduce", "stationary", "--horizon", 9000, "--replications", 2)[1]
    assert "the authors' figures are for T = 10000: not compared" in out
    assert not (folder / "results/authors.csv").exists()
    assert lastblock("reproduce", "takeover", "--json", "--out", "none") == (0, "[]\n", "")
    assert lastblock("report", "--out", "none")[0] == 0


def test_reproduce_knows_both_readings(monkeypatch, lastblock):
    asked = {}

    def stop(scenarios, options):
        asked["names"] = [scenario.name for scenario in scenarios]
        asked["reference"] = [scenario.policies["SW-LB-SDA"].reference for scenario in scenarios]
        raise KeyboardInterrupt

    monkeypatch.setattr("lastblock.cli.running.run_scenarios", stop)
    assert lastblock("reproduce", "gaussian-variance-changes", "--reference")[0] == 130
    both = ["gaussian-variance-changes", "gaussian-variance-changes-notebook"]
    assert asked == {"names": both, "reference": [True, True]}


def test_init_writes_a_scenario_that_runs(lastblock, folder):
    status, out, _ = lastblock("init")
    assert status == 0
    assert "lastblock run scenario.toml" in out
    assert (folder / "scenario.toml").read_text() == reading.TEMPLATE
    lb.lab.Scenario.load("scenario.toml")
    assert lastblock("init", "other.toml")[0] == 0


def test_policies_are_listed_and_told_about(lastblock):
    status, out, _ = lastblock("policies")
    assert status == 0
    for name in lb.POLICIES:
        assert f"\n{name}(" in f"\n{out}"
    assert "SWLBSDA(window, reference=False, naive_leader=False)\n    LB-SDA on the" in out
    status, out, _ = lastblock("policies", "SWLBSDA")
    assert status == 0
    assert "τ, in rounds" in out
    assert "SWLBSDA.tuned(horizon, changes, reference)" in out


def test_scenarios_are_listed_and_printed(lastblock):
    status, out, _ = lastblock("scenarios")
    assert status == 0
    for name in reading.names():
        assert f"\n{name} " in out
    status, out, _ = lastblock("scenarios", "stationary")
    assert status == 0
    assert out.strip() == lb.lab.Scenario.load("stationary").source.strip()


@pytest.fixture
def _compared(folder):
    """Results in which B is nearly as good as A and C is not, and others in another folder."""
    rng = np.random.default_rng(1)
    luck = rng.normal(0, 5, 200)
    noise = rng.normal(0, 1, (2, 200))
    regrets = {"A": 50 + luck, "B": 50.15 + luck + noise[0], "C": 60 + luck + noise[1]}
    made_results.made_result(regrets).save(folder / "results/made")
    other = made_results.made_result({"A": luck, "B": luck + 9}, name="other", environment="x")
    other.save(folder / "elsewhere")


@pytest.mark.usefixtures("_compared")
def test_compare_says_what_is_significant(lastblock):
    status, out, err = lastblock("compare", "made", "elsewhere", "--baseline", "A")
    assert (status, err) == (0, "")
    first, second = out.split("\n\n")
    lines = first.splitlines()
    assert lines[0] == "made: final regret less that of A"
    assert "0.95 interval" in lines[1]
    assert lines[2].startswith("B ")
    assert re.search(r"not significant; needs [\d,]+$", lines[2])
    assert lines[3].startswith("C ")
    assert lines[3].endswith("significantly worse")
    assert lines[4].startswith("Not significant: B.")
    assert second.startswith("other: final regret less that of A")
    options = "--baseline", "C", "--confidence", "0.99"
    status, out, _ = lastblock("compare", "results/made", *options)
    assert status == 0
    assert "0.99 interval" in out
    assert out.count("significantly better") == 2
    assert out.endswith("All differences from C are significant.\n")


@pytest.mark.usefixtures("_compared")
def test_compare_prints_latex_csv_and_json(lastblock, folder):
    status, out, err = lastblock("compare", "made", "elsewhere", "--latex")
    assert (status, err) == (0, "")
    assert out.count(r"\begin{tabular}") == 2
    assert r"\label{tab:other}" in out

    out = lastblock("compare", "made", "elsewhere", "--csv")[1]
    frame = pd.read_csv(io.StringIO(out))
    assert list(frame["results"]) == ["made"] * 3 + ["other"] * 2
    expected = lb.lab.load(folder / "results/made").differences()
    assert frame["difference"][1:3].tolist() == pytest.approx(expected["difference"].tolist())

    first, second = json.loads(lastblock("compare", "made", "elsewhere", "--json")[1])
    assert (first["results"], first["baseline"], first["adjusted"]) == (["made"], "A", "all pairs")
    assert (first["confidence"], first["test"]) == (0.95, "means")
    assert [row["policy"] for row in first["policies"]] == [*"ABC"]
    assert first["policies"][0]["difference"] is None
    assert second["policies"][1]["difference"] == pytest.approx(9)
    head = "made: final regret less that of A, the smallest; valid for all pairs at once"
    assert lastblock("compare", "made")[1].startswith(head)


def test_compare_by_ranks(lastblock, folder):
    """Nine bad replications hide from the means that B is worse in nearly all of them."""
    rng = np.random.default_rng(1)
    a, b = rng.gamma(9.0, 1.0, 200), rng.gamma(9.0, 1.2, 200)
    a[:5] = 200.0
    b[5:9] = 200.0
    made_results.made_result({"A": a, "B": b}).save(folder / "results/made")
    out = lastblock("compare", "made", "--baseline", "A")[1]
    assert "not significant; needs " in out
    assert "tell B from A: see --test ranks." in out
    ranks = "compare", "made", "--baseline", "A", "--test", "ranks"
    out = lastblock(*ranks)[1]
    assert out.startswith("made: probability of less regret than A\n")
    assert "wins less" in out
    (only,) = json.loads(lastblock(*ranks, "--json")[1])
    assert (only["test"], only["policies"][0]["significant"]) == ("ranks", True)
    assert lastblock(*ranks, "--csv")[1].startswith("results,policy,baseline,wins,")


def test_plot_for_a_paper(lastblock, folder):
    made_results.made_result({"A": np.arange(5.0), "B": np.ones(5)}).save(folder / "results/made")
    command = "plot", "made", "--output", "made.svg"
    for width, points in (("8.5cm", 240.9), ("85mm", 240.9), ("3.25in", 234.0), ("3.25", 234.0)):
        status, out, _ = lastblock(*command, "--width", width, "--policy", "A")
        assert (status, out) == (0, "figure: made.svg\n")
        head = (folder / "made.svg").read_text()[:600]
        assert float(re.search(r'width="([\d.]+)pt"', head)[1]) == pytest.approx(points, abs=0.1)


def test_help_and_version(lastblock):
    status, out, _ = lastblock("--help")
    assert status == 0
    assert "examples:" in out
    for command in COMMANDS:
        name = command.__name__.rpartition(".")[2]
        assert f"\n    {name} " in out
        status, text, _ = lastblock(name, "--help")
        assert status == 0
        assert f"lastblock {name}" in text.partition("examples:")[2]
    assert lastblock("--version")[:2] == (0, f"lastblock {lb.__version__}\n")


# ---- Completion ------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("typed", "offered"),
    [
        ("repr", ["reproduce"]),
        ("reproduce stationary gaussian-v", ["gaussian-variance-changes"]),
        ("policies SWL", ["SWLBSDA"]),
        ("run coi", ["coins.toml"]),
        ("run coins.toml --repl", ["--replications"]),
        ("compare ma", ["made"]),
        ("compare --out elsewhere oth", ["other"]),
        ("compare res", ["results"]),
    ],
)
def test_bash_completes(lastblock, folder, typed, offered):
    for name in ("results/made", "elsewhere/other"):
        (folder / name).mkdir(parents=True)
        (folder / name / "curves.parquet").write_bytes(b"")
    status, script, _ = lastblock("completion", "bash")
    assert status == 0
    words = ["lastblock", *typed.split()]
    ask = (
        f"{script}\nCOMP_WORDS=({' '.join(words)}); COMP_CWORD={len(words) - 1}\n"
        '_shtab_lastblock; printf "%s\\n" "${COMPREPLY[@]}"'
    )
    answer = subprocess.run(["bash", "-c", ask], capture_output=True, text=True, check=True)
    assert answer.stdout.split() == offered


@pytest.mark.parametrize("shell", ["zsh", "fish", "tcsh"])
def test_other_shells_complete(lastblock, shell):
    status, script, _ = lastblock("completion", shell)
    assert status == 0
    for name in ("reproduce", "bernoulli-changes", "SWLBSDA", "replications"):
        assert name in script
    if shell != "tcsh":  # which completes folders here
        assert "curves.parquet" in script  # names of results, when the key is pressed
