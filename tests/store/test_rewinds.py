"""A PostgreSQL database that goes back to an earlier state under a running owner.

What was acknowledged and is lost is named, and nothing is given twice. `postgres_trials.py` does it
with copies of whole servers, and with replicas.
"""

import asyncio
import contextlib
import time
from pathlib import Path

import pytest
from databases import copy_all, fetch, go_back
from lives import NAME, live, new_bandit
from refusals import said

import lastblock as lb
from processes import run_trial
from serve.client import Service
from trials import short_and_long


@pytest.fixture(params=["always", "interval"])
def owner(request, url):
    """A store with a bandit at event 40, of which there is a copy at event 20 or before."""
    with lb.Store(url, durability=request.param, keep_events=True) as store:
        yield store


def play(bandit, calls):
    """Take decisions, and tell every other one its reward; the decisions."""
    made = [bandit.ask() for _ in range(calls)]
    bandit.tell_many([each.token for each in made[::2]], [1.0] * len(made[::2]))
    return made


def check_goes_on(store, url, kept, lost, events):
    """The bandit goes on after event `events`, and knows nothing of what is lost."""
    bandit = store.bandit(NAME)
    assert bandit.asked == len(kept)
    for decision, token in lost:
        for what in (decision, token):
            with pytest.raises(lb.UnknownDecisionError, match=f"decision {decision.id} was lost"):
                bandit.tell(what, 0.0)
    bandit.tell(kept[-1].token, 0.0)
    fresh = bandit.ask(50)
    assert not {each.id for each in fresh} & {each.id for each, _ in lost}
    store.flush()
    assert store.verify(NAME) == events + 1 + 1 + 1 + 50  # a skip, a tell and its note, asks
    assert fetch(url, "SELECT count(*), max(event) FROM events") == [(events + 53, events + 53)]


@pytest.mark.parametrize("when", ["at the next call", "at a renewal", "after an error"])
def test_what_is_lost_is_named_and_the_bandit_goes_on(url, owner, when, caplog):
    bandit = new_bandit(owner.create, name=NAME)
    kept = play(bandit, 6)
    owner.flush()
    events = owner.last_event(NAME)
    copy_all(url)
    lost = [(each, each.token) for each in play(bandit, 8)]
    owner.flush()
    last = owner.last_event(NAME)
    assert last > events
    go_back(url)
    named = f"events {events + 1} to {last} are lost; open it again with bandit()"
    if when == "at a renewal":
        owner._storage._leases.renew()
        assert named in owner.losses[0]
    if when == "after an error":
        bandit._desk._is_unsure = True
        assert named in said(lambda: bandit.tell_many((), ()))
    for action in (bandit.ask, lambda: bandit.tell(kept[1], 1.0), bandit.reseed):
        refusal = said(lambda act=action: (act(), owner.flush()))
        assert "went back to an earlier state" in refusal
        assert named in refusal
    assert named in owner.losses[0]
    assert named in caplog.text
    check_goes_on(owner, url, kept, lost, events)
    assert "open it again with bandit()" in said(bandit.ask)


def test_what_waited_to_be_written_is_named_too(url, caplog):
    with lb.Store(url, durability="interval", interval=1000.0) as store:
        bandit = new_bandit(store.create, name=NAME)
        other = new_bandit(store.create, name="other")
        bandit.ask(3)
        store.flush()
        copy_all(url)
        bandit.ask(4)
        store.flush()
        go_back(url)
        bandit.ask(5)
        other.ask()
        assert "events 4 to 7 are lost" in said(store.flush)
        assert any("events 8 to 12, which waited to be written" in each for each in store.losses)
        assert "events 8 to 12, which waited" in caplog.text
        store.flush()
        other.ask()
        assert store.bandit("other") is other
        assert store.bandit(NAME).asked == 3


@pytest.mark.parametrize("when", ["before it was opened", "before it was made"])
def test_a_copy_that_does_not_know_the_owner(url, owner, when):
    """Then the epoch is an older one; nobody has taken the bandit over."""
    if when == "before it was made":
        copy_all(url)
    bandit = new_bandit(owner.create, name=NAME)
    kept = play(bandit, 6)
    owner.release(NAME)
    if when == "before it was opened":
        copy_all(url)
    events = owner.last_event(NAME)
    bandit = owner.bandit(NAME)
    lost = [(each, each.token) for each in play(bandit, 8)]
    owner.flush()
    last, number = owner.last_event(NAME), owner._journals[NAME].number
    go_back(url)
    said(lambda: (bandit.ask(), owner.flush()))
    if when == "before it was opened":
        assert f"events {events + 1} to {last} are lost" in said(bandit.ask)
        assert owner.bandit(NAME).asked == 6
        fresh = owner.bandit(NAME).ask(50)
        assert not {each.id for each in fresh} & {each.id for each, _ in lost}
        owner.bandit(NAME).tell(kept[-1], 0.0)
    else:
        assert f"is no longer in {owner.label}" in said(bandit.ask)
        assert f"events 1 to {last} are lost" in owner.losses[0]
        assert "has no bandit" in said(lambda: owner.bandit(NAME))
        new_bandit(owner.create, name=NAME).ask(50)
        assert owner._journals[NAME].number > number  # so no old token is of a new decision
        for _, token in lost:
            with pytest.raises(lb.TokenError, match="of a bandit that was deleted"):
                owner.tell(token, 1.0)


