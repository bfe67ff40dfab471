"""What a store refuses: one line that says what to do, and nothing has changed."""

import pytest
from databases import count
from lives import ARMS, NAME, new_bandit

import lastblock as lb
from lastblock.store.opening import is_postgres

UCB1 = lb.UCB1()


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"durability": "sometimes"}, "must be one of always, interval, never"),
        ({"interval": 0}, "must be positive and finite, in seconds"),
        ({"interval": float("nan")}, "interval"),
        ({"snapshot_every": 0}, "at least 1"),
    ],
)
def test_options(path, options, message):
    with pytest.raises(ValueError, match=message):
        lb.Store(path, **options)
    assert not path.exists()


@pytest.mark.parametrize(
    ("place", "message"),
    [
        (".", "is a folder; give the name of a file"),
        ("no/shop.db", "its folder does not exist; make it"),
        (None, "is not the place of a store; give the path of a file"),
        (5, "is not the place of a store"),
        (b"shop.db", "is not the place of a store"),
        ("mysql://localhost/shop", "no store on 'mysql://'; give the path of a file, or postgres"),
    ],
)
def test_places(place, message, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(lb.StoreError if isinstance(place, str) else TypeError, match=message):
        lb.Store(place)
    assert list(tmp_path.iterdir()) == []


IN_USE = [
    (lambda s: s.bandit("buton"), "no bandit 'buton'; did you mean 'button'"),
    (lambda s: s.bandit("x" * 30), "it has: button, of others, ucb1"),
    (lambda s: s.events("buton"), "no bandit 'buton'"),
    (lambda s: new_bandit(s.create, name=NAME), "has a bandit 'button'; take another name"),
    (lambda s: s.create("new", UCB1, arms=1), "at least 2 arms"),
    (lambda s: s.create("", UCB1, 2), "must be a string that is not empty"),
    (lambda s: s.create(3, UCB1, 2), "must be a string that is not empty"),
    (lambda s: s.create("a\nb", UCB1, 2), "; leave it out"),
    (lambda s: s.create("\ud800", UCB1, 2), "; leave it out"),
    (lambda s: s.create("\0", UCB1, 2), "; leave it out"),
    (lambda s: s.get_or_create("two\nlines", UCB1, ARMS), "name"),
    (lambda s: s.get_or_create("new", "UCB1", ARMS), "policy"),
    (
        lambda s: s.get_or_create("ucb1", lb.Thompson(), ARMS),
        r"policy UCB1.*, not Thompson.*;",
    ),
    (lambda s: s.get_or_create("ucb1", UCB1, [*ARMS, "b"]), r"no arm 'b'; .* add_arm\('b'\)"),
    (lambda s: s.get_or_create("of others", UCB1, 2), "another Store of this process; close"),
    (lambda s: s.bandit("of others"), "is open in another Store of this process"),
    (lambda s: s.delete("of others"), "is open in another Store of this process"),
    (lambda s: s.export(NAME, "log.xls"), "does not say in which format to write; end it in"),
    (lambda s: s.export(NAME, "log.csv", format="xls"), "must be one of parquet, csv, jsonl"),
    (lambda s: s.export(NAME, "log.csv", "all"), "what='all' must be 'decisions' or 'events'"),
    (lambda s: s.export(NAME, "no/log.csv"), "there is no folder"),
    (lambda s: s.bandit(NAME).attach(None), r"attach yours to a copy\(\)"),
    (lambda s: s.bandit(NAME).attach(print), r"attach yours to a copy\(\)"),
    (lambda s: s.bandit(NAME).set_floors(0.9), "add up to"),
]


def test_calls(place, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with lb.Store(place) as others:
        others.create("of others", UCB1, 2)
        with lb.Store(place) as store:
            store.create("ucb1", UCB1, ARMS, seed=1)
            store.release("ucb1")
            bandit = new_bandit(store.create, name=NAME)
            bandit.ask()
            before = bandit.to_bytes()
            for call, message in IN_USE:
                with pytest.raises((ValueError, OSError), match=message) as caught:
                    call(store)
                assert "\n" not in str(caught.value)
                assert bandit.to_bytes() == before
            assert store.names() == (NAME, "of others", "ucb1")
            assert others.bandit("ucb1") is not None  # what was refused was left free
            assert not list(tmp_path.glob("log*"))
            assert store.verify(NAME) == count(place) == 1


@pytest.mark.parametrize("durability", ["always", "interval"])
def test_what_was_closed_released_or_deleted(place, durability):
    store = lb.Store(place, durability=durability)
    first, second, third = (new_bandit(store.create, name=name) for name in "abc")
    decision = third.ask(key="a")
    third.tell(decision.token, 1.0)
    before = third.to_bytes()
    store.release("a")
    store.delete("b")
    for bandit in (first, second):
        with pytest.raises(lb.StoreError, match="was released; open it again with bandit"):
            bandit.ask()
    new_bandit(store.create, name="b").ask()
    assert store.verify("b") == 1
    for _ in range(2):
        store.close()
    for action in (
        third.ask,
        lambda: third.ask(key="a"),
        lambda: third.tell(decision.token, 1.0),
        store.names,
        lambda: store.bandit("c"),
        lambda: store.documents.all("keys"),
    ):
        with pytest.raises(lb.StoreError, match="is closed; open it again"):
            action()
        assert third.to_bytes() == before
    third.copy().ask()
    assert is_postgres(place) or store.label == f"the store {str(place)!r}"
