"""Keys and several rewards of a decision, for bandits outside a store."""

import json
import math
from datetime import timedelta

import pytest

import lastblock as lb
from lastblock.live import persistence
from lastblock.live.ledger import RULES

ARMS = ["red", "green", "blue"]
EXPECTED = {"first": 0.25, "sum": 1.0, "max": 0.5, "last": 0.25}


def new(policy=None, **options):
    return lb.Bandit(policy or lb.LBSDAGM(), ARMS, seed=7, **options)


def unchanged(bandit, error, match, call, *arguments, **options):
    before = bandit.to_bytes()
    with pytest.raises(error, match=match) as caught:
        call(*arguments, **options)
    assert bandit.to_bytes() == before
    return caught.value


def test_the_same_key_gives_the_same_decision():
    bandit, twin = new(), new()
    first, batch = bandit.ask(key="a"), bandit.ask(3, key="b")
    assert [first, *batch] == twin.ask(4)
    assert bandit.asked == 4
    bandit.tell(first, 1.0)
    assert bandit.ask(key="a") == first  # told meanwhile, it is still the same
    assert bandit.ask(3, key="b") == batch
    assert bandit.asked == 4
    assert bandit.ask(1, key="a") == [first]


def test_keys_are_saved_with_the_bandit():
    bandit = new(remember=10)
    first = bandit.ask(key="a")
    for again in (lb.Bandit.from_bytes(bandit.to_bytes()), lb.Bandit.from_json(bandit.to_json())):
        assert again.ask(key="a") == first
        assert again.asked == 1
        assert again.to_bytes() == bandit.to_bytes()
    copy = bandit.copy()
    assert copy.ask(key="a") == first


def test_a_key_for_another_number_is_refused():
    bandit = new()
    bandit.ask(2, key="a")
    told = "key='a' was for 2 decisions, not for 3"
    unchanged(bandit, lb.KeyReusedError, told, bandit.ask, 3, key="a")
    unchanged(bandit, lb.KeyReusedError, "not for 1", bandit.ask, key="a")


@pytest.mark.parametrize("key", ["", "x" * 256, 7, b"a", "a\nb", "\ud800", None])
def test_keys_are_lines_of_text(key):
    bandit = new()
    if key is None:
        assert bandit.ask(key=key).id == 0
    else:
        unchanged(bandit, ValueError, "key=", bandit.ask, key=key)


def test_memory_is_bounded():
    bandit = new(remember=50)
    for step in range(1000):
        bandit.ask(key=f"key {step}")
    assert bandit.ask(key="key 999").id == 999
    assert bandit.ask(key="key 900").id == 900
    assert bandit.ask(key="key 899").id == 1000  # a decision may take two places, so 100 are kept
    assert len(bandit._desk.ledger.memory._found) == 100
    bandit.configure(remember=5)
    assert len(bandit._desk.ledger.memory._found) == 10
    bandit.configure(remember=0)
    assert not bandit._desk.ledger.memory
    assert bandit.ask(key="a") != bandit.ask(key="a")


def test_memory_counts_each_decision_of_a_batch():
    bandit = new(remember=50)
    for step in range(40):
        bandit.ask(10, key=f"page {step}")
    assert len(bandit._desk.ledger.memory._found) == 10  # of ten decisions each
    assert bandit.ask(10, key="page 39")[0].id == 390
    assert bandit.ask(10, key="page 29")[0].id == 400
    copy = bandit.copy()
    for each in (bandit, copy):
        page = each.ask(200, key="a large page")  # the last one, whatever its size
        assert each.ask(200, key="a large page") == page
        assert len(each._desk.ledger.memory._found) == 1


WRONG = [-1, "x", "24h", 1.5, (1, 2), (timedelta(1), -1), (timedelta(1), 2, 3), timedelta(-1), ()]


@pytest.mark.parametrize("remember", WRONG)
def test_remember_is_checked(remember):
    with pytest.raises(ValueError, match=r"^remember=.* must "):
        new(remember=remember)


