"""Scenario files: what they say is what is built."""

import re
from pathlib import Path

import pytest

import lastblock as lb
from documented import EXPLORE_FIRST
from lastblock.lab.scenario_files.reading import TEMPLATE, names, read

ROOT = Path(__file__).parents[2]
BLOCK = re.compile(r"^```toml\n(.*?)^```", re.DOTALL | re.MULTILINE)
DOCS = ROOT / "docs"
DOCUMENTED = [
    block
    for page in sorted(DOCS.rglob("*.md"))
    for block in BLOCK.findall(page.read_text())
    if "[build-system]" not in block  # a package's, not a scenario's
]
HEAD = "horizon = 1000\n"
ARMS = '[arms]\nfamily = "Bernoulli"\nmean = [0.2, 0.5]\n'
CHANGE = """
[arms]
family = "Bernoulli"
[[phases]]
mean = [0.2, 0.5]
[[phases]]
start = 400
mean = [0.5, 0.2]
"""
POLICY = '[[policies]]\npolicy = "LBSDA"\n'


pytestmark = pytest.mark.usefixtures("own_imports")


@pytest.fixture
def load(tmp_path):
    """Read a text as a scenario file."""

    def load_text(text, name="mine.toml", **options):
        (tmp_path / name).write_text(text, encoding="utf-8")
        return read(tmp_path / name, **options)

    return load_text


def policy(load, text, world=CHANGE, top=HEAD):
    return next(iter(load(f"{top}{world}[[policies]]\n{text}").policies.values()))


# The package's own scenarios


@pytest.mark.parametrize("name", names())
def test_scenarios_of_the_package_are_as_large_as_the_papers(name):
    scenario = lb.lab.Scenario.load(name)
    assert (scenario.name, scenario.horizon, scenario.replications) == (name, 10_000, 2000)
    assert scenario.source is not None


def test_the_papers_gaussian_scenario():
    scenario = read("gaussian-changes")
    means = {
        0: (0.9, 0.5, 0.4),
        2500: (0.4, 0.8, 0.5),
        4500: (0.3, 0.2, 0.7),
        7000: (0.9, 0.8, 0.4),
    }
    phases = {t: [lb.Gaussian(mean, 0.5) for mean in arms] for t, arms in means.items()}
    assert str(scenario.environment) == str(lb.Piecewise(phases))
    times = {"horizon": 10_000, "changes": 3}
    told = {"family": "gaussian", "prior_mean": 0.5, "prior_sigma": 0.5, "sigma": 0.5}
    assert dict(scenario.policies) == {
        "SW-LB-SDA": lb.SWLBSDA(window=350),
        "SW-TS": lb.SlidingWindowThompson(window=350, **told),
        "DTS": lb.DiscountedThompson.tuned(**times, **told),
        "SW-UCB": lb.SWUCB(window=700, scale=0.5 * 2**0.5, reference=True),
        "D-UCB": lb.DUCB.tuned(**times, sigma=0.5),
        "UCB1": lb.UCB1(scale=0.5 * 2**0.5),
        "EXP3.S": lb.EXP3S.tuned(**times, arms=3, as_is=True),
    }


@pytest.mark.parametrize(("suffix", "last"), [("", 0.25), ("-notebook", 0.5)])
def test_the_two_readings_of_the_variance_scenario(suffix, last):
    phases = read(f"gaussian-variance-changes{suffix}").environment.phases
    assert [{arm.std for arm in arms} for arms in phases] == [{0.5}, {0.25}, {1.0}, {last}]


def test_reference_mode_makes_the_choices_of_the_authors_code():
    policies = read("bernoulli-changes", reference=True).policies
    assert policies["SW-LB-SDA"] == lb.SWLBSDA(window=429, reference=True)
    assert policies["EXP3.S"].reference
    assert policies["SW-TS"] == read("bernoulli-changes").policies["SW-TS"]


def test_reference_mode_reaches_policies_within_policies(load):
    text = 'policy = "OracleRestart"\nof = "LBSDA"\n'
    scenario = load(f"{HEAD}{CHANGE}[[policies]]\n{text}", reference=True)
    assert scenario.policies["OracleRestart"] == lb.OracleRestart(
        lb.LBSDA(reference=True), scenario.environment
    )


# Arms and policies


def parts():
    """Parts of scenario files, and the Python that makes the same."""
    text = (ROOT / "tests/data/scenario_files.txt").read_text(encoding="utf-8")
    for paragraph in text.split("\n\n")[1:]:
        part, equals, made = paragraph.partition("\n= ")
        if equals:
            yield pytest.param(part, made, id=made)


@pytest.mark.parametrize(("part", "made"), [*parts()])
def test_a_part_of_a_file_is_what_it_describes(load, part, made):
    world = load(f"{HEAD}{CHANGE}{POLICY}").environment
    if part.startswith("policy"):
        found = policy(load, part)
    else:
        found = load(f"{HEAD}{part}\n{POLICY}").environment
    assert repr(found) == repr(eval(made, {"lb": lb, "world": world}))


