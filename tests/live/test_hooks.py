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


def test_every_change_is_announced_once(bandit):
    seen, plain = [], bandit.copy()
    stop = bandit.on_event(seen.append)
    asked = [bandit.ask(), *bandit.ask(5)]
    bandit.tell(asked[0], 1.0)
    bandit.tell_many(asked[1:3], [0.0, 0.5])
    bandit.forget(asked[3].id)
    bandit.expire(older_than=0, reward=0.25)  # all but the last one
    bandit.add_arm("gold")
    bandit.retire_arm("red")
    bandit.reseed(3)
    expected = [("ask", d.id, d.arm, d.probability) for d in asked]
    told = [("tell", 1.0), ("tell", 0.0), ("tell", 0.5), ("forget", None), ("tell", 0.25)]
    expected += [(kind, d.id, d.arm, value) for (kind, value), d in zip(told, asked, strict=False)]
    expected += [("add_arm", None, "gold", None), ("retire_arm", None, "red", None)]
    assert seen == [*expected, ("reseed", None, None, None)]
    assert tuple(seen[0].to_dict().items())[1:3] == (("id", asked[0].id), ("arm", asked[0].arm))
    stop()
    stop()  # a second time is not an error
    bandit.ask()
    plain.ask()  # a copy has no functions of its original
    assert len(seen) == len(expected) + 1


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
