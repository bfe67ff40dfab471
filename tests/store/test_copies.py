"""`lastblock store`: copies from one kind of store to the other, checks and migrations."""

import json

from databases import fetch
from lives import live, new_bandit

import lastblock as lb
from lastblock.cli.program import main
from lastblock.store import sqlite

NAMES = ["button", "kept", "new"]


def filled(place):
    """Two bandits that are told and one that is new; events of all are kept."""
    with lb.Store(place, durability="interval", keep_events=True, snapshot_every=30) as store:
        for name in NAMES:
            bandit = new_bandit(store.create, name=name)
            live([bandit], range(0 if name == "new" else 60))


def test_copies_of_some(tmp_path, capsys):
    first, second = str(tmp_path / "a.db"), str(tmp_path / "b.db")
    filled(first)
    assert main(["store", "copy", first, second, "kept"]) == 0
    out = capsys.readouterr().out
    assert "1 bandits copied to the store" in out
    assert "tokens of open decisions are void there: tell these by id" in out
    with lb.Store(second) as store:
        assert store.names() == ("kept",)
    assert main(["store", "copy", first, second]) == 2
    assert "has a bandit 'kept' already" in capsys.readouterr().err
    assert main(["store", "check", second]) == 0
    assert "BAD" not in capsys.readouterr().out
    assert main(["store", "check", second, "--json"]) == 0
    findings = json.loads(capsys.readouterr().out)
    assert any("bandit 'kept'" in found["text"] and found["is_good"] for found in findings)
    assert main(["store", "copy", first, second, "buton"]) == 2
    assert "no bandit 'buton'; did you mean 'button'?" in capsys.readouterr().err
    assert main(["store", "copy", first, first]) == 2
    assert "are the same store" in capsys.readouterr().err
    assert main(["store", "copy", str(tmp_path / "no.db"), second]) == 2
    assert "there is no file" in capsys.readouterr().err
    with lb.Store(first) as store:
        store.bandit("new")
        assert main(["store", "copy", first, str(tmp_path / "c.db"), "new"]) == 2
        assert "is open in another Store of this process" in capsys.readouterr().err
    assert main(["store", "copy", first, str(tmp_path / "d.db"), "new", "--json"]) == 0
    assert json.loads(capsys.readouterr().out) == [{"bandit": "new", "events": 0}]


def test_a_copy_that_differs_is_an_error(tmp_path, monkeypatch, capsys):
    first, second = str(tmp_path / "a.db"), str(tmp_path / "b.db")
    filled(first)
    real = sqlite.putting

    def putting(run):
        def put(table, rows):
            late = 1 if table == "events" else 0
            real(run)(table, [(*row[:2], row[2] + late, *row[3:]) for row in rows])

        return put

    monkeypatch.setattr(sqlite, "putting", putting)
    assert main(["store", "copy", first, second, "kept"]) == 2
    assert "the copy of bandit 'kept' in" in capsys.readouterr().err


def test_checks_find_what_is_wrong(url, tmp_path, capsys):
    file = tmp_path / "shop.db"
    for place in (file, url):
        filled(place)
        fetch(place, "DELETE FROM events WHERE event = 7")
        assert main(["store", "check", str(place)]) == 2
        assert "BAD   bandit 'kept': 1 of " in capsys.readouterr().out
    with lb.Store(url) as store:
        store.bandit("new")
        assert main(["store", "check", url]) == 2
        said = capsys.readouterr().out
        assert "bandit 'new' is open in another Store of this process, for " in said
    fetch(url, "INSERT INTO migrations (number, name) VALUES (99, 'future')")
    assert main(["store", "check", url]) == 2
    assert "BAD   format 99, this lastblock reads up to" in capsys.readouterr().out
    fetch(tmp_path / "others.db", "CREATE TABLE customers (name)")
    assert main(["store", "check", str(tmp_path / "others.db")]) == 2
    assert "another program has made the file" in capsys.readouterr().out
    assert main(["store", "check", str(tmp_path / "no.db")]) == 2
    assert "there is no file" in capsys.readouterr().err


def test_a_database_is_migrated(url, tmp_path, capsys):
    assert main(["store", "check", url]) == 2
    assert "there are no tables yet" in capsys.readouterr().out
    assert main(["store", "migrate", url]) == 0
    assert "migration 1: tables\n" in capsys.readouterr().out
    assert main(["store", "migrate", url, "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["migrations"] == []
    lb.Store(url).close()
    lb.Store(tmp_path / "shop.db").close()
    assert main(["store", "migrate", str(tmp_path / "shop.db")]) == 0
    assert "is up to date" in capsys.readouterr().out