def test_tunings_follow_the_horizon_and_the_changes_at_the_top(load):
    text = '[[policies]]\npolicy = "SWLBSDA.tuned"'
    scenario = load(f"{HEAD}{CHANGE}{text}", horizon=5000)
    assert scenario.horizon == 5000
    assert scenario.policies["SWLBSDA"] == lb.SWLBSDA.tuned(horizon=5000, changes=1)
    scenario = load(f"changes = 7\n{HEAD}{CHANGE}{text}")
    assert scenario.policies["SWLBSDA"] == lb.SWLBSDA.tuned(horizon=1000, changes=7)


def test_a_change_that_changes_nothing_is_not_counted(load):
    same = '[arms]\nfamily = "Bernoulli"\nmean = [0.2, 0.5]\n[[phases]]\n[[phases]]\nstart = 4\n'
    text = f'{HEAD}{same}[[policies]]\npolicy = "SWLBSDA.tuned"'
    assert load(text).policies["SWLBSDA"].window == 1000


def test_the_best_arm_of_means_that_drift(load):
    drift = '[arms]\nfamily = "Dirac"\nmean = [{ values = [0, 9], times = [0, 9] }, 4.5]\n'
    assert policy(load, 'policy = "BestArm"', world=drift) == lb.BestArm([0, 5], [1, 0])


def test_labels_are_the_names_of_the_policies_unless_given(load):
    text = f'{HEAD}{ARMS}{POLICY}[[policies]]\npolicy = "UCB1.gaussian"\nsigma = 1\nlabel = "U"'
    assert list(load(text).policies) == ["LBSDA", "U"]


# The rest


def test_defaults_and_overrides(load):
    text = f"{HEAD}{ARMS}{POLICY}"
    scenario = load(text, name="two-coins.toml")
    assert (scenario.name, scenario.title, scenario.seed) == ("two-coins", "", 1)
    assert scenario.replications == 2000
    assert scenario.describe()["title"] == "two-coins"
    assert scenario.source == text
    assert scenario.replace(seed=2).source == text
    assert scenario.replace(horizon=200).source is None  # tunings would follow a file's
    assert scenario.with_reference().source is None
    scenario = load(f'name = "n"\ntitle = "T"\nseed = 3\nreplications = 4\n{text}')
    assert (scenario.name, scenario.title) == ("n", "T")
    assert (scenario.seed, scenario.replications) == (3, 4)
    scenario = load(f"seed = 3\nreplications = 4\n{text}", seed=0, replications=9)
    assert (scenario.seed, scenario.replications) == (0, 9)


def test_a_mark_before_the_text_and_windows_line_ends_change_nothing(load, tmp_path):
    text = f"{HEAD}{ARMS}{POLICY}"
    file = tmp_path / "windows.toml"
    file.write_bytes(b"\xef\xbb\xbf" + text.replace("\n", "\r\n").encode())
    assert read(file).policies == load(text).policies


def test_the_template_runs_as_it_is(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    Path("mine.toml").write_text(TEMPLATE, encoding="utf-8")
    result = lb.lab.run("mine.toml", replications=4, threads=1)
    assert result.name == "mine"
    assert result.changes == [2500]
    assert (result.final.groupby("policy", observed=True).size() == 4).all()


def test_the_template_with_all_that_is_commented_out(tmp_path, load):
    """What a user gets by removing the comment signs is right, too."""
    (tmp_path / "my_policies.py").write_text(EXPLORE_FIRST)
    own = re.sub(r"^# (imports = \S+).*$", r"\1", TEMPLATE, flags=re.M)
    own = re.sub(r'^# ?((?:\[\[policies\]\]|policy = "Exp|exploration).*)$', r"\1", own, flags=re.M)
    assert load(own).policies["ExploreFirst"].exploration == 200
    start, end = TEMPLATE.index("[arms]\n"), TEMPLATE.index("# ---- Policies")
    world = TEMPLATE[start:end]
    blocks = re.findall(r"^# (?:\[arms\]|\[\[arms\]\])\n(?:#.*\n)+", world, flags=re.M)
    assert len(blocks) == 2
    for block in blocks:
        plain = re.sub(r"^# ?", "", block, flags=re.M)
        assert load(f"changes = 4\n{TEMPLATE[:start]}{plain}{TEMPLATE[end:]}").environment


@pytest.mark.parametrize("block", DOCUMENTED)
def test_documented_blocks_are_scenarios(block, load, tmp_path):
    (tmp_path / "my_policies.py").write_text(EXPLORE_FIRST)
    if "horizon" not in block:  # a part of one: the rest is here
        block = f"horizon = 10_000\n{block}"
    if not re.search(r"^\[(\[?arms|prior)\]", block, re.M):
        block += ARMS
    if "[[policies]]" not in block:
        block += POLICY
    assert load(block).policies
