"""Policies and arms of the user's own, from files that a scenario names."""

import pickle
import subprocess
import sys

import pytest

import lastblock as lb
from documented import EXPLORE_FIRST, FAMILY
from lastblock.lab.scenario_files.reading import read
from lastblock.support.errors import ScenarioError

pytestmark = pytest.mark.usefixtures("own_imports")

SCENARIO = """
horizon = 300
replications = 3
imports = ["my_policies.py"]
[arms]
family = "Bernoulli"
mean = [0.2, 0.6]
[[policies]]
policy = "ExploreFirst"
exploration = 20
"""


@pytest.fixture
def scenario(tmp_path):
    """A scenario file, and beside it a file with a policy."""
    (tmp_path / "my_policies.py").write_text(EXPLORE_FIRST)
    (tmp_path / "mine.toml").write_text(SCENARIO)
    return tmp_path / "mine.toml"


def refused(path):
    with pytest.raises(ScenarioError) as caught:
        read(path)
    assert "\n" not in str(caught.value)
    return str(caught.value).removeprefix(f"{path.parent}/")


def test_a_policy_of_the_users_own_runs(scenario, tmp_path):
    result = lb.lab.run(scenario, out=tmp_path / "results", threads=1)
    regrets = result.final.regret
    assert result.labels == ["ExploreFirst"]
    assert len(regrets) == 3
    assert (regrets > 0).all()  # the 20 rounds at random pull the worse arm


@pytest.fixture
def with_arms(scenario):
    """The same file, with arms from another one beside it."""
    (scenario.parent / "my_arms.py").write_text(FAMILY)
    text = SCENARIO.replace('["my_policies.py"]', '["my_policies.py", "my_arms.py"]')
    text = text.replace("Bernoulli", "Uniform").replace("mean", "low = 0\nhigh")
    scenario.write_text(text)
    return scenario


def test_arms_of_the_users_own(with_arms):
    assert "Uniform" not in lb.FAMILIES
    world = read(with_arms).environment
    uniform = lb.FAMILIES["Uniform"]
    assert world.phases == ((uniform(0.0, 0.2), uniform(0.0, 0.6)),)
    assert read(with_arms).environment.phases == world.phases


def test_a_file_is_imported_once_until_it_is_edited(scenario):
    first = read(scenario).policies["ExploreFirst"]
    assert type(read(scenario).policies["ExploreFirst"]) is type(first)
    edited = EXPLORE_FIRST.replace(")] = 100", ")] = 77")
    (scenario.parent / "my_policies.py").write_text(edited)
    scenario.write_text(SCENARIO.replace("exploration = 20", ""))
    second = read(scenario).policies["ExploreFirst"]
    assert type(second) is not type(first)
    assert second.exploration == 77


def test_what_an_edited_file_no_longer_defines_is_gone(scenario):
    read(scenario)
    (scenario.parent / "my_policies.py").write_text("")
    unknown = "mine.toml: policies[0].policy: unknown policy 'ExploreFirst'; "
    assert refused(scenario).startswith(unknown)


def another(folder, text):
    """The same scenario in another folder, beside this file."""
    folder.mkdir()
    (folder / "mine.toml").write_text(SCENARIO)
    (folder / "my_policies.py").write_text(text)
    return folder / "mine.toml"


def test_a_copy_of_a_file_is_the_same_file(scenario, tmp_path):
    copy = another(tmp_path / "copy", EXPLORE_FIRST)
    assert read(copy).policies == read(scenario).policies


def test_two_files_cannot_define_the_same_policy(scenario, tmp_path):
    read(scenario)
    text = f"# another one\n{EXPLORE_FIRST}"
    line = 1 + text[: text.index("\n@policy(")].count("\n") + 1
    assert refused(another(tmp_path / "other", text)) == (
        f"mine.toml: imports[0]: my_policies.py, line {line}: ExploreFirst is the name of "
        f"a class in {tmp_path}/my_policies.py; choose another name"
    )
    assert read(scenario).policies["ExploreFirst"].exploration == 20


