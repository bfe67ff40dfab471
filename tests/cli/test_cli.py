"""The program: what it prints where, its exit status, and one clear line for every mistake."""

import errno
import io
import json
import pkgutil
import re
import signal
import subprocess
import sys
import time
import tomllib
from contextlib import contextmanager
from pathlib import Path
from unittest import mock

import numpy as np
import pandas as pd
import pytest

import lastblock as lb
import made_results
from lastblock import cli
from lastblock.cli import main
from lastblock.cli.parser import COMMANDS
from lastblock.core.layout import state_dtype
from lastblock.lab.scenario_files import reading
from lastblock.lab.work import cluster
from lastblock.support import files

SCENARIO = """
title = "Three coins"
horizon = 300
replications = 40

[arms]
family = "Bernoulli"

[[phases]]
start = 0
mean = [0.9, 0.1, 0.9]

[[phases]]
start = 150
mean = [0.1, 0.9, 0.2]

[[policies]]
policy = "SWLBSDA"
label = "window"
window = 60

[[policies]]
policy = "LBSDALM"
label = "memory"
"""


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """The current folder, with a scenario in it."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "coins.toml").write_text(SCENARIO)
    return tmp_path


@pytest.fixture
def lastblock(folder, capsys):
    """Run the program: its exit status, standard output and standard error."""

    def run(*arguments):
        status = main([str(argument) for argument in arguments])
        out, err = capsys.readouterr()
        return status, out, err

    return run


def files_in(folder):
    return sorted(str(path.relative_to(folder)) for path in folder.rglob("*") if path.is_file())


def program(*arguments, **options):
    """Start the real program."""
    command = [sys.executable, "-m", "lastblock", *map(str, arguments)]
    return subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, **options
    )


@contextmanager
def heard_interrupts():
    """Let programs that are started here hear interrupts, even if these are ignored here.

    What `nohup make test &` starts ignores them, and so would the programs that it starts.
    """
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)


# ---- What it does ----------------------------------------------------------------------------


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
    assert coins["policies"][0]["policy"] == "window"
    result = lb.lab.load("here/coins")
    assert result.seed == 5
    for told, label in zip(coins["policies"], ["window", "memory"], strict=True):
        regret = result.final[result.final["policy"] == label]["regret"]
        assert told == {
            "policy": label,
            "mean": pytest.approx(regret.mean()),
            "se": pytest.approx(regret.std() / np.sqrt(3)),
            "q25": pytest.approx(regret.quantile(0.25)),
            "q75": pytest.approx(regret.quantile(0.75)),
            "ns_per_step": pytest.approx(told["ns_per_step"]),
            "state_bytes": state_dtype(
                {"window": lb.SWLBSDA(window=60), "memory": lb.LBSDALM()}[label], 3, 200
            ).itemsize,
        }
    assert more["policies"][0]["mean"] == coins["policies"][0]["mean"]  # the same arms and seed


def test_what_is_not_a_number_is_null(lastblock):
    status, out, _ = lastblock("run", "coins.toml", "--replications", 1, "--json")
    assert status == 0
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
    for part in ("stationary", "Table 1", "Figure 1", '<section id="authors">'):
        assert part in page
    # The page again, from what lies there.
    (folder / "results/report.html").unlink()
    assert lastblock("report")[:2] == (0, "report: results/report.html\n")
    again = (folder / "results/report.html").read_text()
    for part in ("stationary", "Table 1", "Figure 1", '<section id="authors">'):
        assert part in again
    (one,) = json.loads(lastblock("reproduce", "stationary", *small, "--json")[1])
    assert [row["policy"] for row in one["authors"]] == ["LB-SDA", "LB-SDA-LM", "kl-UCB"]
    assert one["authors"][0]["theirs"] == 10.14
    # The results are by the paper's rules; the others were for the comparison alone.
    assert not lb.lab.load("results/stationary").about["scenario"]["policies"]["LB-SDA"][
        "parameters"
    ]["reference"]


def test_reproduce_compares_with_nothing_at_another_horizon(lastblock, folder):
    status, out, _ = lastblock("reproduce", "stationary", "--horizon", 9000, "--replications", 2)
    assert status == 0
    assert "the authors' figures are for T = 10000: not compared" in out
    assert not (folder / "results/authors.csv").exists()


def test_reproduce_needs_no_scenario(lastblock, folder):
    status, out, err = lastblock("reproduce", "takeover", "--json")
    assert (status, err) == (0, "")
    assert json.loads(out) == []
    assert lastblock("report")[0] == 0


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


def test_compare_says_what_is_significant(lastblock, folder):
    rng = np.random.default_rng(1)
    luck = rng.normal(0, 5, 200)
    noise = rng.normal(0, 1, (2, 200))
    regrets = {"A": 50 + luck, "B": 50 + luck + noise[0], "C": 60 + luck + noise[1]}
    made_results.made_result(regrets).save(folder / "results/made")
    other = made_results.made_result({"A": luck, "B": luck + 9}, name="other", environment="x")
    other.save(folder / "elsewhere")
    status, out, err = lastblock("compare", "made", "elsewhere", "--baseline", "A")
    assert (status, err) == (0, "")
    first, second = out.split("\n\n")
    lines = first.splitlines()
    assert lines[0] == "made: final regret less that of A"
    assert "0.95 interval" in lines[1]
    assert lines[2].startswith("B ")
    assert lines[2].endswith("not significant")
    assert lines[3].startswith("C ")
    assert lines[3].endswith("significantly worse")
    assert lines[4].startswith("Not significant: B.")
    assert second.startswith("other: final regret less that of A")
    options = "--baseline", "C", "--confidence", "0.99", "--method", "bootstrap"
    status, out, _ = lastblock("compare", "results/made", *options)
    assert status == 0
    assert "0.99 interval" in out
    assert out.count("significantly better") == 2
    assert out.endswith("All differences from C are significant.\n")


def test_compare_prints_latex_csv_and_json(lastblock, folder):
    rng = np.random.default_rng(1)
    luck = rng.normal(0, 5, 100)
    regrets = {"A": 50 + luck, "B": 52 + luck + rng.normal(0, 1, 100), "C": 60 + 2 * luck}
    made_results.made_result(regrets).save(folder / "results/made")
    other = made_results.made_result({"A": luck, "B": luck + 9}, name="other", environment="x")
    other.save(folder / "results/other")
    status, out, err = lastblock("compare", "made", "other", "--latex")
    assert (status, err) == (0, "")
    assert out.count(r"\begin{tabular}") == 2
    assert r"\label{tab:other}" in out

    status, out, err = lastblock("compare", "made", "other", "--csv")
    assert (status, err) == (0, "")
    frame = pd.read_csv(io.StringIO(out))
    assert list(frame["results"]) == ["made"] * 3 + ["other"] * 2
    assert list(frame["policy"]) == [*"ABC", *"AB"]
    expected = lb.lab.load(folder / "results/made").differences()
    assert frame["difference"][1:3].tolist() == pytest.approx(expected["difference"].tolist())

    status, out, err = lastblock("compare", "made", "other", "--json", "--baseline", "B")
    assert (status, err) == (0, "")
    first, second = json.loads(out)
    assert (first["results"], first["baseline"], first["adjusted"]) == (["made"], "B", "these rows")
    assert (first["confidence"], first["method"]) == (0.95, "normal")
    assert [row["policy"] for row in first["policies"]] == [*"ABC"]
    assert first["policies"][1]["difference"] is None
    assert second["policies"][0]["difference"] == pytest.approx(-9)
    assert second["policies"][0]["p"] == 0.0
    assert lastblock("compare", "made", "--json", "--csv")[0] == 2


def test_the_chosen_baseline_is_said_to_be_chosen(lastblock, folder):
    made_results.made_result({"A": np.arange(9.0), "B": 3 + np.arange(9.0) ** 2}).save(
        folder / "results/made"
    )
    _, out, _ = lastblock("compare", "made")
    assert out.startswith(
        "made: final regret less that of A, the smallest; valid for all pairs at once"
    )


@pytest.mark.parametrize(
    ("suffix", "head"), [("png", b"\x89PNG"), ("svg", b"<?xml"), ("pdf", b"%PDF")]
)
def test_plot_writes_a_figure(lastblock, folder, suffix, head):
    made_results.made_result({"A": np.arange(5.0)}).save(folder / "results/made")
    kind = "best-arm" if suffix == "pdf" else "regret"
    status, out, _ = lastblock("plot", "made", "--kind", kind, "--output", f"made.{suffix}")
    assert (status, out) == (0, f"figure: made.{suffix}\n")
    assert (folder / f"made.{suffix}").read_bytes().startswith(head)


def test_plot_for_a_paper(lastblock, folder):
    made_results.made_result({"A": np.arange(5.0), "B": np.ones(5)}).save(folder / "results/made")
    command = "plot", "made", "--output", "made.svg"
    for width, points in (("8.5cm", 240.9), ("85mm", 240.9), ("3.25in", 234.0), ("3.25", 234.0)):
        status, _, _ = lastblock(*command, "--width", width, "--policy", "A")
        assert status == 0
        head = (folder / "made.svg").read_text()[:600]
        assert float(re.search(r'width="([\d.]+)pt"', head)[1]) == pytest.approx(points, abs=0.1)
    for wrong, message in (
        ("wide", "must be a width such as 3.25in"),
        ("1in", "must lie between 2"),
    ):
        status, _, err = lastblock(*command, "--width", wrong)
        assert (status, message in err) == (2, True)
    status, _, err = lastblock(*command, "--policy", "C")
    assert status == 2
    assert "--policy: there is no 'C'; choose from A, B" in err


def test_a_figure_does_not_replace_a_folder(lastblock, folder):
    made_results.made_result({"A": np.arange(5.0)}).save(folder / "results/made")
    (folder / "made.png").mkdir()
    status, _, err = lastblock("plot", "made", "--output", "made.png")
    assert status == 2
    assert "made.png is a folder; give the name of a file" in err


def test_a_report_of_nothing_leaves_nothing(lastblock, folder):
    status, _, err = lastblock("report", "--out", "nowhere")
    assert (status, err.count("there are no results in nowhere")) == (2, 1)
    assert not (folder / "nowhere").exists()


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
        ("reproduce bern", ["bernoulli-changes"]),
        ("reproduce stationary gaussian-v", ["gaussian-variance-changes"]),
        ("policies SWL", ["SWLBSDA"]),
        ("run stat", ["stationary"]),
        ("run coi", ["coins.toml"]),
        ("run coins.toml --repl", ["--replications"]),
        ("compare x --method b", ["bootstrap"]),
        ("compare ma", ["made"]),
        ("plot ma", ["made"]),
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


# ---- Mistakes --------------------------------------------------------------------------------


def damage(folder):
    made_results.made_result({"A": [1.0, 2.0]}).save(folder / "results/damaged")
    (folder / "results/damaged/final.parquet").write_bytes(b"no")


def from_another_version(folder):
    with mock.patch.object(made_results, "FORMAT", 99):
        made_results.made_result({"A": [1.0, 2.0]}).save(folder / "results/newer")


def made(folder):
    made_results.made_result({"A": [1.0, 2.0], "B": [2.0, 4.0]}).save(folder / "results/made")


def a_file(folder):
    (folder / "results").write_text("")


def edited(old, new):
    def edit(folder):
        assert old in SCENARIO
        (folder / "coins.toml").write_text(SCENARIO.replace(old, new))

    return edit


def renamed(folder):
    (folder / "copy.toml").write_text('name = "coins"\n' + SCENARIO)


MISTAKES = {
    "": "arguments are required: COMMAND",
    "polices": "unknown command 'polices'; did you mean 'policies'?",
    "run": "arguments are required: SCENARIO",
    "run coins.toml --replication 3": "unknown argument '--replication'; did you mean '--repl",
    "run coins.toml --replications 0": "--replications: 0 must be at least 1",
    "run coins.toml --horizon many": "--horizon: 'many' must be a whole number",
    "run coins.toml --threads 0": "--threads: 0 must be at least 1",
    "run coins.toml --seed -1": "--seed: -1 must be at least 0",
    "run coins.toml --horizon 100": r"coins.toml:\d+: .*150.*horizon",
    "run stationary --horizon 1000000000000": r"stationary\.toml:12: .* shorter horizon",
    "run coin.toml": "no scenario 'coin.toml'; did you mean 'coins.toml'",
    "run statonary": "no scenario 'statonary'; did you mean 'stationary'",
    "run coins.toml --cluster nonsense": "no Dask scheduler answers at 'nonsense'",
    "run coins.toml --out coins.toml": "--out coins.toml is not a folder",
    "run coins.toml --out coins.toml/deep": r"cannot write to coins.toml/deep \(Not a directory\)",
    "reproduce statonary": "unknown name 'statonary'; did you mean 'stationary'?",
    "reproduce bernoulli-changes --horizon 4000": "horizon",
    "policies SWLBSA": "unknown policy 'SWLBSA'; did you mean 'SWLBSDA'?",
    "scenarios statonary": "no scenario 'statonary'; did you mean 'stationary'",
    "init coins.toml": "coins.toml exists already",
    "init nowhere/new.toml": "there is no folder nowhere",
    "compare": "arguments are required: RESULT",
    "compare made": "no results 'made', here or in results",
    "report": "there are no results in results",
    "plot made --output made.gif": r"'made.gif' must end in .png, .svg, .pdf",
    "plot made": "arguments are required: --output",
    "completion fsh": "unknown shell 'fsh'; did you mean 'fish'?",
}
MISTAKES_IN_FILES = {
    "run coins.toml": [
        (edited("SWLBSDA", "SWLBSA"), r"coins.toml:\d+: .*'SWLBSA'.* 'SWLBSDA'"),
        (edited("window = 60", "windw = 60"), r"coins.toml:\d+: .*'windw'.* 'window'"),
        (edited('"Bernoulli"', '"Bernouli"'), r"coins.toml:\d+: .*'Bernouli'.* 'Bernoulli'"),
        (edited("start = 150", "start = 300"), r"coins.toml:\d+: .*300.*horizon"),
        (edited("[arms]", "[arms"), r"coins.toml:\d+: this is not TOML"),
        (edited("window = 60", "window = 2"), r"coins.toml:\d+: .*window=2"),
        (a_file, "--out results is not a folder"),
    ],
    "run coins.toml copy.toml": [(renamed, "two scenarios are named 'coins'")],
    "compare newer": [(from_another_version, "results/newer has results of format 99")],
    "compare damaged": [(damage, "results/damaged/final.parquet is damaged")],
    "compare made --baseline C": [(made, "'C'")],
    "compare mad": [(made, "no results 'mad', here or in results; did you mean 'made'?")],
    "compare made --confidence 2": [(made, "--confidence: '2' must lie between 0 and 1")],
    "compare made --method magic": [(made, "unknown --method 'magic'; choose from normal, boot")],
    "plot made --output nowhere/made.png": [(made, "there is no folder nowhere")],
    "report newer": [(from_another_version, "results/newer has results of format 99")],
}
CASES = [(command, None, message) for command, message in MISTAKES.items()] + [
    (command, prepare, message)
    for command, cases in MISTAKES_IN_FILES.items()
    for prepare, message in cases
]


@pytest.mark.parametrize(("command", "prepare", "message"), CASES)
def test_a_mistake_is_one_line_and_status_2(
    lastblock, folder, monkeypatch, command, prepare, message
):
    monkeypatch.setattr(cluster, "_SECONDS_TO_CONNECT", 0.2)
    if prepare is not None:
        prepare(folder)
    before = files_in(folder)
    status, out, err = lastblock(*command.split())
    assert_one_line(err, message)
    assert (status, out) == (2, "")
    assert files_in(folder) == before


def assert_one_line(err, message):
    assert err.startswith("lastblock: error: ")
    assert err.count("\n") == 1
    assert "Traceback" not in err
    assert re.search(message, err), err


@pytest.mark.parametrize("number", [errno.ENOSPC, errno.EDQUOT])
def test_a_full_disk_keeps_what_is_done(lastblock, folder, monkeypatch, number):
    real, written = files.os.fsync, []

    def fill(descriptor):
        written.append(descriptor)
        if len(written) > 2:  # the probe, and one chunk
            raise OSError(number, "the disk is full")
        real(descriptor)

    with monkeypatch.context() as patch:
        patch.setattr(files.os, "fsync", fill)
        status, out, err = lastblock("run", "coins.toml", "--threads", 1)
    assert (status, out) == (2, "")
    assert_one_line(
        err, "no space left in results; finished chunks are kept: free some space and run"
    )
    left = files_in(folder / "results")
    assert len(left) == 1
    assert left[0].startswith(".chunks/")
    kept = (folder / "results" / left[0]).stat().st_mtime_ns
    assert lastblock("run", "coins.toml")[0] == 0
    assert (folder / "results" / left[0]).stat().st_mtime_ns == kept


def test_a_folder_that_cannot_be_written_is_told_of_at_once(lastblock, folder, monkeypatch):
    def refuse(path, data):
        raise OSError(errno.EROFS, "Read-only file system", str(path))

    monkeypatch.setattr(files, "write", refuse)
    status, out, err = lastblock("run", "coins.toml", "--out", "there")
    assert (status, out) == (2, "")
    assert_one_line(err, r"cannot write to there \(Read-only file system\); give another path")
    status, out, err = lastblock("init")
    assert (status, out) == (2, "")
    assert_one_line(err, r"cannot write to scenario.toml \(Read-only")


@pytest.mark.parametrize(
    ("package", "command", "extra"),
    [
        ("pyarrow", "run coins.toml", "lab"),
        ("matplotlib", "plot made --output made.png", "lab"),
        ("distributed", "run coins.toml --cluster tcp://127.0.0.1:1", "cluster"),
    ],
)
def test_a_missing_extra_is_told_of(lastblock, folder, monkeypatch, package, command, extra):
    made(folder)
    for name in [name for name in sys.modules if name.partition(".")[0] == package]:
        monkeypatch.setitem(sys.modules, name, None)
    monkeypatch.delitem(sys.modules, "lastblock.drawing.canvas", raising=False)
    monkeypatch.setitem(sys.modules, package, None)
    status, out, err = lastblock(*command.split())
    assert (status, out) == (2, "")
    assert_one_line(err, rf"this needs {package}: pip install 'lastblock\[{extra}\]'")


def test_a_policy_that_does_not_compile_is_its_authors(lastblock, folder):
    (folder / "mine.py").write_text(BROKEN)
    (folder / "mine.toml").write_text(
        'imports = ["mine.py"]\n' + SCENARIO.replace("LBSDALM", "Broken")
    )
    with mock.patch.dict(lb.POLICIES):
        status, out, err = lastblock("run", "mine.toml", "--quiet")
    assert (status, out) == (2, "")
    assert_one_line(err, r"mine.py:13: Broken.start: its record has no field 'no_such_field'; cho")


BROKEN = """
from typing import NamedTuple
from lastblock.core.registry import policy

