"""Programs in processes of their own, which find the same modules as the tests."""

import atexit
import functools
import json
import os
import select
import subprocess
import sys
import tempfile
from pathlib import Path

PATIENCE = 1200
"""Seconds after which a program hangs."""


def environment(**more):
    """The variables of such a process."""
    here = os.pathsep.join(filter(None, sys.path))
    return {**os.environ, "PYTHONPATH": here, **{name: str(value) for name, value in more.items()}}


def run_python(*arguments, **variables):
    """Run Python with these arguments; its exit status and what it wrote."""
    return subprocess.run(
        [sys.executable, *map(str, arguments)],
        env=environment(**variables),
        capture_output=True,
        text=True,
        check=False,
        timeout=PATIENCE,
    )


def once_for_all_workers(tmp_path_factory, name, work):
    """What `work()` returns, which one of the processes that share the tests does for all.

    The result must be plain data, since it goes through a file.
    """
    import fcntl  # noqa: PLC0415  # not on every system

    folder = tmp_path_factory.getbasetemp()
    if "PYTEST_XDIST_WORKER" in os.environ:
        folder = folder.parent
    path = folder / f"{name}.json"
    with open(folder / f"{name}.lock", "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)  # until the file is closed
        if not path.exists():
            path.write_text(json.dumps(work()))
    return json.loads(path.read_text())


def run_trial(program, *arguments):
    """What a trial returns, one of a program that has `store_trials.main`."""
    return _server_of(program).run(*map(str, arguments))


@functools.cache
def _server_of(program):
    server = _TrialServer(program)
    atexit.register(server.close)
    return server


class _TrialServer:
    """A process that has imported all, and runs each trial in a fork of its own."""

    def __init__(self, program):
        self._folder = tempfile.TemporaryDirectory()
        self._process = subprocess.Popen(
            [sys.executable, str(program), "--serve"],
            env=environment(),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            bufsize=1,
        )

    def run(self, *trial):
        out, err = (Path(self._folder.name) / name for name in ("out", "err"))
        for path in (out, err):
            path.unlink(missing_ok=True)
        print(json.dumps([str(out), str(err), *trial]), file=self._process.stdin)
        answers, _, _ = select.select([self._process.stdout], [], [], PATIENCE)
        assert answers, f"{trial} hangs"
        status = self._process.stdout.readline()
        assert status == "0\n", err.read_text() if err.exists() else status
        return json.loads(out.read_text())

    def close(self):
        self._process.communicate()
        self._folder.cleanup()
