"""The examples of the service run against a real one: in the shell, in JavaScript, in Python."""

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from serve.program import Program

EXAMPLES = Path(__file__).parents[2] / "examples" / "service"


@pytest.fixture(scope="module")
def environment(tmp_path_factory, kept_kernels):
    """A running service, as the environment of a program."""
    store = tmp_path_factory.mktemp("examples") / "shop.db"
    with Program(store, jit=True) as server:
        yield {**os.environ, "LASTBLOCK_URL": server.url, "LASTBLOCK_KEY": server.key}
        assert server.end() == 0


def run(command, environment):
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.mark.skipif(shutil.which("curl") is None, reason="curl is not installed")
def test_the_shell(environment):
    assert '"arm":' in run(["sh", str(EXAMPLES / "decide.sh")], environment)


@pytest.mark.skipif(shutil.which("node") is None, reason="Node is not installed")
def test_javascript(environment):
    said = run(["node", str(EXAMPLES / "button.mjs")], environment)
    pulls = [int(number) for number in re.findall(r": (\d+)", said)]
    assert len(pulls) == 2
    assert sum(pulls) >= 15  # on a busy machine some visitors get the fallback


def test_the_router_of_models(environment):
    assert len((EXAMPLES / "model_router.py").read_text().splitlines()) <= 60
    assert "medium" in run([sys.executable, str(EXAMPLES / "model_router.py")], environment)
