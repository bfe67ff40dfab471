"""Functions that a bandit calls after each change."""

import logging

import pytest

import lastblock as lb

ARMS = ["red", "green", "blue"]


@pytest.fixture(params=["alone", "floored", "stored"])
def bandit(request, tmp_path):
    floor = 0.1 if request.param == "floored" else None
    if request.param != "stored":
        yield lb.Bandit(lb.LBSDALM(), ARMS, seed=7, floor=floor)
    else:
        with lb.Store(tmp_path / "s.db") as store:
            store.create("b", lb.LBSDALM(), ARMS, seed=7)
            store.release("b")
            yield store.bandit("b")  # its ids say that it was opened a second time


def live_a_little(bandit):
    first, *others = [bandit.ask(), *bandit.ask(4)]
    bandit.tell(first, 1.0)
    bandit.tell_many(others[:2], [0.0, 0.5])
    bandit.forget(others[2].id)
    bandit.expire(older_than=0, reward=0.25)
    return first, others


def test_every_change_is_announced_once(bandit):
    seen = []
    plain = bandit.copy()
    stop = bandit.on_event(seen.append)
    first, others = live_a_little(bandit)
    bandit.add_arm("gold")
    bandit.retire_arm("red")
    bandit.reseed(3)
    decisions = [first, *others]
    asks = [("ask", d.id, d.arm, d.probability) for d in decisions]
    told = {0: 1.0, 1: 0.0, 2: 0.5}
    tells = [("tell", decisions[i].id, decisions[i].arm, reward) for i, reward in told.items()]
    assert seen[:5] == asks
    assert seen[5:8] == tells
    assert seen[8] == ("forget", decisions[3].id, decisions[3].arm, None)
    expired = [event for event in seen[9:] if event.kind == "tell"]
    assert all(event.value == 0.25 for event in expired)
    assert [(e.kind, e.id, e.arm, e.value) for e in seen[-3:]] == [
        ("add_arm", None, "gold", None),
        ("retire_arm", None, "red", None),
        ("reseed", None, None, None),
    ]
    assert seen[0].to_dict() == dict(zip(("kind", "id", "arm", "value"), asks[0], strict=True))

    stop()
    stop()  # a second time is not an error
    count = len(seen)
    live_a_little(bandit)
    assert len(seen) == count
    live_a_little(plain)  # a copy has no functions of its original
    assert len(seen) == count


def test_an_error_in_a_function_undoes_nothing(bandit, caplog):
    seen = []

    def fail(event):
        raise RuntimeError("no metrics today")

    bandit.on_event(fail)
    bandit.on_event(seen.append)
    with caplog.at_level(logging.ERROR, logger="lastblock"):
        decision = bandit.ask()
        bandit.tell(decision, 1.0)
    assert bandit.pulls[decision.arm] == 1
    assert len(seen) == 2
    assert len(caplog.records) == 2
    assert "a function given to on_event() failed on BanditEvent(kind='ask'" in caplog.text
