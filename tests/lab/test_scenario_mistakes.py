"""Every mistake in a scenario file is one line: the file, the line, and what to write instead."""

import re
from pathlib import Path

import pytest

from lastblock.cli.program import main
from lastblock.lab.scenario_files.reading import names, read
from lastblock.support.errors import ScenarioError

GOOD = """\
horizon = 1000
replications = 10

[arms]
family = "Gaussian"
std = 0.5

[[phases]]
start = 0
mean = [0.9, 0.5, 0.4]

[[phases]]
start = 500
mean = [0.4, 0.8, 0.5]

[[policies]]
policy = "SWLBSDA.tuned"
label = "A"

[[policies]]
policy = "SlidingWindowThompson"
label = "B"
window = "garivier"
family = "gaussian"

[[claims]]
text = "A is best"
best = "A"
"""


@pytest.fixture(autouse=True)
def _folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)


def complaint(text):
    Path("x.toml").write_text(text, encoding="utf-8")
    with pytest.raises(ScenarioError) as caught:
        read("x.toml")
    message = str(caught.value)
    assert "\n" not in message
    return message


MISTAKES = Path(__file__).parents[1] / "data" / "scenario_mistakes.txt"


def cases():
    """What is replaced in the good file, by what, and the complaint."""
    for paragraph in MISTAKES.read_text(encoding="utf-8").split("\n\n")[1:]:
        lines = [line.replace("\\n", "\n") for line in paragraph.splitlines() if line[:1] != "#"]
        if lines:
            old = [line[2:] for line in lines if line[0] == "-"]
            new = next(line[2:] for line in lines if line[0] == "+")
            yield pytest.param(old, new, lines[-1], id=lines[-1])


@pytest.mark.parametrize(("old", "new", "expected"), [*cases()])
def test_the_complaint_says_where_and_what(old, new, expected):
    assert all(GOOD.count(text) > 0 for text in old)
    if not old:  # a short file, in which the policies are missing as well
        assert f"x.toml:{expected}" in complaints_of(new)
        return
    found = complaint(GOOD.replace(old[0], new, 1))
    if expected.endswith("…") and found != f"x.toml:{expected}":
        found = f"{found[: len('x.toml:') + len(expected) - 1]}…"
    assert found == f"x.toml:{expected}"


ODD = ["0", "-1", "3.5", "nan", "1e999", "true", '""', '"x"', "[]", "[[]]", "[1, 2]", "['a', {}]"]
ODD += ["{}", "{ a = [{}] }", "1979-05-27", "07:32:00", "9" * 400, "[" * 50 + "]" * 50]


@pytest.mark.parametrize("value", ODD)
def test_whatever_stands_there_is_read_or_refused_with_its_place(value):
    lines = GOOD.splitlines()
    complaints = []
    for i, line in enumerate(lines):
        key, equals, _ = line.partition(" = ")
        if equals:
            Path("x.toml").write_text("\n".join([*lines[:i], f"{key} = {value}", *lines[i + 1 :]]))
            try:
                read("x.toml")
            except ScenarioError as error:
                complaints.append(str(error))
    assert complaints
    for complaint in complaints:
        head, *lines = complaint.splitlines()
        assert not lines or head == f"x.toml has {len(lines)} mistakes:"
        for line in lines or [head]:
            assert re.fullmatch(r"x\.toml:\d+: \S[^\n]{10,700}", line)


def complaints_of(text):
    """All lines that are said about a text."""
    Path("x.toml").write_text(text, encoding="utf-8")
    with pytest.raises(ScenarioError) as caught:
        read("x.toml")
    return str(caught.value).splitlines()


def test_all_mistakes_are_told_at_once():
    text = GOOD
    for old, new in [
        ("replications = 10", "replication = 10\nseed = -1"),
        ("mean = [0.9, 0.5, 0.4]", "mean = [0.9, 0.5, 'x']"),
        ("start = 500", "start = 5000"),
        ('"SWLBSDA.tuned"', '"SWLBSDA.tunde"'),
        ('family = "gaussian"', 'famly = "gaussian"\nwindw = 3'),
        ('text = "A is best"', 'texts = "A is best"'),
    ]:
        assert old in text
        text = text.replace(old, new)
    assert complaints_of(text) == [
        "x.toml has 8 mistakes:",
        "x.toml:2: unknown key 'replication' in a scenario; did you mean 'replications'?",
        "x.toml:3: seed=-1 must be at least 0",
        "x.toml:11: Gaussian: mean='x' must be a number",
        "x.toml:14: this phase starts at 5000, beyond the horizon 1000; give a longer horizon or "
        "remove the phase",
        "x.toml:18: SWLBSDA has no constructor 'tunde'; did you mean 'SWLBSDA.tuned'?",
        "x.toml:25: SlidingWindowThompson has no parameter 'famly'; did you mean 'family'?",
        "x.toml:26: SlidingWindowThompson has no parameter 'windw'; did you mean 'window'?",
        "x.toml:29: unknown key 'texts' in [[claims]]; did you mean 'text'?",
    ]


