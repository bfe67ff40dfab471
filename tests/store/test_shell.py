"""``lastblock store list|show|verify|export|evaluate`` on both kinds of store."""

import csv
import functools
import io
import json

import pytest
from lives import live, new_bandit
from shop_to_read import HOSTILE, POLICY, made, play

import lastblock as lb
from documented import EXPLORE_FIRST
from lastblock.store import unwritten
from lastblock.store.documents import BANDITS
from store.databases import fetch

pytestmark = pytest.mark.usefixtures("plain")


def test_list(shell):
    status, out, err = shell("list")
    assert (status, err) == (0, "")
    head, *rows = (line.split() for line in out.splitlines())
    assert head[:4] == ["bandit", "policy", "arms", "decisions"]
    assert [row[:3] for row in rows] == [
        ["button", "LBSDALM()", "3"],
        ["new", "LBSDALM()", "3"],
        ["title", "UCB1()", "2"],
    ]
    assert rows[0][3] == "63"
    assert rows[2][3:7] == ["+", "1", "retired", "25"]
    assert rows[1][-2:] == ["–", "–"]  # nothing has happened, and nobody has it open


def test_list_while_the_store_is_in_use(place, shell_on):
    with lb.Store(made(place), keep_events=True) as store:
        bandit = store.bandit("button")
        play(bandit, 2, seed=5)
        status, out, _ = shell_on(place, "list", "--json")
        told = {each["name"]: each for each in json.loads(out)}
        assert status == 0
        assert told["button"]["owner"] == "another Store of this process"
        assert told["new"]["owner"] is None
        assert told["button"]["decisions"] == 65
        assert told["button"]["last"].endswith("+00:00")
        play(bandit, 2, seed=5)  # reading has disturbed nobody
        assert store.verify("button") == 60 * 2 + 3 + 8


def test_show(shell):
    status, out, err = shell("show", "button")
    assert (status, err) == (0, "")
    assert out.startswith("button\n")
    assert "waiting for a reward  3, the oldest with 2 decisions after it" in out
    assert "log                   from decision 0 on" in out
    assert "LBSDALM(), 63 decisions" in out
    assert "95 % at any time" in out
    told = json.loads(shell("show", "button", "--json", "--confidence", "0.9")[1])
    assert told["summary"]["asked"] == told["decisions"] == 63
    assert told["summary"]["confidence"] == told["verdict"]["confidence"] == 0.9
    assert told["verdict"]["best"] == told["summary"]["best"]
    assert told["log_begins"] == 0
    assert told["changes"] == []
    assert [arm["arm"] for arm in told["summary"]["arms"]] == ["red", HOSTILE, "blue"]


def test_show_changes_nothing(shop, shell):
    before = fetch(shop, "SELECT * FROM bandits ORDER BY bandit")
    for action in (["show", "button"], ["list"], ["verify"], ["export", "title", "-"]):
        assert shell(*action)[0] == 0
    assert fetch(shop, "SELECT * FROM bandits ORDER BY bandit") == before


def test_verify(place, shell_on):
    shell = functools.partial(shell_on, made(place))
    status, out, _ = shell("verify")
    assert status == 0
    assert out.splitlines() == [
        "good  button: 123 events lead to its state",
        "good  new: 0 events lead to its state",
        "good  title: 51 events lead to its state",
    ]
    fetch(place, "UPDATE events SET reward = reward + 0.125 WHERE bandit = 2 AND event = 2")
    status, out, err = shell("verify", "title", "new", "--json")
    assert (status, err) == (2, "")
    bad, good = json.loads(out)
    assert good == {
        "bandit": "new",
        "is_good": True,
        "events": 0,
        "text": "0 events lead to its state",
    }
    assert not bad["is_good"]
    assert "is damaged" in bad["text"]
    assert shell("verify", "title")[1].startswith("BAD   title: bandit 'title' in ")


def test_import(place, tmp_path, shell_on, monkeypatch):
    def fail(rows, snapshots):
        raise lb.StoreError("the disk is full")

    monkeypatch.setattr(unwritten, "CLOSING", 0.0)
    monkeypatch.chdir(tmp_path)
    twin = new_bandit(rewards="sum")
    store = lb.Store(place, durability="interval", interval=60.0)
    bandit = new_bandit(store.create, name="button", rewards="sum")
    bandit.ask()
    twin.ask()
    store.flush()
    store._groups._write = fail
    live([bandit, twin], range(200))
    with pytest.raises(
        lb.StoreError, match=r"the disk is full; the last \d+ events are in the file"
    ):
        store.close()
    (file,) = tmp_path.glob("lastblock-events-*.jsonl")
    count = len(file.read_text().splitlines()) - 1

    def refused(store, lines):
        (tmp_path / "wrong").write_text("\n".join(lines))
        status, out, err = shell_on(store, "import", tmp_path / "wrong")
        assert (status, out) == (2, "")
        return err

    lb.Store(tmp_path / "other.db").close()
    lines = file.read_text().splitlines()
    assert "has events of another store" in refused(tmp_path / "other.db", lines)
    assert "line 3 of" in refused(place, [*lines[:2], "[]"])
    assert "line 1 of" in refused(place, [])
    assert "is missing" in refused(place, [lines[0], *lines[2:]])
    assert shell_on(place, "import", file)[1] == f"button: {count:,} events\n"
    assert json.loads(shell_on(place, "import", file, "--json")[1]) == {"button": 0}
    with lb.Store(place) as store:
        bandit = store.bandit("button")
        assert bandit.to_bytes() == twin.to_bytes()
        assert [each.id for each in bandit.pending] == [each.id for each in twin.pending]
        bandit.ask(2)
    longer = json.dumps({**json.loads(lines[-1]), "event": count + 2})
    assert "has gone on without the events" in refused(place, [*lines, longer])


