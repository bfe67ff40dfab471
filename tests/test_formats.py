"""What docs/reference/file-formats.md promises: this release reads the files of every format."""

import importlib.util
import json
import shutil
from pathlib import Path

import pytest

import lastblock as lb
from lastblock.fleet.file import VERSION as FLEET
from lastblock.live.persistence import VERSION as STATE
from lastblock.store.schema import newest

DATA = Path(__file__).parent / "data"
_spec = importlib.util.spec_from_file_location("write_format", DATA / "write_format.py")
writing = importlib.util.module_from_spec(_spec)
_spec.loader.exec_module(writing)


@pytest.mark.parametrize(
    ("kind", "number"), [("state", STATE), ("fleet", FLEET), ("store", newest("sqlite"))]
)
def test_every_format_has_its_files(kind, number):
    """A new format needs new files, beside the old ones: ``python tests/data/write_format.py``."""
    there = {folder.name for folder in DATA.glob(f"{kind}_format_*")}
    assert there == {f"{kind}_format_{each}" for each in range(1, number + 1)}


@pytest.mark.parametrize("path", sorted(DATA.glob("state_format_*/*.bandit")), ids=str)
def test_states_of_every_format_load_and_go_on(path):
    bandit = lb.Bandit.load(path)
    text = lb.Bandit.from_json(path.with_suffix(".json").read_text(encoding="utf-8"))
    twin = lb.Bandit(writing.POLICIES[path.stem], ["red", "green", "blue"], seed=7, floor=0.05)
    writing.live(twin, 0, 60)
    assert bandit.to_bytes() == text.to_bytes() == twin.to_bytes()
    for each in (bandit, text, twin):
        writing.live(each, 60, 80)
    assert bandit.to_bytes() == text.to_bytes() == twin.to_bytes()


@pytest.mark.parametrize("path", sorted(DATA.glob("fleet_format_*/*.fleet")), ids=str)
def test_fleets_of_every_format_load_and_go_on(path, tmp_path):
    fleet, twin = lb.Fleet.load(path), writing.new_fleet()
    writing.tell_fleet(twin, 0, 60)
    twin.save(tmp_path / "twin")
    fleet.save(tmp_path / "fleet")
    assert (tmp_path / "fleet").read_bytes() == (tmp_path / "twin").read_bytes()
    assert writing.tell_fleet(fleet, 60, 120) == writing.tell_fleet(twin, 60, 120)


@pytest.mark.parametrize("folder", sorted(DATA.glob("store_format_*")), ids=str)
def test_stores_of_every_format_open_and_go_on(folder, tmp_path):
    path = tmp_path / "store.db"
    shutil.copy(folder / "store.db", path)
    if folder.name != f"store_format_{newest('sqlite')}":
        from lastblock.cli import main  # noqa: PLC0415  # only for older formats

        assert main(["store", "migrate", str(path)]) == 0
    states = json.loads((folder / "store.json").read_text(encoding="utf-8"))
    with lb.Store(path, keep_events=True) as store:
        for name, state in states.items():
            bandit, twin = store.bandit(name), lb.Bandit.from_json(state)
            assert bandit.to_bytes() == twin.to_bytes()
            assert store.verify(name) > 150
            for each in (bandit, twin):
                writing.live(each, 80, 100)
            assert bandit.to_bytes() == twin.to_bytes()
            assert store.export(name, tmp_path / "log.csv") > 50
