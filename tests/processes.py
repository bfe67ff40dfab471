"""Programs in processes of their own, which find the same modules as the tests."""

import json
import os
import subprocess
import sys


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
        timeout=1200,  # in case it hangs
    )


def run_trial(program, *arguments):
    """What a program prints as JSON."""
    done = run_python(program, *arguments)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)