def test_one_wrong_arm_does_not_hide_another():
    text = 'horizon = 300\nreplications = 20\n[[arms]]\nfamily = "Bernoulli"\nmean = 1.4\n'
    text += '[[arms]]\nfamily = "Bernouli"\nmean = 0.4\n[[policies]]\npolicy = "UCB1"\n'
    assert complaints_of(text) == [
        "x.toml has 2 mistakes:",
        "x.toml:5: Bernoulli: mean=1.4 must lie in [0, 1]",
        "x.toml:7: unknown family 'Bernouli'; did you mean 'Bernoulli'?",
    ]


def test_a_wrong_arm_does_not_hide_wrong_values_of_policies():
    text = 'horizon = 300\nreplications = 20\n[[arms]]\nfamily = "Bernoulli"\nmean = 1.4\n'
    text += '[[arms]]\nfamily = "Bernoulli"\nmean = 0.4\n'
    text += '[[policies]]\npolicy = "LBSDALM"\nscale = "garivier_windw"\n'
    text += '[[policies]]\npolicy = "SWLBSDA"\nwindow = -3\n'
    text += '[[policies]]\npolicy = "KLUCB"\nfamily = "gausian"\n'
    text += '[[policies]]\npolicy = "SWLBSDA.tuned"\n'  # needs the arms: nothing is said
    first, *others = complaints_of(text)
    assert first == "x.toml has 4 mistakes:"
    assert [line.partition(": ")[0] for line in others] == [
        f"x.toml:{line}" for line in (5, 11, 14, 17)
    ]
    assert "scale='garivier_windw' must be a number, or the name of a" in others[1]
    assert "window=-3 must" in others[2]
    assert "unknown family 'gausian'; did you mean 'gaussian'?" in others[3]


def test_an_empty_file():
    assert [line.partition(";")[0] for line in complaints_of("")] == [
        "x.toml has 3 mistakes:",
        "x.toml:1: a scenario needs a horizon, in steps",
        "x.toml:1: a scenario needs arms",
        "x.toml:1: a scenario needs policies",
    ]


def test_more_mistakes_than_anybody_reads():
    lines = complaints_of("\n".join(f"key{i} = 1" for i in range(40)) + "\n" + GOOD)
    assert lines[0] == "x.toml has 40 mistakes:"
    assert lines[-1] == "… and 20 more"
    assert len(lines) == 22


def test_the_command_shows_a_line_for_each(capsys):
    Path("x.toml").write_text("horizon = 0\n")
    assert main(["run", "x.toml"]) == 2
    head, *lines = capsys.readouterr().err.splitlines()
    assert head == "lastblock: error: x.toml has 3 mistakes:"
    assert lines[0] == "x.toml:1: horizon=0 must be at least 1"


@pytest.mark.parametrize(
    ("value", "expected"),
    [("9" * 5000, "a number has too many digits"), ("[" * 5000, "brackets are nested too deep")],
    ids=["digits", "brackets"],
)
def test_files_that_are_too_much(value, expected):
    assert complaint(f"horizon = {value}") == f"x.toml: {expected}"


DRIFT = """\
horizon = 100
[arms]
family = "Bernoulli"
mean = [0.5,
{}]
[[policies]]
policy = "{}"
"""


