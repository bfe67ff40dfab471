"""The commands behind the pages' tables cannot spoil them."""

import argparse
import math
import re
import runpy
import sys

import numpy as np
import pytest

from benchmark_modules import ROOT, forgotten, imported


def ended_with(module, arguments, monkeypatch):
    """Run a command, which must end at its options; return its exit status."""
    monkeypatch.setattr(sys, "argv", [module, *arguments])
    with forgotten(), pytest.raises(SystemExit) as ended:
        runpy.run_module(module, run_name="__main__")
    return ended.value.code


@pytest.mark.parametrize(
    ("command", "told"),
    [
        ("comparison --threads 0", "--threads: 0 must be at least 1"),
        ("comparison Adaptve", "no policy 'Adaptve' in the comparison; did you mean 'Adaptive LB-"),
        ("comparison --out README.md", "--out: README.md is not a folder; choose another path"),
        ("serve --store sqlite:x.db", "--store needs --start N"),
        ("adaptive --further 3", "--further: 3 must be at least 10"),
        ("adaptive --promises --chance", "--promises and --chance are two runs"),
        ("store nowhere", "nowhere is not a folder"),
        ("size --against nowhere", "--against: fatal: not a valid object name: nowhere"),
        ("suite --problems 99", "'99': write numbers from 0 to 59, such as 0-4 or 3,17"),
        ("suite --half tset", "--half: invalid choice: 'tset'"),
        ("sections mastr", "there is no section 'mastr'; did you mean 'master'?"),
        ("figures UCB11", "there is no policy 'ucb11'; did you mean 'UCB1'?"),
    ],
)
def test_a_wrong_option_is_an_error_of_one_line(command, told, monkeypatch, capsys):
    name, *arguments = command.split()
    monkeypatch.chdir(ROOT)
    assert ended_with(f"benchmarks.{name}", arguments, monkeypatch) == 2
    line = capsys.readouterr().err
    assert line.startswith(f"python -m benchmarks.{name}: error: ")
    assert told in line
    assert line.count("\n") == 1


def test_alarms_by_the_paper_are_those_of_every_forecaster():
    """Each forecaster multiplies what Laplace's rule gives to the coins that it has seen."""

    def chance(coins):
        product = 1.0
        for n, coin in enumerate(coins):
            heads = sum(coins[:n])
            product *= (heads + 1) / (n + 2) if coin else (n - heads + 1) / (n + 2)
        return product

    coins = np.random.default_rng(5).random(60) < np.repeat([0.1, 0.9, 0.2], 20)
    coins = coins.astype(int).tolist()
    found, begun = [], 0
    for t in range(1, 61):
        seen = coins[begun:t]
        if any(
            chance(seen[:at]) * chance(seen[at:]) / len(seen) > chance(seen)
            for at in range(1, len(seen))
        ):
            found.append(t)
            begun = t
    assert len(found) >= 2
    with imported("sections") as sections:
        assert sections.alarms_by_the_paper(coins, lambda n: 1.0 / n) == found


def commands():
    """The sources of all commands, by the names of their modules; "" for the package itself."""
    folder, found = ROOT / "benchmarks", {}
    for path in sorted(folder.rglob("*.py")):
        source = path.read_text(encoding="utf-8")
        if '\nif __name__ == "__main__":\n' in source:
            parts = path.relative_to(folder).with_suffix("").parts
            found[".".join(part for part in parts if part != "__main__")] = source
    return found


@pytest.mark.parametrize("name", commands())
def test_every_command_says_what_it_does_and_explains_its_options(name, monkeypatch, capsys):
    assert "parse_args()" in commands()[name]  # or it would run here, for minutes
    parsers = []
    show = argparse.ArgumentParser.print_help
    monkeypatch.setattr(
        argparse.ArgumentParser, "print_help", lambda self: (parsers.append(self), show(self))
    )
    module = f"benchmarks.{name}".rstrip(".")
    assert ended_with(module, ["--help"], monkeypatch) == 0
    (parser,) = parsers
    assert capsys.readouterr().out.startswith(f"usage: python -m {module} ")
    assert parser.description.strip()
    assert re.fullmatch(r"It takes \S.*\S\.", parser.epilog)
    unexplained = [action.dest for action in parser._actions if not action.help]
    assert not unexplained
    assert ended_with(module, ["--nothing"], monkeypatch) == 2
    line = capsys.readouterr().err
    assert line.startswith(f"python -m {module}: error: ")
    assert line.count("\n") == 1


def test_the_package_lists_all_commands(monkeypatch, capsys):
    assert ended_with("benchmarks", ["--help"], monkeypatch) == 0
    listed = re.findall(r"^  (\w+) +\w", capsys.readouterr().out, re.M)
    assert listed == sorted(name for name in commands() if name)


def test_blanks_comments_and_docstrings_are_not_code():
    source = (
        '"""About."""\n\nimport a\nfrom b import (  # why\n    c,\n)\n\n# Note\nx = """\n\n"""\n'
    )
    with imported("size") as module:
        assert module.lines_of_code(source) == 7
        assert module.lines_of_imports(source) == 4


def test_a_worker_beside_another_library_needs_nothing_of_ours(monkeypatch):
    for module in [each for each in sys.modules if each.partition(".")[0] == "lastblock"]:
        monkeypatch.setitem(sys.modules, module, None)  # an import of it is an error
    with imported("peers_worker") as worker:
        assert worker.JOBS


@pytest.fixture
def adaptive():
    with imported("adaptive") as module:
        yield module


def test_the_chance_that_a_half_meets_its_goals(adaptive):
    """One of twenty problems above the limit is in a half of five with a chance of 1 − 0.95⁵."""
    ratios = {kind: np.full(20, 0.3) for kind in adaptive.KINDS}
    draw, halves = np.random.default_rng(3), 20_000
    assert set(adaptive.chances(ratios, 10, draw).values()) == {1.0}
    ratios["single"][7] = 2.1
    found = adaptive.chances(ratios, halves, draw)
    without = 0.95**5
    error = 4.0 * math.sqrt(without * (1.0 - without) / halves)
    assert abs(found["worst"] - without) < error
    assert found["all goals"] == found["worst"]
    assert found["all"] == found["stationary"] == found["rise"] == 1.0
    ratios["rise"][:] = 1.21
    found = adaptive.chances(ratios, halves, draw)
    assert found["rise"] == found["all goals"] == 0.0
    assert found["all"] == 1.0
    assert found["all but one"] == found["worst"]
    for above, chance in ((0.0, 1.0), (1e-9, 0.0)):  # a goal that is just met is met
        ratios = {kind: np.full(20, 0.3) for kind in adaptive.KINDS}
        ratios["fast"][:] = adaptive.HALF_GOALS["worst"] + above
        assert adaptive.chances(ratios, 10, draw)["worst"] == chance