@policy()
class Broken(NamedTuple):
    step: int = 1

    def layout(self, arms, horizon):
        return []

    def start(self, s):
        s.no_such_field = 1

    def plan(self, s):
        pass

    def observe(self, s, arm, reward):
        pass
"""


def test_our_own_mistakes_are_said_to_be_ours(lastblock, monkeypatch):
    def fail():
        raise RuntimeError("boom\nand more")

    monkeypatch.setattr(reading, "names", fail)
    status, out, err = lastblock("scenarios")
    assert (status, out) == (1, "")
    assert_one_line(
        err, "this is a defect of lastblock, not your mistake; .* RuntimeError: boom and more"
    )
    assert "Traceback" in lastblock("scenarios", "--traceback")[2]
    monkeypatch.setenv("LASTBLOCK_TRACEBACK", "1")
    assert "Traceback" in lastblock("scenarios")[2]


# ---- The real program ------------------------------------------------------------------------


def test_an_interrupted_run_goes_on(folder):
    many = "run", "coins.toml", "--replications", 500_000
    with heard_interrupts():
        started = program(*many, cwd=folder)
    chunks = folder / "results/.chunks"
    deadline = time.monotonic() + 300
    while sum(path.is_file() for path in chunks.rglob("*")) < 4:
        assert started.poll() is None, started.communicate()
        assert time.monotonic() < deadline
        time.sleep(0.02)
    started.send_signal(signal.SIGINT)
    out, err = started.communicate(timeout=300)
    assert started.returncode == 130
    assert out == ""
    assert err == (
        "lastblock: interrupted: finished chunks are kept in results; "
        "run the same command again to continue\n"
    )
    kept = [path for path in chunks.rglob("*") if path.is_file()]
    assert not [path for path in kept if path.name.startswith(".")]
    assert not (folder / "results/coins").exists()
    times = {path: path.stat().st_mtime_ns for path in kept}
    status, printed, _ = finished(program("run", "coins.toml", "--replications", 500, cwd=folder))
    assert status == 0
    assert "150,000 in" in printed or "nothing to compute" in printed  # at most one chunk was left
    assert times == {path: path.stat().st_mtime_ns for path in kept}


def test_interrupts_are_heard_where_the_caller_ignores_them():
    code = "import signal; print(signal.getsignal(signal.SIGINT) is signal.default_int_handler)"
    before = signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        with heard_interrupts():
            done = subprocess.run(
                [sys.executable, "-c", code], capture_output=True, text=True, check=True
            )
        assert signal.getsignal(signal.SIGINT) is signal.SIG_IGN
    finally:
        signal.signal(signal.SIGINT, before)
    assert done.stdout == "True\n"


def test_a_reader_that_leaves_is_no_error(folder):
    started = program("policies", cwd=folder)
    started.stdout.close()
    assert started.wait(300) == 141
    assert started.stderr.read() == ""
    started.stderr.close()


def test_the_program_is_installed_by_its_name():
    project = tomllib.loads((Path(__file__).parents[2] / "pyproject.toml").read_text())["project"]
    assert pkgutil.resolve_name(project["scripts"]["lastblock"]) is cli.program


def test_the_program_has_an_exit_status(folder):
    status, out, err = finished(program("reproduce", "nothing", cwd=folder))
    assert (status, out) == (2, "")
    assert_one_line(
        err, "unknown name 'nothing'; choose from means, takeover, stationary, .*table1"
    )


def finished(started):
    out, err = started.communicate(timeout=300)
    return started.returncode, out, err
