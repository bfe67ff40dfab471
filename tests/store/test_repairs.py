"""`Store.repair` and `lastblock store repair`: a damaged log is cut off, and opens again."""

import json

import pytest
from databases import count, fetch
from lives import NAME, live, new_bandit
from refusals import said

import lastblock as lb
from lastblock.engine.events import KINDS

STEPS = 60
ASKS = KINDS.index("ask"), KINDS.index("ask_among")
HOLE = "DELETE FROM events WHERE event = 40"


def prepared(place, damage, **options):
    """A store with a long log, on which this damage was done; the number of its last event."""
    with lb.Store(place, **{"keep_events": True, **options}) as store:
        bandit = new_bandit(store.create, name=NAME)
        live([bandit], range(STEPS))
        last = store._journals[NAME].event
    fetch(place, damage)
    return last


@pytest.mark.parametrize("every", [1000, 50])
@pytest.mark.parametrize("damage", [HOLE, "UPDATE events SET kind = 99 WHERE event = 40"])
def test_a_log_is_cut_off_where_it_is_damaged(place, tmp_path, damage, every):
    """Before the latest snapshot or after it; what is cut off is in the file."""
    last, file = prepared(place, damage, snapshot_every=every), tmp_path / "rest.jsonl"
    with lb.Store(place, keep_events=True) as store:
        if every == 1000:
            assert "repair it: lastblock store repair" in said(lambda: store.bandit(NAME))
        given = max(row[0] for row in fetch(place, "SELECT max(decision) FROM events"))
        found = store.damage(NAME)
        assert not file.exists()
        assert store.repair(NAME, file) == found
        first = 41 if damage == HOLE else 40
        assert found[1:] == (39, first, last, last + 1 - first)
        rest = [json.loads(line) for line in file.read_text().splitlines()]
        assert [each["event"] for each in rest] == list(range(first, last + 1))
        assert file.stat().st_mode & 0o777 == 0o600
        assert store.verify(NAME) == 39
        assert store.repair(NAME, file) is None
        bandit = store.bandit(NAME)
        assert bandit.asked == count(place, where=f"kind IN {ASKS} AND event < 40")
        assert bandit.ask().id > given
        live([bandit], range(100, 120))
        assert store.verify(NAME) == store._journals[NAME].event


def test_edited_tables_are_put_right(place, tmp_path):
    last = prepared(place, "UPDATE arms SET label = '7' WHERE arm = 1")
    fetch(place, "UPDATE bandits SET policy = '{}'")
    with lb.Store(place, keep_events=True) as store:
        found = store.repair(NAME, tmp_path / "rest.csv")
        assert (found.kept, found.first, found.events) == (last, None, 0)
        assert store.verify(NAME) == last
    assert not (tmp_path / "rest.csv").exists()


def test_a_damaged_snapshot_is_made_again_from_the_events(place, tmp_path):
    last = prepared(
        place, "UPDATE bandits SET snapshot = substr(snapshot, 1, 99)", snapshot_every=50
    )
    with lb.Store(place, keep_events=True) as store:
        said(lambda: store.bandit(NAME))
        assert store.repair(NAME, tmp_path / "rest.csv")[1:] == (last, None, None, 0)
        assert store.verify(NAME) == last


def test_what_is_refused_changes_nothing(place, tmp_path):
    last, file = prepared(place, HOLE), tmp_path / "rest.csv"
    file.write_text("mine")
    with lb.Store(place) as store, lb.Store(place) as other:
        new_bandit(store.create, name="other")
        for each in (store, other):
            assert "is open in" in said(lambda each=each: each.repair("other", file))
        with pytest.raises(FileExistsError, match="exists; give the name of a new file"):
            store.repair(NAME, file)
        with pytest.raises(ValueError, match=r"rest\.txt' does not say in which format"):
            store.repair(NAME, tmp_path / "rest.txt")
        assert file.read_text() == "mine"
        fetch(place, "UPDATE bandits SET snapshot = substr(snapshot, 1, 99)")
        assert "cannot be repaired, since no snapshot of it is whole" in said(
            lambda: store.damage(NAME)
        )
    assert count(place, where="bandit = 1") == last - 1


def test_the_shell_asks_before_it_changes_anything(place, tmp_path, shell_on):
    last, file = prepared(place, HOLE), tmp_path / "rest.csv"
    what = (
        f"events up to 39 stay; {last - 40} events from 41 to {last} are removed, and go to {file}"
    )
    status, _, err = shell_on(place, "repair", NAME, file)
    assert status == 2
    assert f"repair it with --yes: {what} (missing: 1)" in err
    assert count(place) == last - 1
    status, out, _ = shell_on(place, "repair", NAME, file, "--yes")
    assert (status, out) == (0, f"{NAME}: {what} (missing: 1); it opens and verifies now\n")
    assert len(file.read_text().splitlines()) == last - 40 + 1
    assert shell_on(place, "repair", NAME, file, "--json")[:2] == (0, "null\n")
    assert shell_on(place, "verify")[0] == 0
