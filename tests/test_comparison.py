"""The comparison of all policies: none is missing, and its tables say what was measured."""

import dataclasses
import importlib
import math
import re
import sys
from unittest import mock

import numpy as np
import pytest

import lastblock as lb
from benchmark_modules import ROOT, forgotten
from lastblock.engine.simulate import play
from lastblock.kernels.jit import plain

PARTS = ("rows", "worlds", "playing", "numbers", "tables", "__main__")


@pytest.fixture(scope="module")
def comparison():
    """The modules of the comparison, by name; they are forgotten afterwards."""
    with forgotten():
        yield {part: importlib.import_module(f"benchmarks.comparison.{part}") for part in PARTS}


@pytest.fixture(scope="module")
def rows(comparison):
    return comparison["rows"].rows()


def case(comparison, problem):
    return comparison["rows"].case_of(problem)


def test_every_policy_is_compared_or_the_page_says_why_not(comparison, rows):
    alone = comparison["worlds"].single()
    made = [row.policy(case(comparison, world.problem)) for row in rows for world in alone]
    compared = {type(policy).__name__ for policy in made if policy is not None}
    left_out = comparison["rows"].LEFT_OUT
    missing = lb.POLICIES.keys() - compared - left_out.keys()
    assert not missing, f"give {missing} rows in benchmarks/comparison/rows.py, or a reason"
    assert not compared & left_out.keys()
    page = (ROOT / "docs" / "comparison.md").read_text(encoding="utf-8")
    assert all(f"policies/{name.lower()}.md" in page for name in left_out)


def test_the_command_writes_the_page_as_it_stands(comparison, rows, monkeypatch, tmp_path):
    command, docs = comparison["__main__"], ROOT / "docs"
    page = tmp_path / "comparison.md"
    page.write_bytes((docs / page.name).read_bytes())
    page.with_suffix(".csv").write_bytes((docs / "comparison.csv").read_bytes())
    monkeypatch.setattr(command, "PAGE", page)
    monkeypatch.setattr(command, "choose", lambda _: [])  # all rows are those of the page
    monkeypatch.setattr(command, "compute", lambda *_: None)
    monkeypatch.setattr(sys, "argv", ["comparison", "--out", str(tmp_path / "results")])
    command.main()
    for name in ("comparison.md", "comparison.csv", "comparison.tex"):
        assert (tmp_path / name).read_bytes() == (docs / name).read_bytes()
    table = page.with_suffix(".csv").read_text(encoding="utf-8")
    lines = comparison["numbers"].from_csv(table, comparison["worlds"].single())
    assert [*lines] == [row.name for row in rows], "run python -m benchmarks.comparison NAME"
    assert len(set(lines)) == len(rows)


def test_a_policy_that_cannot_play_a_world_is_left_out_there(comparison, rows):
    worlds = {world.name: world for world in comparison["worlds"].single()}
    by_name = {row.name: row for row in rows}
    revenue = case(comparison, worlds["revenue"].problem)
    assert by_name["NPTS"].policy(revenue) is None
    assert by_name["LB-SDA"].policy(revenue) == lb.LBSDA()
    assert by_name["NPTS"].policy(case(comparison, worlds["clicks"].problem)) == lb.NPTS()


def test_rows_that_are_told_the_changes_depend_on_their_number(comparison, rows):
    """Those of the first table do not, with the same everything else."""
    made = comparison["worlds"].single()[1].problem
    many = case(comparison, made)
    few = case(comparison, dataclasses.replace(made, changes=made.changes + 4))
    for row in rows:
        differs = row.policy(many) != row.policy(few)
        told = row.table == comparison["rows"].TOLD
        assert differs == told, row.name
        assert ("Γ" in row.told) == told


def small_worlds(comparison):
    worlds = comparison["worlds"]
    arms = [lb.Bernoulli(0.2), lb.Bernoulli(0.7)]
    made = worlds.SuiteProblem("small", "few", lb.Stationary(arms), 60, 1, 3)
    return [worlds.World("small", made, 4, 2)]


