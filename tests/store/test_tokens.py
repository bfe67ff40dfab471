"""Tokens and repeated requests: any process can tell a decision, and may tell it again."""

import copy
import pickle
import re
from datetime import timedelta
from math import nan

import pytest
from databases import count, fetch
from lives import NAME, facts, new_bandit

import lastblock as lb


def unchanged(bandit, error, match, call, *arguments, **options):
    before = facts(bandit)
    with pytest.raises(error, match=match) as caught:
        call(*arguments, **options)
    assert facts(bandit) == before
    return caught.value


def test_a_token_is_told_by_whoever_opens_the_store(place):
    with lb.Store(place) as store:
        decisions = new_bandit(store.create, name=NAME).ask(3)
        tokens = [decision.token for decision in decisions]
    assert all(re.fullmatch(r"[A-Za-z0-9_-]{36}", token) for token in tokens)
    assert len(set(tokens)) == 3
    with lb.Store(place) as store:
        store.tell(tokens[0], 1.0)
        bandit = store.bandit_of(tokens[1])
        assert bandit is store.bandit(NAME)
        bandit.tell(tokens[1], 0.5)
        assert bandit.token(bandit.pending[0]) == tokens[2]
        bandit.tell_many([tokens[2], bandit.ask()], [0.0, 1.0])
        assert sum(bandit.pulls.values()) == 4
        assert store.verify(NAME) > 0
        good, told = bandit.ask().token, tokens[1]
        named = rf"^rewards\[1\], token '{told}': decision 1 was told the reward 0\.5 before"
        many, pair = bandit.tell_many, ([good, told], [1.0, 1.0])
        error = unchanged(bandit, lb.ToldOtherwiseError, named, many, *pair)
        assert error.reward == 0.5
        unchanged(bandit, ValueError, r"^rewards\[0\]: reward=nan", many, [4, good], [nan, 1.0])


def test_a_decision_shows_its_token_and_not_the_secret(place):
    with lb.Store(place) as store:
        decision = new_bandit(store.create, name=NAME).ask()
        secret = store._storage.secret
        assert secret not in pickle.dumps(decision)
        for again in (pickle.loads(pickle.dumps(decision)), copy.copy(decision)):
            assert (again, again.token, again.time) == (decision, decision.token, decision.time)
        about = decision.to_dict()
        assert about["token"] == decision.token
        assert about["time"] == decision.time.isoformat()
        assert repr(decision) == f"Decision(arm={decision.arm!r}, id=0, probability=None)"
        assert list(decision) == [decision.arm, 0, None]


def test_other_tokens_are_refused(place, tmp_path):
    with lb.Store(place) as store, lb.Store(tmp_path / "other.db") as elsewhere:
        bandit = new_bandit(store.create, name=NAME)
        other = new_bandit(store.create, name="other")
        foreign = new_bandit(elsewhere.create, name=NAME).ask().token
        decision = bandit.ask()
        token = decision.token
        for call in (store.tell, bandit.tell):
            unchanged(bandit, lb.TokenError, "is of another store than", call, foreign, 1.0)
            unchanged(bandit, lb.TokenError, "truncated: it has 35 of 36", call, token[:-1], 1.0)
            unchanged(bandit, lb.TokenError, "is not a token", call, token + "A", 1.0)
            unchanged(bandit, lb.TokenError, "is not a token", call, "é" * 36, 1.0)
            unchanged(bandit, lb.TokenError, "is not a token", call, "z" * 36, 1.0)
            for place_ in range(12, 36):
                letter = "A" if token[place_] != "A" else "B"
                forged = token[:place_] + letter + token[place_ + 1 :]
                unchanged(bandit, lb.TokenError, "damaged or forged", call, forged, 1.0)
        told = "is not of bandit 'button', but of another one"
        unchanged(bandit, lb.TokenError, told, bandit.tell, other.ask().token, 1.0)
        with pytest.raises(lb.TokenError, match="is not a token"):
            store.tell(7, 1.0)
        store.delete(NAME)
        with pytest.raises(lb.TokenError, match="is of a bandit that was deleted"):
            store.tell(token, 1.0)
        again = new_bandit(store.create, name=NAME)
        assert again.ask() == decision  # the same decision of another life
        unchanged(
            again, lb.TokenError, "or of one of this name that was deleted", again.tell, token, 1.0
        )
        with pytest.raises(lb.TokenError, match="is of a bandit that was deleted"):
            store.tell(token, 1.0)


