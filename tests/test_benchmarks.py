"""The commands behind the pages' tables cannot spoil them."""

import importlib
import json
import sys
from pathlib import Path
from unittest import mock

import pytest

import lastblock as lb

ROOT = Path(__file__).parents[1]


@pytest.mark.parametrize(
    "name", sorted(path.stem for path in (ROOT / "benchmarks").glob("[a-z]*.py"))
)
def test_every_benchmark_finds_what_it_imports(name, monkeypatch):
    if name == "peers":
        pytest.importorskip("scipy")
    monkeypatch.syspath_prepend(ROOT)
    with mock.patch.dict(lb.POLICIES), mock.patch.dict(sys.modules):
        importlib.import_module(f"benchmarks.{name}")


@pytest.fixture
def memory(monkeypatch):
    monkeypatch.syspath_prepend(ROOT)
    with mock.patch.dict(lb.POLICIES), mock.patch.dict(sys.modules):  # it has a policy of its own
        yield importlib.import_module("benchmarks.memory")


@pytest.fixture
def run(memory, monkeypatch, tmp_path):
    def run(*arguments):
        monkeypatch.setattr(sys, "argv", ["memory", "--out", str(tmp_path), *arguments])
        memory.main()

    return run


@pytest.mark.parametrize("less", [("--part", "paper"), ("--share", "0.1")])
def test_the_page_is_never_filled_with_less_than_everything(less, run, capsys):
    with pytest.raises(SystemExit):
        run("--write", *less)
    assert "--write fills the page with all parts" in capsys.readouterr().err


def test_parts_with_other_replications_are_computed_again(memory, run, monkeypatch, tmp_path):
    measured = []

    def measure(world, share, threads):
        measured.append(share)
        return {"replications": memory.replications_of(world, share)}

    monkeypatch.setattr(memory, "measure", measure)
    for share in ("0.01", "0.01", "1", "1"):
        run("--part", "paper", "--share", share)
    assert measured == [0.01, 1.0]
    assert json.loads((tmp_path / "paper.json").read_text()) == [{"replications": 20_000}]
