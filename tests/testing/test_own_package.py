"""A stranger's package with a policy of its own: the documentation's files, built and installed."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

import lastblock as lb
from documented import PAGE
from lastblock.testing import POLICY_CHECKS

BLOCK = re.compile(r"^```(python|toml)\n(?:# (\w+\.py)\n)?(.*?)^```", re.DOTALL | re.MULTILINE)


@pytest.fixture(scope="module")
def package(tmp_path_factory):
    """The folder of the sources; the package itself is installed in the folder `installed`."""
    folder = tmp_path_factory.mktemp("package")
    for language, name, text in BLOCK.findall(PAGE.read_text(encoding="utf-8")):
        file = "pyproject.toml" if language == "toml" else name
        if file:
            (folder / file).write_text(text, encoding="utf-8")
    pip = [sys.executable, "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
    offline = ["--no-deps", "--no-index", "--no-build-isolation"]  # what builds it is there
    target = folder / "installed"
    subprocess.run([*pip, *offline, "--target", str(target), str(folder)], check=True)
    (folder / "explore_first.py").unlink()  # lest it be imported instead of the installed one
    return folder


def run_in(package, *arguments, **env):
    ours = Path(lb.__file__).parents[1]
    path = os.pathsep.join([str(package / "installed"), str(ours)])
    return subprocess.run(
        [sys.executable, *arguments],
        cwd=package,
        env={**os.environ, "PYTHONPATH": path, **env},
        capture_output=True,
        text=True,
        check=False,
    )


def test_only_the_policy_is_installed(package):
    assert sorted(path.name for path in (package / "installed").glob("*.py")) == [
        "explore_first.py"
    ]


def test_it_passes_the_suite(package):
    done = run_in(package, "-m", "pytest", "-q", "-W", "error", "-p", "no:cacheprovider")
    assert done.returncode == 0, done.stdout + done.stderr
    assert f"{2 * len(POLICY_CHECKS)} passed" in done.stdout  # two examples


def test_a_mistake_is_named(package):
    """The same package with an arm that is explored alone, tested without the JIT."""
    source = package / "installed" / "explore_first.py"
    text = source.read_text(encoding="utf-8")
    broken = text.replace("below(s.stream, s.arms)", "0")
    assert broken != text
    (package / "broken.py").write_text(broken, encoding="utf-8")
    code = (
        "import lastblock.testing as suite, broken; suite.check_policy(broken.ExploreFirst(), "
        "skip=set(suite.POLICY_CHECKS) - {'arms_have_no_favourites'})"
    )
    done = run_in(package, "-W", "error", "-c", code, NUMBA_DISABLE_JIT="1")
    assert done.returncode == 1
    assert "ExploreFirst(exploration=100) fails 1 of 1 checks" in done.stderr
    assert "- arms_have_no_favourites: with the arms in another order" in done.stderr
