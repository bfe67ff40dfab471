"""Keys and several rewards of a decision, for bandits outside a store."""

import pytest
from colours import new_bandit

import lastblock as lb
from lastblock.live.ledger import RULES

EXPECTED = {"first": 0.25, "sum": 1.0, "max": 0.5, "last": 0.25}


def unchanged(bandit, error, match, call, *arguments, **options):
    before = bandit.to_bytes()
    with pytest.raises(error, match=match) as caught:
        call(*arguments, **options)
    assert bandit.to_bytes() == before
    return caught.value


def test_the_same_key_gives_the_same_decision():
    bandit, twin = new_bandit(), new_bandit()
    first, batch = bandit.ask(key="a"), bandit.ask(3, key="b")
    assert [first, *batch] == twin.ask(4)
    assert bandit.asked == 4
    bandit.tell(first, 1.0)
    assert bandit.ask(key="a") == first  # told meanwhile, it is still the same
    assert bandit.ask(3, key="b") == batch
    assert bandit.asked == 4
    assert bandit.ask(1, key="a") == [first]


def test_memory_is_bounded():
    bandit = new_bandit(remember=50)
    for step in range(1000):
        bandit.ask(key=f"key {step}")
    assert bandit.ask(key="key 999").id == 999
    assert bandit.ask(key="key 900").id == 900
    assert bandit.ask(key="key 899").id == 1000  # a decision may take two places, so 100 are kept
    bandit.configure(remember=5)
    assert bandit.ask(key="key 991").id == 991
    assert bandit.ask(key="key 990").id == 1001
    bandit.configure(remember=0)
    assert bandit.ask(key="a") != bandit.ask(key="a")


def test_memory_counts_each_decision_of_a_batch():
    bandit = new_bandit(remember=50)
    for step in range(40):
        bandit.ask(10, key=f"page {step}")
    assert bandit.ask(10, key="page 39")[0].id == 390
    assert bandit.ask(10, key="page 29")[0].id == 400
    copy = bandit.copy()
    for each in (bandit, copy):
        page = each.ask(200, key="a large page")  # the last one, whatever its size
        assert each.ask(200, key="a large page") == page
        assert each.ask(10, key="page 39")[0].id > 390  # it leaves no room for others


@pytest.mark.parametrize("rewards", RULES)
def test_several_rewards_become_one(rewards):
    bandit, twin = new_bandit(rewards=rewards), new_bandit()
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


def test_closing_without_a_reward():
    bandit = new_bandit(rewards="sum")
    forgotten, told, expired = bandit.ask(3)
    assert bandit.close(forgotten) is None
    assert bandit.close(told, reward=-1.0) == -1.0
    bandit.ask()
    bandit.expire(older_than=0)
    assert sum(bandit.pulls.values()) == 1
    for decision in (forgotten, told, expired):
        unchanged(bandit, lb.SettledDecisionError, "already", bandit.tell, decision, 1.0)
        unchanged(bandit, lb.SettledDecisionError, "already", bandit.close, decision)


def test_deferred_rewards_wait_until_their_decisions_expire():
    bandit, twin = new_bandit(), new_bandit()
    closed, silent, told, last = bandit.ask(4)
    twin.ask(4)
    bandit.tell(told, 1.0, defer=True)
    assert bandit.close(closed, reward=0.5, defer=True) == 0.5
    assert (sum(bandit.pulls.values()), bandit.pending) == (0, bandit.pending[:2])
    summary = bandit.summary()
    assert [sum(row[place] for row in summary.arms) for place in (2, 3, -1)] == [0, 2, 2]
    assert "Rewards that the policy learns when their decisions expire: 2." in str(summary)
    for each in (closed, told, told.id):
        for call, *arguments in (
            (bandit.tell, each, 1.0),
            (bandit.tell_many, [last, each], [1.0, 1.0]),
            (bandit.forget, each),
            (bandit.close, each),
        ):
            unchanged(bandit, lb.SettledDecisionError, "already|closed", call, *arguments)
    bandit = lb.Bandit.from_json(bandit.copy().to_json())
    assert len(bandit.expire(older_than=0, reward=0.0)) == 3
    twin.tell_many([closed, silent, told], [0.5, 0.0, 1.0])
    for each in (bandit, twin):
        each.tell(last, 1.0)
    assert bandit._desk.live.to_bytes() == twin._desk.live.to_bytes()


def test_a_reward_with_a_key_counts_once():
    bandit = new_bandit(rewards="sum")
    decision = bandit.ask()
    for _ in range(3):
        bandit.tell(decision, 2.0, key="a")
        bandit.tell(decision, 2.0, key="b")
    assert bandit.close(decision) == 4.0
    bandit.tell(decision, 2.0, key="a")  # again, after it was closed
    unchanged(bandit, lb.SettledDecisionError, "already", bandit.tell, decision, 2.0, key="c")


def test_the_rule_can_change_between_decisions():
    bandit = new_bandit()
    bandit.configure(rewards="sum")
    decision = bandit.ask()
    bandit.tell(decision, 1.0)
    bandit.configure(rewards="sum", remember=7)
    bandit.close(decision)
    bandit.configure(rewards=None)
    bandit.tell(bandit.ask(), 1.0)
    assert sum(bandit.pulls.values()) == 2


def test_outside_a_store_there_are_no_times_and_tokens():
    bandit = new_bandit()
    decision = bandit.ask()
    assert decision.time is None
    assert bandit.pending[0].time is None
    assert decision.to_dict().keys() == {"arm", "id", "probability"}
    with pytest.raises(lb.TokenError, match="only decisions of a bandit in a store have a token"):
        _ = decision.token


def test_functions_are_told_of_each_reward():
    bandit, seen = new_bandit(rewards="sum"), []
    bandit.on_event(seen.append)
    decision = bandit.ask(key="a")
    bandit.tell(decision, 1.0)
    bandit.close(decision, defer=True)
    bandit.ask(among=[decision.arm])
    bandit.expire(older_than=0)
    assert [(event.kind, event.value) for event in seen] == [
        ("ask", None),
        ("partial", 1.0),
        ("close", 1.0),
        ("ask", None),
        ("tell", 1.0),
    ]
    assert {event.arm for event in seen} == {decision.arm}