def test_a_file_may_import_its_neighbours_and_a_module_may_be_named(scenario, monkeypatch):
    folder = scenario.parent
    (folder / "my_numbers_for_scenarios.py").write_text("PAUSE = 33\n")
    text = EXPLORE_FIRST.replace(")] = 100", ")] = PAUSE")
    text = f"from my_numbers_for_scenarios import PAUSE\n{text}"
    (folder / "my_policies.py").write_text(text)
    scenario.write_text(SCENARIO.replace("exploration = 20", ""))
    path = list(sys.path)
    assert read(scenario).policies["ExploreFirst"].exploration == 33
    assert sys.path == path

    (folder / "my_module_for_scenarios.py").write_text(EXPLORE_FIRST.replace("First", "Last"))
    monkeypatch.syspath_prepend(folder)
    text = SCENARIO.replace("my_policies.py", "my_module_for_scenarios")
    scenario.write_text(text.replace("ExploreFirst", "ExploreLast"))
    assert read(scenario).policies["ExploreLast"].exploration == 20
    for name in ("my_numbers_for_scenarios", "my_module_for_scenarios"):
        del sys.modules[name]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("x = (", ", line 1: '(' was never closed"),
        ("\n\n1 / 0", ", line 3: ZeroDivisionError: division by zero"),
        ("import nowhere", ", line 1: ModuleNotFoundError: No module named 'nowhere'"),
        ("def f():\n    raise KeyError('two\\nlines')\nf()", ", line 2: KeyError: 'two\\nlines'"),
        ("x = '\0'", ", line 1: source code string cannot contain null bytes"),
        ("\udcff", ":1: byte 0xff is not UTF-8; save the file as UTF-8"),
    ],
)
def test_a_file_that_fails(scenario, text, expected):
    (scenario.parent / "my_policies.py").write_text(text, "utf-8", "surrogateescape")
    assert refused(scenario) == f"mine.toml: imports[0]: my_policies.py{expected}"


def test_a_file_that_fails_half_way_leaves_nothing(scenario):
    (scenario.parent / "my_policies.py").write_text(f"{EXPLORE_FIRST}\n1 / 0\n")
    assert "ZeroDivisionError" in refused(scenario)
    assert "ExploreFirst" not in lb.POLICIES
    (scenario.parent / "my_policies.py").write_text(EXPLORE_FIRST)
    good = read(scenario).policies["ExploreFirst"]
    (scenario.parent / "my_policies.py").write_text(f"{EXPLORE_FIRST}\n1 / 0\n")
    assert "ZeroDivisionError" in refused(scenario)
    assert lb.POLICIES["ExploreFirst"] is type(good)


def test_files_that_are_not_there_or_no_text(scenario):
    folder = scenario.parent
    (folder / "my_policies.py").rename(folder / "my_policy.py")
    assert refused(scenario) == (
        "mine.toml: imports[0]: there is no file 'my_policies.py'; did you mean 'my_policy.py'?"
    )
    scenario.write_text(SCENARIO.replace("my_policies.py", "my_policy"))
    assert refused(scenario) == (
        "mine.toml: imports[0]: there is no module 'my_policy'; did you mean 'my_policy.py'?"
    )
    (folder / "my_policy.py").unlink()
    scenario.write_text(SCENARIO)
    assert refused(scenario) == (
        "mine.toml: imports[0]: there is no file 'my_policies.py'; "
        f"lastblock looked in {folder.resolve()}"
    )


def test_a_class_that_raises_something_odd(scenario):
    method = "    def validate(self):\n        self.exploration.real.no\n\n    def layout("
    text = EXPLORE_FIRST.replace("    def layout(", method)
    (scenario.parent / "my_policies.py").write_text(text)
    odd = "AttributeError: 'int' object has no attribute 'no'"
    assert refused(scenario) == f"mine.toml: policies[0].policy: ExploreFirst: {odd}"


def test_policies_and_arms_travel_to_processes_without_the_file(with_arms, tmp_path):
    loaded = read(with_arms)
    sent = {"policy": loaded.policies["ExploreFirst"], "arms": loaded.environment.phases}
    assert pickle.loads(pickle.dumps(sent)) == sent
    (tmp_path / "sent").write_bytes(pickle.dumps(sent))
    (tmp_path / "my_policies.py").unlink()
    (tmp_path / "my_arms.py").unlink()
    code = "import pickle, sys; print(pickle.load(open(sys.argv[1], 'rb')))"
    there = subprocess.check_output([sys.executable, "-c", code, tmp_path / "sent"], text=True)
    assert there.strip() == repr(sent)