def test_ids_are_not_given_again_by_those_who_come_later(url):
    """The owner notices the loss and ends, before it opens the bandit again."""
    with lb.Store(url) as store:
        bandit = new_bandit(store.create, name=NAME)
        copy_all(url)
        given = {each.id for each in bandit.ask(10)}
        go_back(url)
        assert "events 1 to 10 are lost" in said(bandit.ask)
    with lb.Store(url) as store:
        assert not given & {each.id for each in store.bandit(NAME).ask(20)}


def test_another_store_has_the_bandit_by_then(url):
    """It took the copy over, and has written meanwhile: what the first one lost is named."""
    with lb.Store(url) as store, lb.Store(url) as other:
        bandit = new_bandit(store.create, name=NAME)
        bandit.ask(3)
        copy_all(url)
        bandit.ask(4)
        go_back(url)
        fetch(url, "UPDATE owners SET expires = now() - interval '1 h'")
        live([other.bandit(NAME)], range(20))
        assert "events 4 to 7 are lost" in said(bandit.ask)
        live([other.bandit(NAME)], range(20, 40))
        assert other.verify(NAME) > 0


def test_the_last_loss_is_named_when_the_store_closes(url, caplog):
    store = lb.Store(url)
    bandit = new_bandit(store.create, name=NAME)
    copy_all(url)
    bandit.ask(3)
    go_back(url)
    store.close()
    assert "events 1 to 3 are lost" in caplog.text


@short_and_long("rewinds", 2, 8)
def test_copies_that_are_restored_and_replicas_that_are_behind(rewinds):
    """Under load. `python tests/store/postgres_trials.py rewinds 50` does it 50 times."""
    result = run_trial(Path(__file__).parent / "postgres_trials.py", "rewinds", rewinds)
    assert all(each["named as lost"] > 0 for each in result.values())


# The service.


def test_a_service_goes_on_from_what_the_database_has(url):
    """It stops to acknowledge, says what is lost, and serves the bandit again by itself."""
    with contextlib.closing(Service(url, keep_events=True)) as shop:
        shop.create("button")
        kept = shop.learn([1.0, 0.0])
        copy_all(url)
        lost = shop.learn([1.0] * 5)
        shop.patch("/v1/bandits/button", {"description": "new"})
        go_back(url)
        refused = shop.decide()
        assert (refused.status, refused.kind) == (503, "unavailable")
        assert "events 7 to 21 are lost" in refused.json["detail"]
        answers = [shop.decide() for _ in range(3)]
        assert [each.status for each in answers][1:] == [201, 201]
        tokens = {each.json["token"] for each in answers if each.status == 201}
        assert not tokens & {each["token"] for each in (*kept, *lost)}
        assert [shop.reward(each["token"], 1.0).status for each in lost] == [404] * 5
        assert shop.reward(kept[0]["token"], 1.0).status == 204  # as it was told before
        assert shop.patch("/v1/bandits/button", {"description": "newer"}).status == 200
        ready = shop.get("/readyz")
        assert ready.status == 200
        assert "losses of events: 2" in ready.json["detail"]
        first, second = ready.json["losses"]
        assert "events 7 to 21 are lost" in first
        assert second.startswith("events 22 to 22, which waited to be written, are lost")
        assert shop.get("/readyz", key="").json["losses"] == []
    with lb.Store(url, keep_events=True) as store:
        assert store.verify("button") > 6


def test_settings_alone_may_go_back(url):
    """The first change after that is refused, and the next one is made to what there is."""
    with contextlib.closing(Service(url)) as shop:
        shop.create("button", description="first")
        copy_all(url)
        shop.patch("/v1/bandits/button", {"description": "second"})
        shop.patch("/v1/bandits/button", {"description": "third"})
        go_back(url)
        changes = [shop.patch("/v1/bandits/button", {"paused": True}) for _ in range(2)]
        assert [each.status for each in changes] == [503, 200]
        assert shop.get("/v1/bandits/button").json["description"] == "first"


def test_what_comes_while_a_group_is_refused_is_not_acknowledged(url):
    """Requests gather while the group before theirs is being written, and refused."""
    with contextlib.closing(Service(url)) as shop:
        shop.create("button")
        copy_all(url)
        shop.learn([1.0])
        go_back(url)
        real = shop.state.host.store._groups._write

        def slow(*arguments):
            time.sleep(0.2)
            real(*arguments)

        shop.state.host.store._groups._write = slow
        decide = {"method": "POST", "path": "/v1/bandits/button/decisions", "body": {}}

        async def late(seconds):
            await asyncio.sleep(seconds)
            return await shop.request(**decide)

        async def all_of_them():
            return await asyncio.gather(*[late(0.02 * i) for i in range(8)])

        assert {each.status for each in shop.runner.run(all_of_them())} == {503}