@pytest.mark.parametrize("rewards", RULES)
def test_several_rewards_become_one(rewards):
    bandit, twin = new(rewards=rewards), new()
    assert bandit.rewards == rewards
    for step in range(30):
        decision = bandit.ask()
        assert decision == twin.ask()
        for reward in (0.25, 0.5, 0.25):
            bandit.tell(decision, reward)
        assert len(bandit.pending) == 1
        told = bandit.close(decision)
        assert told == EXPECTED[rewards]
        twin.tell(decision, told)
        assert bandit.pulls == twin.pulls
        if step == 20:
            bandit = lb.Bandit.from_bytes(bandit.to_bytes())


def test_rewards_so_far_are_saved():
    bandit = new(rewards="sum")
    one, other = bandit.ask(2)
    bandit.tell_many([one, other], [1.0, 2.0])
    again = lb.Bandit.from_json(bandit.to_json())
    for each in (bandit, again, bandit.copy()):
        each.tell(one.id, 4.0)
        assert each.close(one) == 5.0
        assert [old.id for old in each.expire(older_than=0)] == []
        each.ask()
        assert [old.id for old in each.expire(older_than=0, reward=0.0)] == [other.id]
        assert sum(each.pulls.values()) == 2
    assert again.to_bytes() == bandit.to_bytes()


def test_closing_without_a_reward():
    bandit = new(rewards="sum")
    forgotten, told, expired = bandit.ask(3)
    assert bandit.close(forgotten) is None
    assert bandit.close(told, reward=-1.0) == -1.0
    bandit.ask()
    bandit.expire(older_than=0)
    assert sum(bandit.pulls.values()) == 1
    for decision in (forgotten, told, expired):
        unchanged(bandit, lb.SettledDecisionError, "already", bandit.tell, decision, 1.0)
        unchanged(bandit, lb.SettledDecisionError, "already", bandit.close, decision)


def test_a_reward_with_a_key_counts_once():
    bandit = new(rewards="sum")
    decision = bandit.ask()
    for _ in range(3):
        bandit.tell(decision, 2.0, key="a")
        bandit.tell(decision, 2.0, key="b")
    told = "key='a' came with the reward 2.0 before, now with 3.0"
    unchanged(bandit, lb.KeyReusedError, told, bandit.tell, decision, 3.0, key="a")
    assert bandit.close(decision) == 4.0
    bandit.tell(decision, 2.0, key="a")  # again, after it was closed
    unchanged(bandit, lb.SettledDecisionError, "already", bandit.tell, decision, 2.0, key="c")


@pytest.mark.parametrize("reward", [math.nan, math.inf, -math.inf, 1e300, "x", None])
def test_bad_rewards_change_nothing(reward):
    bandit = new(rewards="sum")
    decision, other = bandit.ask(2)
    bandit.tell(decision, 1.0)
    unchanged(bandit, ValueError, "reward", bandit.tell, decision, reward)
    both = [decision, other], [1.0, reward]
    unchanged(bandit, ValueError, "reward", bandit.tell_many, *both)
    unchanged(bandit, ValueError, "reward", bandit.close, other, reward=reward or "x")
    assert bandit.close(decision) == 1.0


def test_sums_that_the_policy_does_not_take():
    bandit = new(lb.Thompson(), rewards="sum")
    decision = bandit.ask()
    bandit.tell(decision, 0.75)
    told = "with reward=0.5 the sum of decision 0 would be refused.*1.25.*takes numbers in"
    unchanged(bandit, ValueError, told, bandit.tell, decision, 0.5)
    bandit.tell(decision, -0.5)  # it is the sum that counts
    assert bandit.close(decision) == 0.25
    large = new(rewards="sum")
    decision = large.ask()
    large.tell(decision, 0.9e290)
    unchanged(large, ValueError, "with reward=9e\\+289 the sum", large.tell, decision, 0.9e290)


def test_one_reward_takes_no_key():
    bandit = new()
    decision = bandit.ask()
    told = "key='a' is for bandits that collect several rewards"
    unchanged(bandit, ValueError, told, bandit.tell, decision, 1.0, key="a")
    with pytest.raises(ValueError, match="rewards='mean' must be one of 'first'"):
        new(rewards="mean")


