"""The comparison with other libraries, with a library made up in place of those."""

import importlib
import json
import sys
from pathlib import Path
from types import SimpleNamespace

import pytest

from benchmark_modules import forgotten
from lastblock.kernels.background import compiling
from lastblock.lab.scenario import Scenario

FILES = {"main": "peers"} | {
    name: f"peers_{name}" for name in ("faults", "players", "tables", "worker")
}


@pytest.fixture
def peers(monkeypatch):
    """Return the modules of the benchmark, with a library whose policies do as they are told."""

    def last_arm(arms, seed):
        return lambda: arms - 1, lambda arm, reward: None

    def broken(arms, seed):
        raise OverflowError("too much")

    with forgotten():
        modules = {
            name: importlib.import_module(f"benchmarks.{file}") for name, file in FILES.items()
        }
        found = SimpleNamespace(**modules)
        fake = found.players.Library(
            "fake",
            "fake",
            {"UCB1": last_arm, "Thompson sampling": broken, "SW-UCB": last_arm},
            first="UCB1",
            replications=3,
            notes={"UCB1": "its own constant"},
        )
        monkeypatch.setitem(found.players.LIBRARIES, "fake", fake)
        yield found


def job(policy, world):
    return {"job": "regret", "library": "fake", "policy": policy, "world": world, "replications": 2}


def test_regret_is_counted_from_true_means(peers):
    expected = {"three arms": 0.1 * 10_000, "clicks": 0.01 * 10_000, "changes": 300.0 + 1000.0}
    for world, regret in expected.items():
        assert peers.worker.done(**job("UCB1", world))["regrets"] == pytest.approx([regret] * 2)


def test_the_worlds_are_those_of_our_scenarios(peers):
    world = Scenario.load("bernoulli-changes").environment
    phases = peers.worker.WORLDS["changes"]
    assert list(world.changes) == [begin for begin in phases if begin > 0]
    for begin, means in phases.items():
        assert tuple(world.means(begin)) == means


def test_a_policy_or_a_process_that_fails_is_a_result(peers):
    found = peers.worker.done(**job("Thompson sampling", "clicks"))
    assert found == {"error": "OverflowError: too much"}
    unknown = [{**job("UCB1", "clicks"), "library": "lastblock", "policy": "none"}, {"library": ""}]
    first, second = peers.main.answers(Path(sys.executable), unknown)
    assert first == {"error": "KeyError: 'none'"}
    assert "TypeError" in second["error"]
    assert "the process ended with 1" in second["error"]


def test_our_policies_play_by_their_names_and_peers_have_no_others(peers):
    assert (*peers.players.lastblock_policies(),) == peers.players.OURS
    with compiling("never"):
        choose, learn = peers.players.lastblock("ε-greedy", compiled=False)(3, 1)
        for _ in range(20):
            learn(choose(), 1.0)
    for library in peers.players.LIBRARIES.values():
        assert {library.first} <= {*library.players} <= {*peers.players.OURS}, library.name


FAULT = {"library": "fake", "title": "It adds wrongly."}


@pytest.mark.parametrize(
    ("code", "right", "came", "there"),
    [
        ("print(1 + 1)", "2", "2", False),
        ("print(1 + 1)", "3", "2", True),
        ("print(made)", "a", "a", False),
        ("print(1 + 1)", "an error", "2", True),
        ("raise ValueError('no\\nsecond line')", "an error", "ValueError: no", False),
        ("raise ValueError('no')", "2", "ValueError: no", True),
    ],
)
def test_a_fault_is_there_if_something_else_comes_out(peers, code, right, came, there):
    fault = peers.faults.Fault(**FAULT, code=code, right=right, before="made = 'a'; print('noise')")
    found = peers.faults.shown(fault, Path(sys.executable), "1.0")
    assert (found["came"], found["there"]) == (came, there)


