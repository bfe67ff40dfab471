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
"""


@pytest.fixture(autouse=True)
def _folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)


def complaints_of(text):
    """All lines that are said about a text."""
    Path("x.toml").write_text(text, encoding="utf-8")
    with pytest.raises(ScenarioError) as caught:
        read("x.toml")
    head, *others = str(caught.value).splitlines()
    assert not others or head == f"x.toml has {len(others)} mistakes:" or others[-1][0] == "…"
    return others or [head]


MISTAKES = Path(__file__).parents[1] / "data" / "scenario_mistakes.txt"


def cases():
    """What is replaced in the good file, by what, and the complaints."""
    for paragraph in MISTAKES.read_text(encoding="utf-8").split("\n\n")[1:]:
        lines = [line.replace("\\n", "\n") for line in paragraph.splitlines() if line[:1] != "#"]
        if lines:
            old = [line[2:] for line in lines if line[0] == "-"]
            new = next(line[2:] for line in lines if line[0] == "+")
            expected = [line for line in lines if line[0] not in "-+"]
            yield pytest.param(old, new, expected, id=f"{new} {expected[0]}")


@pytest.mark.parametrize(("old", "new", "expected"), [*cases()])
def test_the_complaint_says_where_and_what(old, new, expected):
    assert all(GOOD.count(text) > 0 for text in old)
    found = complaints_of(GOOD.replace(old[0], new, 1) if old else new)
    if old or len(expected) > 1:  # in a whole file, more may be missing
        assert len(found) == len(expected)
    for line in expected:
        pattern = re.escape(f"x.toml: {line}")
        if not line.endswith("= …"):
            pattern = pattern.replace("…", ".*")
        assert any(re.fullmatch(pattern, one) for one in found), found


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
            assert re.fullmatch(r"x\.toml: \S[^\n]{10,700}", line)


def test_more_mistakes_than_anybody_reads():
    lines = complaints_of("\n".join(f"key{i} = 1" for i in range(40)) + "\n" + GOOD)
    assert lines[-1] == "… and 20 more"
    assert len(lines) == 21


def test_the_command_shows_a_line_for_each(capsys):
    Path("x.toml").write_text("horizon = 0\n")
    assert main(["run", "x.toml"]) == 2
    head, *lines = capsys.readouterr().err.splitlines()
    assert head == "lastblock: error: x.toml has 3 mistakes:"
    assert lines[0] == "x.toml: horizon=0 must be at least 1"


@pytest.mark.parametrize(
    ("value", "expected"),
    [("9" * 5000, "a number has too many digits"), ("[" * 5000, "brackets are nested too deep")],
    ids=["digits", "brackets"],
)
def test_files_that_are_too_much(value, expected):
    assert complaints_of(f"horizon = {value}") == [f"x.toml: {expected}"]


# Files that are no scenarios at all


def refused(source, **options):
    with pytest.raises(ScenarioError) as caught:
        read(source, **options)
    assert "\n" not in str(caught.value)
    return str(caught.value)


KNOWN = ", ".join(names())
NO_SCENARIOS = {
    "stationry": "there is no scenario 'stationry'; did you mean 'stationary'?",
    "gaussian_changes.toml": "there is no scenario 'gaussian_changes.toml'; "
    "did you mean 'gaussian-changes'?",
    "qwert": f"there is no scenario 'qwert'; give a TOML file, or {KNOWN}",
    "mein.toml": "there is no scenario 'mein.toml'; did you mean 'mine.toml'?",
    "mine": "there is no scenario 'mine'; did you mean 'mine.toml'?",
    "deep/othr.toml": "there is no scenario 'deep/othr.toml'; did you mean 'deep/other.toml'?",
    "a\0b": f"there is no scenario 'a\\x00b'; give a TOML file, or {KNOWN}",
    3: "scenario=3 must be a file or the name of a scenario",
    ".": ". is a folder; give the path of a TOML file",
    "a" * 300: f"{'a' * 300} cannot be read: File name too long",
    "binary.toml": "binary.toml:2: byte 0xff is not UTF-8; save the file as UTF-8",
    "my first.toml": "my first.toml: name='my first' must consist of letters, digits, dots and "
    "dashes: it names a folder; write name = … in the file, or rename the file",
}


@pytest.mark.parametrize(("source", "expected"), NO_SCENARIOS.items())
def test_what_is_no_scenario(source, expected):
    Path("deep").mkdir()
    for name in ("mine.toml", "deep/other.toml", "my first.toml"):
        Path(name).write_text(GOOD)
    Path("binary.toml").write_bytes(b"horizon = 9\ntitle = '\xff\xfe'\n")
    assert refused(source) == expected


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        ({"horizon": 5000}, ": phases[3].start: this phase starts at 7000, beyond the horizon "
         "5000; give a longer horizon or remove the phase"),
        ({"replications": 0}, ": replications=0 must be at least 1"),
        ({"seed": -1}, ": seed=-1 must be at least 0"),
    ],
)  # fmt: skip
def test_what_the_caller_says_instead_is_checked_too(options, expected):
    assert refused("gaussian-changes", **options) == f"gaussian-changes.toml{expected}"
