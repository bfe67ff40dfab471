"""What runs on a push: on every Python that is supported, with no more rights than it needs."""

import re
import tomllib
from pathlib import Path

import yaml

ROOT = Path(__file__).parents[1]
WORKFLOWS = ROOT / ".github" / "workflows"


def read(path):
    return yaml.safe_load(path.read_text())


def test_every_supported_python_is_tested():
    matrix = read(WORKFLOWS / "tests.yml")["jobs"]["linux"]["strategy"]["matrix"]
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    assert project["requires-python"] == f">={matrix['python'][0]}"
    assert matrix["python"] == ["3.11", "3.12", "3.13", "3.14"]


def test_only_what_publishes_may_write():
    for path in WORKFLOWS.glob("*.yml"):
        workflow = read(path)
        assert workflow["permissions"] == {"contents": "read"}, path
        for name, job in workflow["jobs"].items():
            assert "permissions" not in job or name == "publish", path


def test_workflows_name_actions_by_commit_and_what_publishes_its_tools_by_hash():
    for path in WORKFLOWS.glob("*.yml"):
        for action in re.findall(r"uses: (.+)", path.read_text()):
            assert re.fullmatch(r"[\w/-]+@[0-9a-f]{40}  # v[\d.]+", action), path
    tools = (ROOT / ".github" / "release-tools.txt").read_text().splitlines()[1:]
    assert all(re.fullmatch(r"\S+==\S+ --hash=sha256:[0-9a-f]{64}", tool) for tool in tools)
    build = (WORKFLOWS / "release.yml").read_text().partition("upload-artifact")[0]
    installed = re.findall(r"pip install (.+)", build)
    assert installed == ["--require-hashes --only-binary :all: -r .github/release-tools.txt"]
    assert "python -m build --no-isolation" in build