def test_delete(place, shell_on):
    with lb.Store(made(place)) as store:
        for name, notes in (("button@de", {"parent": "button"}), ("button@x", {})):
            store.create(name, lb.UCB1(), 2)
            store.documents.put(BANDITS, name, notes)
    fetch(place, "UPDATE bandits SET snapshot = substr(snapshot, 1, 99)")
    fetch(place, "UPDATE documents SET body = '{' WHERE name = 'button@de'")
    status, _, err = shell_on(place, "delete", "button", "buton")
    assert (status, "did you mean 'button'?" in err) == (2, True)
    assert shell_on(place, "delete", "button", "button@de")[:2] == (
        0,
        "button@de is deleted\nbutton is deleted\n",
    )
    assert json.loads(shell_on(place, "delete", "title", "--json")[1]) == ["title"]
    with lb.Store(place) as store:
        assert store.names() == ("button@x", "new")
        assert store.documents.all(BANDITS).keys() == {"button@x"}


def test_export(shell, tmp_path):
    status, out, _ = shell("export", "button", tmp_path / "log.csv")
    assert (status, out) == (0, f"{tmp_path / 'log.csv'}: 60 decisions of button\n")
    printed = shell("export", "button", "-", "--format", "csv")[1]
    assert printed.encode() == (tmp_path / "log.csv").read_bytes()
    assert {row["arm"] for row in csv.DictReader(io.StringIO(printed))} == {"red", HOSTILE, "blue"}
    told = json.loads(shell("export", "button", tmp_path / "log.pq", "--json")[1])
    assert told["rows"] == len(lb.Replay(tmp_path / "log.pq", propensity="probability")) == 60
    assert len([json.loads(line) for line in shell("export", "button", "-")[1].splitlines()]) == 60
    shell("export", "title", tmp_path / "log", "--format", "jsonl", "--what", "events")
    written = shell("export", "title", "-", "--what", "events")[1]
    assert (tmp_path / "log").read_text("utf-8") == written
    assert written.count("\n") == 51


def test_evaluate(shell):
    arguments = ["evaluate", "button", "--policy", "LBSDALM", "--bootstrap", "20"]
    status, out, err = shell(*arguments, "--policy", "LBSDALM(reference=True)")
    assert (status, err) == (0, "")
    lines = out.splitlines()
    assert lines[0].startswith("As it was: a mean reward of ")
    assert "at 95 %, at any time) in 60 decisions." in lines[0]
    firsts = [line.split()[0] for line in lines[1:4]]
    assert firsts == ["policy", "LBSDALM()", "LBSDALM(reference=True)"]
    assert "of 60 decisions, in which all 3 arms are equally likely." in lines[4]
    told = json.loads(shell(*arguments, "--json")[1])
    again = json.loads(shell(*arguments, "--json")[1])
    assert told == again  # the seed has a default
    assert told["decisions"] == told["logged"]["rewards"] == 60
    assert 0 < told["used"] < 60
    (policy,) = told["policies"]
    assert policy["low"] <= policy["estimate"] <= policy["high"]


def test_evaluate_where_arms_came_and_went(tmp_path, shell_on):
    place = tmp_path / "shop.db"
    with lb.Store(place, keep_events=True, durability="never") as store:
        some = store.create("some", POLICY, arms=["a", "b", "c"], seed=7, floor={"a": 0.3})
        play(some, 20)
        bandit = store.create("button", POLICY, arms=["a", "b", "c", "d"], seed=7, floor=0.1)
        play(bandit, 30)
        bandit.retire_arm("d")
        play(bandit, 60)
        decision = bandit.ask(among=["a", "b"])  # the last one, but not like the others
        bandit.tell(decision, 0.0)
    arguments = ["--policy", "LBSDALM", "--bootstrap", "0"]
    _, out, _ = shell_on(place, "evaluate", "button", *arguments)
    told = " (a, b, c); 31 others, in which other arms could be chosen, are left out."
    assert told in out
    status, _, err = shell_on(place, "evaluate", "some", *arguments)
    assert (status, "give every arm a traffic floor" in err) == (2, True)
    status, _, err = shell_on(place, "evaluate", "button", *arguments[:3], "1")
    assert (status, "bootstrap=1 must be 0 or at least 2" in err) == (2, True)


def test_a_policy_of_the_users_own(tmp_path, shell_on, own_imports):
    (tmp_path / "mine.py").write_text(EXPLORE_FIRST)
    place = tmp_path / "shop.db"
    exec(EXPLORE_FIRST, {"__name__": "mine"})
    with lb.Store(place, keep_events=True) as store:
        own = lb.POLICIES["ExploreFirst"](exploration=2)
        play(store.create("turns", own, arms=3, seed=1), 9)
    del lb.POLICIES["ExploreFirst"]
    assert "ExploreFirst(exploration=2)" in shell_on(place, "list")[1]
    status, _, err = shell_on(place, "show", "turns")
    assert status == 2
    assert "policy 'ExploreFirst' is not known; import the module that defines it first" in err
    mine = ("--imports", tmp_path / "mine.py")
    assert "ExploreFirst(exploration=2), 9 decisions" in shell_on(place, "show", "turns", *mine)[1]
    assert shell_on(place, "verify", *mine)[1] == "good  turns: 18 events lead to its state\n"
    status, _, err = shell_on(place, "verify", "--imports", "no.py")
    assert (status, "--imports: there is no file 'no.py'" in err) == (2, True)