@pytest.mark.parametrize("name", ["LB-SDA", "SW-UCB", "Thompson sampling"])
def test_regrets_are_those_of_simulate(name, comparison, monkeypatch):
    """Also in records with more room. In plain Python, which decides alike, for few steps."""
    playing = comparison["playing"]
    monkeypatch.setattr(playing, "LONGEST", 500)
    (world,) = small_worlds(comparison)
    made, row = world.problem, comparison["rows"].row_named(name)
    policy = row.policy(case(comparison, made))
    key, times = playing.key_of(made.seed), np.array([made.horizon])
    exact = playing.Player(policy, made.environment, made.horizon, key, times)
    roomy = playing.player_of(row, world)
    assert roomy._dtype.itemsize > exact._dtype.itemsize
    found = [player.room(2) for player in (exact, roomy)]
    for player, room in zip((exact, roomy), found, strict=True):
        player._run = plain(play)
        player.play(0, room)
    assert found[0].regret.tolist() == found[1].regret.tolist()


def test_regrets_are_kept_until_something_changes(comparison, rows, tmp_path, monkeypatch):
    numbers = comparison["numbers"]
    (world,) = small_worlds(comparison)
    row, found = rows[0], {"small": [3.0, 1.5, 2.0, 4.0]}
    store = numbers.Store(tmp_path)
    assert store.regrets(row, world) is None
    store.put(row, [world], found)
    assert numbers.Store(tmp_path).regrets(row, world) == found["small"]
    assert store.regrets(row, world._replace(replications=5)) is None
    monkeypatch.setattr(numbers, "address", lambda *_: "other sources")
    assert numbers.Store(tmp_path).regrets(row, world) is None


def test_only_what_a_policy_is_made_of_voids_its_results(comparison):
    sources = comparison["playing"].policy_sources
    assert sources(lb.UCB1()) == sources(lb.UCB1(scale=2.0)) != sources(lb.LBSDA())
    one, other = (lb.Restarting(policy, lb.MeanShift()) for policy in (lb.UCB1(), lb.LBSDA()))
    assert sources(one) != sources(other)


def test_bold_is_what_noise_may_explain(comparison):
    numbers, rows = comparison["numbers"], comparison["rows"]

    def line(name, mean, ratio, problems=60):
        found = {"stationary": numbers.Cell(mean, 0.5, 100)}
        about = numbers.Suite(ratio, 0.02, problems, 3.0, "a problem, hard", {"rise": 2.5})
        rest = ("which", 2.0, 20.0, "a machine", 64, True)
        return numbers.Line(rows.UNTOLD, name, "lbsda", "", found, about, *rest)

    lines = [line("LB-SDA", 10.0, 0.9), line("near", 11.0, 0.91), line("far", 12.0, 0.99)]
    lines.append(line("some", 9.9, 0.5, 21))
    text = comparison["tables"].markdown(lines)
    cells = [line.split(" | ") for line in text.splitlines() if line.endswith(" 100 |")]
    named = {re.search(r"\[(.*)\]", row[0])[1]: (row[2], row[10]) for row in cells}
    assert named["LB-SDA"] == ("**10.00 ± 0.50**", "**0.900 ± 0.018**")
    assert named["near"][0].startswith("**")
    assert not named["far"][0].startswith("**")
    assert named["some"] == ("**9.90 ± 0.50**", "0.500 ± 0.010 (21)")  # too few to compare
    for shown in ("| – |", "64 ↑", "| 40 |", "### The suite, by what changes", "| 2.50 |"):
        assert shown in text  # 40 is twice the unit's 20 ns


def test_ratios_are_paired_with_the_first_replications(comparison, rows):
    numbers = comparison["numbers"]
    (world,) = small_worlds(comparison)
    store = mock.Mock()
    store.regrets = lambda row, _: [2.0, 4.0, 9.0, 9.0] if row is rows[0] else [4.0, 8.0]
    found = numbers.suite_of(rows[1], store, rows[0], [world])
    assert found.ratio == pytest.approx(2.0)
    assert found.error == pytest.approx(0.0)
    assert (found.problems, found.worst_problem) == (1, "small")
    store.regrets = lambda row, _: None
    assert math.isnan(numbers.suite_of(rows[1], store, rows[0], [world]).ratio)


def test_unknown_names_are_refused(comparison):
    choose = comparison["__main__"].choose
    assert [row.name for row in choose(["lbsdagm", "SW-UCB"])] == ["LB-SDA-GM", "SW-UCB"]
    with pytest.raises(ValueError, match="no policy 'LBSDAX' in the comparison; did you mean"):
        choose(["LBSDAX"])
    with pytest.raises(ValueError, match="BestArm is not compared: it pulls the best arm"):
        choose(["bestarm"])