def test_a_token_may_be_told_again(place):
    with lb.Store(place, snapshot_every=7) as store:
        bandit = new_bandit(store.create, name=NAME)
        token = bandit.ask().token
        bandit.tell(token, 1.0)
        events = count(place)
        bandit.tell(token, 1.0)
        bandit.tell(token, 1)
        bandit.tell_many([token], [1.0])
        assert count(place) == events
        told = "was told the reward 1.0 before, and now 0.0; a decision has one reward"
        error = unchanged(bandit, lb.ToldOtherwiseError, told, bandit.tell, token, 0.0)
        assert (error.outcome, error.reward) == ("told", 1.0)
        unchanged(bandit, ValueError, "reward=nan", bandit.tell, token, float("nan"))
        for _ in range(20):
            bandit.tell(bandit.ask(), 1.0)
    with lb.Store(place, snapshot_every=7) as store:
        store.tell(token, 1.0)
        with pytest.raises(lb.ToldOtherwiseError, match=told):
            store.tell(token, 0.0)
        bandit = store.bandit(NAME)
        forgotten = bandit.ask().token
        for _ in range(2):
            bandit.forget(forgotten)
        error = unchanged(
            bandit, lb.ExpiredDecisionError, "was forgotten", store.tell, forgotten, 1.0
        )
        assert error.outcome == "forgotten"
        with pytest.raises(lb.SettledDecisionError, match="told already"):
            bandit.forget(token)
        by_decision = bandit.ask()
        bandit.tell(by_decision, 1.0)  # without its token, so nobody remembers the reward
        error = unchanged(
            bandit, lb.ExpiredDecisionError, "without its token", store.tell, by_decision.token, 1.0
        )
        assert error.outcome is None


def test_memory_ends(place, now):
    hour = 3_600_000_000
    with lb.Store(place, snapshot_every=5) as store:
        bandit = new_bandit(store.create, name=NAME, remember=timedelta(hours=2))
        first = bandit.ask(key="a")
        bandit.tell(first.token, 1.0)
        now[0] += 2 * hour
        second = bandit.ask(key="b")
        assert bandit.ask(key="a") == first  # not older than two hours
        now[0] += 1
        bandit.ask(key="c")
        assert bandit.ask(key="a") != first
        unchanged(bandit, lb.ExpiredDecisionError, "too long ago", bandit.tell, first.token, 1.0)
        state = facts(bandit)
    now[0] += 10 * hour
    with lb.Store(place, snapshot_every=5) as store:
        assert store.verify(NAME) >= 0
        bandit = store.bandit(NAME)
        assert facts(bandit) == state  # whoever opens it reads no clock
        assert bandit.ask(key="b") == second
        for _ in range(20):
            bandit.ask(key=None)
        bandit.ask(key="d")
        store.snapshot(NAME)
        assert count(place) == 1  # the events of older keys are gone
        bandit.configure(remember=0)
        store.snapshot(NAME)
        assert count(place) == 0


def test_a_secret_is_made_once(place):
    with lb.Store(place) as store, lb.Store(place) as other:
        assert len(store._storage.secret) == 32
        assert other._storage.secret == store._storage.secret
        assert repr(store._storage.secret) not in repr(store._tokens)
    with lb.Store(place) as store:
        assert store._storage.secret == other._storage.secret
    fetch(place, "DELETE FROM settings")
    with pytest.raises(lb.StoreError, match="damaged: its secret for tokens is missing"):
        lb.Store(place)


@pytest.mark.parametrize(
    "edit",
    [
        "UPDATE events SET extra = '[1]' WHERE kind > 5",
        'UPDATE events SET extra = \'["asked", ["a", ""], [[99, 0, null]]]\' WHERE kind > 5',
        "UPDATE events SET extra = 'x' WHERE kind > 5",
        "UPDATE events SET extra = NULL WHERE kind > 5",
    ],
)
@pytest.mark.parametrize("snapshot", [False, True])
def test_edited_memory_is_damage(place, edit, snapshot):
    with lb.Store(place) as store:
        new_bandit(store.create, name=NAME).ask(key="a")
        if snapshot:
            store.snapshot(NAME)
    fetch(place, edit)
    with lb.Store(place) as store, pytest.raises(lb.StoreError, match="is damaged"):
        store.bandit(NAME)


def test_a_stale_owner_repeats_no_answer(url):
    """The next owner does, with what the first one had acknowledged."""
    with lb.Store(url) as store, lb.Store(url) as other:
        bandit = new_bandit(store.create, name=NAME)
        decision = bandit.ask(key="a")
        store.tell(decision.token, 1.0)
        fetch(url, "UPDATE owners SET expires = now() - interval '1 s'")
        mine = other.bandit(NAME)
        assert mine.ask(key="a") == decision
        other.tell(decision.token, 1.0)
        with pytest.raises(lb.ToldOtherwiseError):
            other.tell(decision.token, 0.0)
        with pytest.raises(lb.StoreError, match="was taken over"):
            bandit.ask()
        for call in (lambda: bandit.ask(key="a"), lambda: bandit.tell(decision.token, 1.0)):
            with pytest.raises(lb.StoreError, match="was taken over"):
                call()
        with pytest.raises(lb.BanditInUseError, match="is open in another Store"):
            store.tell(decision.token, 1.0)