def test_the_rule_can_change_between_decisions():
    bandit = new()
    bandit.configure(rewards="sum")
    decision = bandit.ask()
    bandit.tell(decision, 1.0)
    told = "1 decisions have had rewards already, of which the sum counts; close them first"
    unchanged(bandit, ValueError, told, bandit.configure, rewards="max")
    bandit.configure(rewards="sum", remember=7)
    bandit.close(decision)
    bandit.configure(rewards=None)
    bandit.tell(bandit.ask(), 1.0)
    assert sum(bandit.pulls.values()) == 2


def test_outside_a_store_there_are_no_times_and_tokens():
    bandit = new()
    decision = bandit.ask()
    assert decision.time is None
    assert bandit.pending[0].time is None
    assert decision.to_dict().keys() == {"arm", "id", "probability"}
    with pytest.raises(lb.TokenError, match="only decisions of a bandit in a store have a token"):
        _ = decision.token
    unchanged(bandit, lb.TokenError, "in a store", bandit.token, decision)
    unchanged(bandit, lb.UnknownDecisionError, "never asked", bandit.tell, "A" * 36, 1.0)
    old = {"older_than": timedelta(hours=2)}
    unchanged(bandit, ValueError, "which only a bandit in a store has", bandit.expire, **old)
    unchanged(bandit, ValueError, "which only a bandit in a store has", bandit.activate, decision)


def test_events_repeat_it_all():
    bandit, twin = new(), new()
    events = []
    bandit.attach(events.extend)
    bandit.configure(rewards="sum", remember=3)
    for step in range(20):
        decision = bandit.ask(key=f"key {step}")
        bandit.tell(decision, 1.0, key="a")
        bandit.tell(decision, step)
        if step % 3:
            bandit.close(decision)
    bandit.expire(older_than=4, reward=0.0)
    bandit.apply(("guard", None, 1, [2.5]))
    assert events[-1][0] == "guard"
    for event in events:
        twin.apply(event)
    assert twin.to_bytes() == bandit.to_bytes()
    for event in (
        ("partial", 99, 0, [1.0, None]),
        ("partial", 18, 0, ["x", None]),
        ("guard", None, 3, [1.0]),
        ("guard", None, None, [1.0]),
        ("guard", None, 0, [1e300]),
        ("remember", None, None, ["asked", "a", [[99, 0, None]]]),
        ("remember", None, None, "x"),
        ("configure", None, None, {"rewards": "mean", "remember": [0, 0]}),
    ):
        unchanged(twin, ValueError, "does not fit the bandit", twin.apply, event)


def test_functions_are_told_of_each_reward():
    bandit, seen = new(rewards="sum"), []
    bandit.on_event(seen.append)
    decision = bandit.ask(key="a")
    bandit.tell(decision, 1.0)
    bandit.close(decision)
    assert [(event.kind, event.value) for event in seen] == [
        ("ask", None),
        ("partial", 1.0),
        ("tell", 1.0),
    ]
    assert {event.arm for event in seen} == {decision.arm}


def test_a_forged_ledger_is_refused():
    bandit = new(rewards="sum")
    decision = bandit.ask(key="a")
    bandit.tell(decision, 1.0)
    about, record = persistence.unpack(bandit.to_bytes())
    for change in (
        {"rewards": "mean"},
        {"parts": [[5, 1, 1.0]]},
        {"parts": [[0, 1, "x"]]},
        {"parts": [[0, 1, 1e300]]},
        {"guarded": [[3, 1, 0.0, 0.0, 0.0, 0.0]]},
        {"guarded": [[0, 0, 0.0, 0.0, 0.0, 0.0]]},
        {"guarded": [[0, 1, 0.0, math.inf, 0.0, 0.0]]},
        {"remember": [1]},
        {"memory": [[1, 0, ["asked", "a", [[7, 0, None]]]]]},
        {"memory": [[1, 0, ["asked", "", []]]]},
        {"memory": [[1, 0, ["lost", None, [0]]]]},
    ):
        forged = json.loads(json.dumps(about))
        forged["ledger"] |= change
        with pytest.raises(lb.StateFileError):
            lb.Bandit.from_bytes(persistence.pack(forged, record))
