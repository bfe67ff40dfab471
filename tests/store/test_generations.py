"""Ids after a crash: a late reward never goes to another decision than its own."""

import gzip
import json
import math
import os
import shutil
import sqlite3
from pathlib import Path

import pytest
from databases import fetch
from lives import change, new_bandit

import lastblock as lb
from lastblock.live.decisions import TAG_BITS, TAGS, Generations
from lastblock.live.view import desk_of
from lastblock.store.opening import is_postgres

NAME = "button"
DATA = Path(__file__).parents[1] / "data" / "store_format_1"
LOST = "was lost: a crash came before it was written, and the bandit has been opened again since"


@pytest.fixture
def path(tmp_path):
    return tmp_path / "shop.db"


def crash(store, path):
    """The file as it would be if the process were killed now, in the place of the old one."""
    if is_postgres(path):
        store._groups._write = lambda rows, snapshots: None
        store.close()
        return
    for ending in ("", "-wal"):
        shutil.copy(f"{path}{ending}", f"{path}{ending}.copy")
    store._groups._write = lambda rows, snapshots: None
    store.close()
    for ending in ("", "-wal"):
        os.replace(f"{path}{ending}.copy", f"{path}{ending}")


def test_ids_of_a_lost_tail_are_refused(place):
    store = lb.Store(place, durability="interval", interval=1000.0)
    bandit = new_bandit(store.create, name=NAME)
    kept = bandit.ask(20)
    store.flush()
    lost = bandit.ask(10)
    crash(store, place)
    with lb.Store(place) as store:
        bandit = store.bandit(NAME)
        assert bandit.asked == 20
        fresh = bandit.ask(10)
        assert not {d.id for d in fresh} & {d.id for d in lost}
        for decision in lost:
            for what in (decision, decision.id):
                with pytest.raises(lb.UnknownDecisionError, match=LOST):
                    bandit.tell(what, 1.0)
                with pytest.raises(lb.UnknownDecisionError, match=LOST):
                    bandit.forget(what)
        with pytest.raises(lb.UnknownDecisionError, match=LOST):
            bandit.tell_many([fresh[0], lost[0]], [1.0, 1.0])
        assert sum(bandit.pulls.values()) == 0
        bandit.tell_many([*kept, *fresh], [1.0] * 30)
        assert sum(bandit.pulls.values()) == 30
        with pytest.raises(lb.UnknownDecisionError, match="told or forgotten already"):
            bandit.tell(kept[3], 1.0)


def test_ids_are_good_after_any_number_of_openings(place):
    """Each decision is told its own reward, by itself, by its id, and as a pending one."""
    asked = []
    twin = new_bandit()
    for _ in range(6):
        with lb.Store(place, snapshot_every=5) as store:
            bandit = store.bandit(NAME) if store.names() else new_bandit(store.create, name=NAME)
            asked += bandit.ask(4)
            twin.ask(4)
            assert [p.id for p in bandit.pending] == [d.id for d in asked]
            assert [p.age for p in bandit.pending] == [p.age for p in twin.pending]
            assert bandit.to_bytes() == twin.to_bytes()
    assert len({d.id for d in asked}) == len(asked)
    assert max(d.id for d in asked) < 2**53
    with lb.Store(place) as store:
        bandit = store.bandit(NAME)
        for number, decision in enumerate(asked):
            what = (decision, decision.id, next(p for p in bandit.pending if p.id == decision.id))
            bandit.tell(what[number % 3], float(number))
            twin.tell(number, float(number))
        assert bandit.to_bytes() == twin.to_bytes()


def test_a_copy_knows_the_same_ids(place):
    with lb.Store(place) as store:
        new_bandit(store.create, name=NAME).ask(3)
    with lb.Store(place) as store:
        bandit = store.bandit(NAME)
        decision = bandit.ask()
        copy = bandit.copy()
        for each in (bandit, copy):
            each.tell(decision, 1.0)
            each.tell(1, 0.0)
            with pytest.raises(lb.UnknownDecisionError, match=LOST):
                each.tell(3, 0.0)
        assert bandit.ask() == copy.ask()
        assert bandit.to_bytes() == copy.to_bytes()