@pytest.mark.parametrize(
    ("mean", "expected"),
    [
        (
            "{ centre = 0.9, amplitude = 0.2, period = 9 }",
            "the mean is 1.1 at time step 2, but Bernoulli: mean=1.1 must lie in [0, 1]",
        ),
        ("{ center = 0.9 }", "unknown key 'center' in the path of a mean; did you mean 'centre'?"),
        ("{ centre = 0.9, amplitude = 0.1, period = 0 }", "Sinusoid: period=0.0 must be positive"),
        (
            "{ centre = 0.9 }",
            "the path of a mean needs amplitude and period; "
            "give centre, amplitude and period, or values and times",
        ),
        (
            "{ values = [0, 1], times = [0] }",
            "Table: 1 times for 2 values; give one time for each value",
        ),
        ("{ values = [0, 1], times = [1, 2] }", "Table: times=[1, 2] must start at 0 and increase"),
        ("{ values = 3 }", "Table: values=3 must be a list of numbers"),
    ],
)
def test_paths_of_means(mean, expected):
    text = DRIFT.replace("{}", mean, 1).replace("{}", "LBSDA")
    assert complaint(text) == f"x.toml:5: {expected}"


def test_arms_whose_mean_cannot_drift():
    text = DRIFT.replace('"Bernoulli"', '"Beta"').replace("{}", "{ centre = 1 }", 1)
    text = text.replace("{}", "LBSDA")
    assert complaint(text) == "x.toml:4: Beta has no parameter 'mean'; choose from a, b"


def test_a_path_beyond_all_bounds():
    far = "{ centre = 0, amplitude = 1e300, period = 9 }"
    text = DRIFT.replace('"Bernoulli"', '"Dirac"').replace("{}", far, 1).replace("{}", "LBSDA")
    beyond = "arms: Dirac(mean=-1e+300) has a mean beyond 1e+290; use a smaller one"
    assert complaint(text) == f"x.toml:2: {beyond}"


def test_a_tuning_that_asks_how_often_drifting_arms_change():
    text = DRIFT.replace("{}", "{ values = [0, 1] }", 1).replace("{}", "SWLBSDA.tuned")
    assert complaint(text) == (
        "x.toml:6: SWLBSDA.tuned needs the number of changes, which is unknown for arms "
        "that drift; write changes = …"
    )


# Files that are no scenarios at all


def refused(source, **options):
    with pytest.raises(ScenarioError) as caught:
        read(source, **options)
    assert "\n" not in str(caught.value)
    return str(caught.value)


def test_a_scenario_that_is_not_there():
    known = ", ".join(names())
    assert refused("stationry") == "there is no scenario 'stationry'; did you mean 'stationary'?"
    assert refused("gaussian_changes.toml") == (
        "there is no scenario 'gaussian_changes.toml'; did you mean 'gaussian-changes'?"
    )
    assert refused("qwert") == f"there is no scenario 'qwert'; give a TOML file, or {known}"
    Path("mine.toml").write_text(GOOD)
    assert refused("mein.toml") == "there is no scenario 'mein.toml'; did you mean 'mine.toml'?"
    assert refused("mine") == "there is no scenario 'mine'; did you mean 'mine.toml'?"
    Path("deep").mkdir()
    Path("deep/other.toml").write_text(GOOD)
    assert refused("deep/othr.toml") == (
        "there is no scenario 'deep/othr.toml'; did you mean 'deep/other.toml'?"
    )
    assert refused("a\0b") == f"there is no scenario 'a\\x00b'; give a TOML file, or {known}"
    assert refused(3) == "scenario=3 must be a file or the name of a scenario"


def test_files_that_cannot_be_read():
    assert refused(".") == ". is a folder; give the path of a TOML file"
    assert refused("a" * 300) == f"{'a' * 300} cannot be read: File name too long"
    Path("binary.toml").write_bytes(b"horizon = 9\ntitle = '\xff\xfe'\n")
    assert refused("binary.toml") == (
        "binary.toml:2: byte 0xff is not UTF-8; save the file as UTF-8"
    )


def test_a_file_whose_name_is_no_name():
    Path("my first.toml").write_text(GOOD)
    assert refused("my first.toml") == (
        "my first.toml:1: name='my first' must consist of letters, digits, dots and dashes: "
        "it names a folder; write name = … in the file, or rename the file"
    )


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        ({"horizon": 5000}, ":24: this phase starts at 7000, beyond the horizon 5000; "
         "give a longer horizon or remove the phase"),
        ({"horizon": "long"}, ": horizon='long' must be a whole number"),
        ({"horizon": 0}, ": horizon=0 must be at least 1"),
        ({"replications": 0}, ": replications=0 must be at least 1"),
        ({"seed": -1}, ": seed=-1 must be at least 0"),
    ],
)  # fmt: skip
def test_what_the_caller_says_instead_is_checked_too(options, expected):
    assert refused("gaussian-changes", **options) == f"gaussian-changes.toml{expected}"
