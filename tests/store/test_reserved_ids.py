"""Ids after a crash: a late reward never goes to another decision than its own."""

import os
import shutil

import pytest
from lives import NAME, new_bandit

import lastblock as lb
from lastblock.store import journal
from lastblock.store.opening import is_postgres

LOST = "was lost: a crash came before it was written, or the database went back to a state without"


def crash(store, path):
    """The file as it would be if the process were killed now, in the place of the old one."""
    store._groups._write = lambda rows, snapshots: None
    store._storage.reserve = lambda ends: None
    if is_postgres(path):
        store.close()
        return
    for ending in ("", "-wal"):
        shutil.copy(f"{path}{ending}", f"{path}{ending}.copy")
    store.close()
    for ending in ("", "-wal"):
        os.replace(f"{path}{ending}.copy", f"{path}{ending}")


def test_ids_of_a_lost_tail_are_refused_and_never_given_again(place, monkeypatch):
    monkeypatch.setattr(journal, "BLOCK", 16)  # the lost decisions need more than one block
    given = set()
    for durability in ("interval", "never", "always"):
        with lb.Store(place, durability=durability, interval=1000.0) as store:
            bandit = store.bandit(NAME) if NAME in store else new_bandit(store.create, name=NAME)
            before, pulls = bandit.asked, sum(bandit.pulls.values())
            kept = bandit.ask(20)
            assert not given & {each.id for each in kept}
            given |= {each.id for each in kept}
            assert [each.age for each in bandit.pending] == list(range(19, -1, -1))
            if durability == "always":
                break
            store.flush()
            lost = [bandit.ask() for _ in range(40)]
            tokens = [each.token for each in lost]
            given |= {each.id for each in lost}
            crash(store, place)
        for _ in range(2):  # opened twice without a decision in between
            with lb.Store(place) as store:
                assert store.bandit(NAME).asked == before + 20
        with lb.Store(place, keep_events=True) as store:
            bandit = store.bandit(NAME)
            assert [each.age for each in bandit.pending] == list(range(19, -1, -1))
            fresh = bandit.ask(10)
            assert not given & {each.id for each in fresh}
            given |= {each.id for each in fresh}
            assert bandit.asked == bandit.summary().asked == before + 30
            for decision, token in zip(lost, tokens, strict=True):
                for what in (decision, decision.id, token):
                    for act in (bandit.forget, lambda x, of=bandit: of.tell(x, 1.0)):
                        with pytest.raises(lb.UnknownDecisionError, match=LOST):
                            act(what)
            with pytest.raises(lb.UnknownDecisionError, match=LOST):
                bandit.tell_many([fresh[0], lost[0]], [1.0, 1.0])
            assert lb.Bandit.from_bytes(bandit.to_bytes()).asked == before + 30
            assert len(bandit.expire(older_than=10)) == 19
            bandit.tell_many([kept[-1], *fresh], [1.0] * 11)
            assert sum(bandit.pulls.values()) == pulls + 11
            with pytest.raises(lb.UnknownDecisionError, match="told or forgotten already"):
                bandit.tell(kept[3], 1.0)
            state = bandit.to_bytes()
        with lb.Store(place) as store:
            assert store.bandit(NAME).to_bytes() == state
            assert store.verify(NAME) > 10