def test_an_opening_in_which_nothing_was_asked_leaves_no_trace(place):
    with lb.Store(place) as store:
        first = new_bandit(store.create, name=NAME).ask()
    for _ in range(20):
        with lb.Store(place) as store:
            store.bandit(NAME)
    with lb.Store(place) as store:
        bandit = store.bandit(NAME)
        assert len(bandit._desk.generations._firsts) == 2
        bandit.tell(first, 1.0)
        late = bandit.ask()
    with lb.Store(place) as store:
        bandit = store.bandit(NAME)
        assert len(bandit._desk.generations._firsts) == 2  # the first one has nothing out
        bandit.tell(late, 1.0)
        with pytest.raises(lb.UnknownDecisionError, match="told or forgotten already"):
            bandit.tell(first, 1.0)


def test_the_log_has_the_ids_that_were_given(place, tmp_path):
    told = []
    for _ in range(3):
        with lb.Store(place, keep_events=True, snapshot_every=3) as store:
            bandit = store.bandit(NAME) if store.names() else new_bandit(store.create, name=NAME)
            for decision in bandit.ask(4):
                bandit.tell(decision, 1.0)
                told.append(decision.id)
            store.export(NAME, tmp_path / "log.parquet")
            store.export(NAME, tmp_path / "events.parquet", "events")
    import pyarrow.parquet as pq  # noqa: PLC0415  # optional, and slow to import

    assert pq.read_table(tmp_path / "log.parquet")["decision"].to_pylist() == told
    rows = pq.read_table(tmp_path / "events.parquet").to_pylist()
    assert [row["decision"] for row in rows if row["kind"] == "tell"] == told
    found = fetch(place, "SELECT decision FROM log WHERE kind = 'tell' ORDER BY event")
    assert [id for (id,) in found] == told


def test_tags_come_round(place):
    """After 2¹³ openings the same tags are given again: ids of the others stay good."""
    generations = Generations([(0, 5), (10, TAGS - 1), (20, TAGS + 2)])
    ids = [generations.id_of(number) for number in (3, 12, 25)]
    assert [id >> TAG_BITS for id in ids] == [5, TAGS - 1, 2]
    assert [generations.number_of(id) for id in ids] == [3, 12, 25]
    with pytest.raises(lb.UnknownDecisionError, match=LOST):
        generations.number_of((5 << TAG_BITS) + 12)
    with lb.Store(place) as store:
        new_bandit(store.create, name=NAME)
    fetch(place, f"UPDATE bandits SET generation = {TAGS - 2}")
    old = []
    for _ in range(4):
        with lb.Store(place) as store:
            bandit = store.bandit(NAME)
            for decision in old:
                assert bandit._desk.find(decision)
            old.append(bandit.ask())


def known_extremes(bandit):
    """The number of rewards of each arm, the smallest and the largest one, where these are known.

    Format 1 did not note the last two, but events after a snapshot tell the whole story of an arm
    that had no rewards before.
    """
    desk = desk_of(bandit)
    active = {label: desk.live.notes.told_of(k) for k, label in enumerate(desk.active)}
    return {
        label: (pulls, low, high)
        for label, (pulls, _, _, low, high) in (desk.retired | active).items()
        if pulls and not math.isnan(low + high)
    }


def without_extremes(bandit):
    """Everything else, byte for byte."""
    copy = bandit.copy()
    desk = desk_of(copy)
    desk.live.told[:, 3:] = 0.0
    desk.retired = {k: told._replace(low=0.0, high=0.0) for k, told in desk.retired.items()}
    return copy.to_json()


def check_twins(bandit, twin, more):
    """Check that two bandits are equal, but that only one knows the extremes of the arms `more`."""
    assert without_extremes(bandit) == without_extremes(twin)
    known, known_to_twin = known_extremes(bandit), known_extremes(twin)
    assert known_to_twin.items() <= known.items()
    assert known.keys() - known_to_twin.keys() == more


