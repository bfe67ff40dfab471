"""The program as it is installed: interrupts, readers that leave, its exit status."""

import pkgutil
import signal
import subprocess
import sys
import time
import tomllib
from contextlib import contextmanager
from pathlib import Path

from coins import assert_one_line

import lastblock as lb
from lastblock import cli


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


def test_an_interrupted_and_a_killed_run_go_on(folder):
    def chunks():
        return [path for path in (folder / "results/.chunks").rglob("*-*") if path.is_file()]

    deadline = time.monotonic() + 300
    said = "lastblock: interrupted: finished chunks are kept in results; "
    said += "run the same command again to continue\n"
    for end, status, err in ((signal.SIGINT, 130, said), (signal.SIGKILL, -signal.SIGKILL, "")):
        assert not [path for path in chunks() if path.name.startswith(".")]
        enough = len(chunks()) + 3
        with heard_interrupts():
            started = program("run", "coins.toml", "--replications", 500_000, cwd=folder)
        while len(chunks()) < enough:
            assert started.poll() is None, started.communicate()
            assert time.monotonic() < deadline
            time.sleep(0.02)
        started.send_signal(end)
        assert started.communicate(timeout=300) == ("", err)
        assert started.returncode == status
    assert not (folder / "results/coins").exists()
    times = {path: path.stat().st_mtime_ns for path in chunks()}
    status, printed, _ = finished(program("run", "coins.toml", "--replications", 500, cwd=folder))
    assert status == 0
    assert "150,000 in" in printed or "nothing to compute" in printed  # at most one chunk was left
    assert times == {path: path.stat().st_mtime_ns for path in times}
    whole = lb.lab.run("coins.toml", out="whole", replications=500)
    assert lb.lab.load("results/coins").final.equals(whole.final)


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
