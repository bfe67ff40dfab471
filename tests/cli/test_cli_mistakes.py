"""Mistakes on the command line: one line that says what to do, and an exit status."""

import errno
import sys
from unittest import mock

import pytest
from coins import SCENARIO, assert_one_line, files_in

import made_results
from lastblock.lab.scenario_files import reading
from lastblock.lab.work import cluster
from lastblock.support import files


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


def renamed(folder):
    (folder / "copy.toml").write_text('name = "coins"\n' + SCENARIO)


MISTAKES = {
    "": "arguments are required: COMMAND",
    "polices": "unknown command 'polices'; did you mean 'policies'?",
    "run": "arguments are required: SCENARIO",
    "serve shop.db --port -1": "--port=-1 must lie between 0 and 65,535",
    "run coins.toml --replication 3": "unknown argument '--replication'; did you mean '--repl",
    "run coins.toml --replications 0": "--replications: 0 must be at least 1",
    "run coin.toml": "no scenario 'coin.toml'; did you mean 'coins.toml'",
    "run coins.toml --cluster nonsense": "no Dask scheduler answers at 'nonsense'",
    "run coins.toml --out coins.toml": "--out coins.toml is not a folder",
    "reproduce statonary": "unknown name 'statonary'; did you mean 'stationary'?",
    "policies SWLBSA": "unknown policy 'SWLBSA'; did you mean 'SWLBSDA'?",
    "policies NOPE": "unknown policy 'NOPE'; choose from AdaptiveLBSDA, AdSwitch, AnytimeMOSS,",
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
    "run coins.toml": (a_file, "--out results is not a folder"),
    "run coins.toml copy.toml": (renamed, "two scenarios are named 'coins'"),
    "compare damaged": (damage, "results/damaged/final.parquet is damaged"),
    "compare mad": (made, "no results 'mad', here or in results; did you mean 'made'?"),
    "compare made --confidence 2": (made, "--confidence: '2' must lie between 0 and 1"),
    "compare made --test magic": (made, "unknown --test 'magic'; choose from means, ranks"),
    "compare made --json --csv": (made, "not allowed with argument"),
    "compare made --test ranks --latex": (made, "take --test means"),
    "plot made --output nowhere/made.png": (made, "there is no folder nowhere"),
    "plot made --output made.svg --width wide": (made, "must be a width such as 3.25in"),
    "report newer": (from_another_version, "results/newer has results of format 99"),
}
CASES = [(command, None, message) for command, message in MISTAKES.items()]
CASES += [(command, *case) for command, case in MISTAKES_IN_FILES.items()]


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
    assert not (folder / "nowhere").exists()


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