def logged_extremes(store, name, path):
    """The same from the log; rewards of an arm that has retired are not noted any more."""
    store.export(name, path, "events")
    import pyarrow.parquet as pq  # noqa: PLC0415  # optional, and slow to import

    rewards, retired = {}, set()
    for row in pq.read_table(path).to_pylist():
        if row["kind"] == "retire_arm":
            retired.add(row["arm"])
        elif row["kind"] in ("tell", "observe") and row["arm"] not in retired:
            rewards.setdefault(row["arm"], []).append(row["reward"])
    return {arm: (len(of_arm), min(of_arm), max(of_arm)) for arm, of_arm in rewards.items()}


def test_files_of_format_1_open(path, tmp_path):
    """Decisions were within the snapshots, also within those at the beginning of kept events.

    A twin from a state file is in the same state, but for the smallest and largest rewards of those
    arms that had none in the store's old snapshot: the events after it tell them.
    """
    path.write_bytes(gzip.decompress((DATA / "store.db.gz").read_bytes()))
    path.with_name("shop.db-owners").touch()
    expected = json.loads((DATA / "states.json").read_text(encoding="utf-8"))
    twins = {name: lb.Bandit.from_json(text) for name, text in expected.items()}
    assert all(known_extremes(twin) == {} for twin in twins.values())
    events_tell = {"kept": {"arm 103", "arm 119"}, "pruned": set()}
    for opening in range(3):
        with lb.Store(path, keep_events=True, snapshot_every=20) as store:
            assert store.names() == ("kept", "pruned")
            for name, twin in twins.items():
                bandit = store.bandit(name)
                check_twins(bandit, twin, events_tell[name])
                logged = logged_extremes(store, name, tmp_path / "log.parquet")
                assert known_extremes(bandit).items() <= logged.items()
                assert store.verify(name) > {"kept": 150, "pruned": 30}[name]
                for step in range(1000 + 50 * opening, 1050 + 50 * opening):
                    for each in (bandit, twin):
                        change(each, step)
                assert store.verify(name) > {"kept": 200, "pruned": 80}[name]
                assert store.export(name, tmp_path / "log.parquet") > 30
    assert not path.with_name("shop.db-owners").exists()
    with lb.Store(path, snapshot_every=20) as store:  # from now on they are pruned
        for name, twin in twins.items():
            bandit = store.bandit(name)
            for step in range(2000, 2050):
                for each in (bandit, twin):
                    change(each, step)
            assert store.verify(name) < 30
    with lb.Store(path) as store:
        for name, twin in twins.items():
            check_twins(store.bandit(name), twin, events_tell[name])


def test_files_of_format_1_that_are_in_use_are_left_alone(path):
    path.write_bytes(gzip.decompress((DATA / "store.db.gz").read_bytes()))
    other = sqlite3.connect(path)
    other.execute("SELECT * FROM bandits").fetchall()
    with pytest.raises(lb.StoreError, match="made by an older lastblock and is in use; close it"):
        lb.Store(path)
    assert other.execute("PRAGMA user_version").fetchall() == [(1,)]
    other.close()
    with lb.Store(path) as store:
        assert store.verify("kept")


@pytest.mark.parametrize(
    "edit",
    [
        "UPDATE generations SET generation = 'x'",
        "UPDATE generations SET first = 1.5 WHERE first = 0",
        "UPDATE generations SET first = 1000000 WHERE first = 0",
        "UPDATE bandits SET asked = 1000",
        "UPDATE bandits SET asked = 'x'",
    ],
)
def test_edited_generations_are_damage(path, edit):
    with lb.Store(path) as store:
        bandit = new_bandit(store.create, name=NAME)
        bandit.ask(5)
    with lb.Store(path) as store:
        store.bandit(NAME).ask(3)
    database = sqlite3.connect(path)
    database.execute(edit)
    database.commit()
    database.close()
    with (
        lb.Store(path) as store,
        pytest.raises(lb.StoreError, match=r"bandit 'button' in .* is damaged: .*restore the file"),
    ):
        store.bandit(NAME)