@pytest.fixture
def found(peers):
    """Return measurements as they are kept in a file: ours, a library, and one that is missing."""
    speed = {"step": 0.02, "young": 1.04, "old": 1.06, "played": 100_000}
    regret = {name: {"regrets": [9.0, 10.0, 11.0]} for name in peers.players.OURS}
    ours = {
        "version": "1.0",
        "start": {"empty": [160.2, 350.0], "full": [150.1, 300.0]},
        "speed": dict.fromkeys(peers.players.OURS, speed),
        "ten arms": {"LB-SDA": {"live": 1.1}},
        "regret": dict.fromkeys(peers.worker.WORLDS, regret),
    }
    fake = {
        "version": "2.0",
        "start": {"": [1500.0, 1510.0]},
        "speed": {
            "UCB1": {**speed, "step": 345.6, "old": 123.4, "played": 60_000},
            "EXP3": {"step": 3.0, "young": 3.0, "fails": "ValueError after 44750 steps: weights"},
            "BESA": {"error": "OverflowError: too much"},
        },
        "ten arms": {"UCB1": {"live": 7.0}, "EXP3": {"error": "no"}},
        "regret": {
            "three arms": {"UCB1": {"regrets": [9.0, 10.0, 14.0]}, "EXP3": {"error": "no"}},
            "clicks": {"UCB1": {"regrets": [29.0, 30.0, 31.0]}},
        },
    }
    faults = [
        {**FAULT, "code": "print(1 + 1)", "came": "2", "right": "3", "there": True},
        {**FAULT, "title": "Gone.", "code": "…", "came": "2", "right": "2", "there": False},
    ]
    libraries = {"lastblock": ours, "fake": fake, "gone": {"missing": "cannot be installed: no"}}
    for library in (ours, fake):
        library["replications"] = 3
    return json.loads(json.dumps({"libraries": libraries, "faults": faults}))


SHOWN = [
    "| UCB1 | 0.020 / 1.0 / 1.1 | 346 / 1.0 / 123 after 60·10³ |",
    "| EXP3 | 0.020 / 1.0 / 1.1 | 3.0 / 3.0 / fails |",
    "- fake 2.0, EXP3: ValueError after 44750 steps: weights",
    "- fake 2.0, BESA: OverflowError: too much",
    "- gone: cannot be installed: no",
    "| fake 2.0 | UCB1 7.0 |",
    "- fake 2.0, UCB1: its own constant",
    "| UCB1 | 10.0 ± 0.6 | 11.0 ± 1.5 |",
    "| EXP3 | 10.0 ± 0.6 | fails |",
    "| UCB1 | 10.0 ± 0.6 | **30.0 ± 0.6** |",  # it does not do the same
    "| lastblock 1.0, kernels kept | ",
    "| lastblock 1.0, no kernels kept | ",
    "It gives `2`; right would be `3`.",
    "Gone. Not in this version.",
    "| fake 2.0 | UCB1 | 346 | 123 after 60·10³ | 1500 | 11.0 ± 1.5 |\n",
]


def test_what_was_kept_fills_in_all_places(peers, found, monkeypatch, tmp_path):
    page, kept = tmp_path / "page.md", tmp_path / "peers.json"
    places = {place._replace(page=page): make for place, make in peers.tables.PLACES.items()}
    marks = "".join(f"<!-- {at.name} -->\n<!-- end of {at.name} -->\n" for at in places)
    page.write_text(marks, encoding="utf-8")
    kept.write_text(json.dumps(found), encoding="utf-8")
    monkeypatch.setattr(peers.main, "PLACES", places)
    monkeypatch.setattr(peers.main, "KEPT", kept)
    monkeypatch.setattr(sys, "argv", ["peers", "--kept", "--write"])
    peers.main.main()
    text = page.read_text(encoding="utf-8")
    assert [line for line in SHOWN if line not in text] == []


@pytest.mark.parametrize("less", [("--share", "0.1"), ("--peers", "river")])
def test_the_pages_are_never_filled_with_less_than_everything(peers, less, monkeypatch, capsys):
    monkeypatch.setattr(sys, "argv", ["peers", "--write", *less])
    with pytest.raises(SystemExit):
        peers.main.main()
    assert "--write fills the pages with all peers" in capsys.readouterr().err
