"""``lastblock store`` where something is wrong: one line that says what to do."""

import os

import pytest
from shop_to_read import POLICY

import lastblock as lb
from lastblock.live import persistence
from store.databases import fetch

pytestmark = pytest.mark.usefixtures("plain")


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (["show", "buton"], "has no bandit 'buton'; did you mean 'button'? It has: button, new"),
        (["verify", "buton"], "did you mean 'button'?"),
        (["export", "buton", "-"], "did you mean 'button'?"),
        (["show", "button", "--confidence", "2"], "confidence=2"),
        (["export", "button", "log.xls"], "does not say in which format to write"),
        (["export", "button", "-", "--format", "parquet"], "cannot be written to standard output"),
        (["export", "button", "-", "--json"], "--json prints on standard output, as - does"),
        (["export", "button", "no/such/log.csv"], "there is no folder"),
        (["evaluate", "button"], "--policy"),
        (["evaluate", "button", "--policy", "LBSDAML"], "unknown policy 'LBSDAML'; did you mean"),
        (["evaluate", "title", "--policy", "UCB1"], "does not say with which probability"),
        (["evaluate", "new", "--policy", "UCB1"], "has no decisions with a reward in its log"),
        (["lst"], "unknown action 'lst'; did you mean 'list'?"),
    ],
)
def test_mistakes_are_one_line(arguments, told, shell, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    status, out, err = shell(*arguments)
    assert (status, out) == (2, "")
    assert told in err
    assert err.count("\n") == 1


@pytest.mark.parametrize("action", [["list"], ["show", "x"], ["verify"], ["export", "x", "-"]])
def test_places_without_a_store(action, shell_on, tmp_path):
    (tmp_path / "text.db").write_text("no database " * 100)
    fetch(tmp_path / "other.db", "CREATE TABLE x (y)")
    for name, version in (("old.db", 0), ("new.db", 999)):
        lb.Store(tmp_path / name).close()
        fetch(tmp_path / name, f"PRAGMA user_version = {version}")
    for name, told in (
        ("shp.db", "there is no file"),
        ("odl.db", f"did you mean {str(tmp_path / 'old.db')!r}?"),
        ("old.db", "run: lastblock store migrate"),
        ("new.db", "upgrade lastblock"),
        ("text.db", "is not a store"),
        ("other.db", "is not a store"),
        ("", "is a folder; give the path of a store's file"),
    ):
        status, _, err = shell_on(tmp_path / name, *action)
        assert status == 2
        assert told in err
        assert err.count("\n") == 1
    status, _, err = shell_on("mysql://shop", *action)
    assert (status, "lastblock has no store on 'mysql://'" in err) == (2, True)
    assert not (tmp_path / "shp.db").exists()


def test_a_database_without_tables(url, shell_on):
    status, _, err = shell_on(url, "list")
    assert (status, "has no tables of a store" in err) == (2, True)


def test_a_store_that_may_only_be_read(tmp_path, shell_on):
    place = tmp_path / "shop.db"
    with lb.Store(place) as store:
        store.create("button", POLICY, arms=3, seed=7)
    place.chmod(0o444)
    if os.access(place, os.W_OK):  # the superuser may write anything
        place.chmod(0o644)
    assert shell_on(place, "list")[0] == 0


def test_a_damaged_snapshot_spoils_no_list(shop, shell, monkeypatch):
    def damaged(body):
        raise lb.StateFileError("the state is corrupt: its checksum is wrong")

    monkeypatch.setattr(persistence, "unpack", damaged)
    status, out, _ = shell("list")
    assert status == 0
    assert "button: the state is corrupt" in out
