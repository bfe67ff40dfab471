"""Traffic floors that are set, changed and taken away while a bandit lives."""

import random

import pytest

import lastblock as lb

LABELS = ["red", "green", "blue"]
FLOORS = [0.1, {"red": 0.2, "blue": 0.1}]


def new_bandit(policy=None, **options):
    return lb.Bandit(policy or lb.LBSDAGM(), LABELS, seed=7, **options)


def live(bandit, steps):
    rng = random.Random(steps)
    taken = []
    for _ in range(steps):
        taken.append(bandit.ask())
        bandit.tell(taken[-1], float(rng.random() < 0.3))
    return [(decision.arm, decision.probability) for decision in taken]


@pytest.mark.parametrize("policy", [lb.LBSDAGM(), lb.Thompson()], ids=repr)
@pytest.mark.parametrize("floor", FLOORS, ids=repr)
def test_set_at_once_they_are_those_of_a_new_bandit(policy, floor):
    made, later = new_bandit(policy, floor=floor), new_bandit(policy)
    later.set_floors(floor)
    assert live(later, 40) == live(made, 40)
    assert later.floor == made.floor
    assert later.to_bytes() == made.to_bytes()


def test_decisions_have_a_probability_while_there_are_floors():
    bandit = new_bandit()
    assert {chance for _, chance in live(bandit, 10)} == {None}
    out = bandit.ask()
    bandit.set_floors({"red": 0.25})
    assert bandit.floor == {"red": 0.25}
    assert {chance for _, chance in live(bandit, 60)} == {0.25, 0.75, 1.0}
    floored = bandit.ask()
    bandit.set_floors({"red": 0.0})
    assert bandit.floor == {}
    assert {chance for _, chance in live(bandit, 10)} == {None}
    # What is out keeps the probability that it was taken with.
    assert [each.probability for each in bandit.pending] == [None, floored.probability]
    bandit.tell(out, 1.0)
    bandit.tell(floored, 1.0)


def test_without_floors_again_no_number_is_drawn():
    """Floors of decisions that were never taken leave no trace."""
    plain, other = new_bandit(), new_bandit()
    live(plain, 20), live(other, 20)
    other.set_floors(0.2)
    other.set_floors(None)
    assert live(plain, 30) == live(other, 30)
    assert plain.to_bytes() == other.to_bytes()


def test_arms_that_come_later():
    bandit = new_bandit()
    bandit.set_floors(0.1)
    bandit.add_arm("gold")
    assert bandit.floor == {"red": 0.1, "green": 0.1, "blue": 0.1, "gold": 0.1}
    bandit.set_floors({"gold": 0.3})
    bandit.add_arm("grey")
    bandit.retire_arm("red")
    assert bandit.floor == {"gold": 0.3}
    bandit.set_floors({"grey": 0.5, "gold": 0.5})
    assert {arm for arm, _ in live(bandit, 30)} == {"grey", "gold"}


@pytest.mark.parametrize(
    ("floor", "message"),
    [
        (0.4, "add up to 1.2"),
        (-0.1, "must lie in"),
        ({"pink": 0.1}, "'pink' is not one of the arms"),
        ({"gone": 0.1}, "'gone' is not one of the arms"),
        ({"red": float("nan")}, "must be finite"),
        ("much", "floor"),
        ({"red": 0.6, "blue": 0.6}, "add up to"),
    ],
    ids=repr,
)
def test_wrong_floors_change_nothing(floor, message):
    bandit = new_bandit()
    bandit.add_arm("gone")
    bandit.retire_arm("gone")
    bandit.set_floors({"red": 0.1})
    before, events = bandit.to_bytes(), []
    bandit.attach(events.extend)
    with pytest.raises(ValueError, match=message):
        bandit.set_floors(floor)
    assert bandit.to_bytes() == before
    assert events == []


def test_the_events_lead_to_the_same_bytes():
    bandit, events, told = new_bandit(), [], []
    bandit.attach(events.extend)
    bandit.on_event(lambda event: told.append(event.kind))
    live(bandit, 5)
    for floor in (0.1, {"blue": 0.5}, None, {"green": 0.3}):
        bandit.set_floors(floor)
        live(bandit, 10)
    bandit.pause_arm("green")
    live(bandit, 5)
    again = new_bandit()
    for event in events:
        again.apply(event)
    assert again.to_bytes() == bandit.to_bytes()
    assert again.floor == {"green": 0.3}
    assert told.count("set_floors") == 4
    assert [event[3] for event in events if event[0] == "set_floors"] == [
        {"every": 0.1},
        {"arms": [[2, 0.5]]},
        None,
        {"arms": [[1, 0.3]]},
    ]


@pytest.mark.parametrize(
    "value", [{"arms": [[9, 0.1]]}, {"arms": 3}, {}, "much", {"every": "a"}, {"every": 2.0}]
)
def test_events_that_no_bandit_writes(value):
    bandit = new_bandit()
    before = bandit.to_bytes()
    with pytest.raises(ValueError, match=r"does not fit|must lie in"):
        bandit.apply(("set_floors", None, None, value))
    assert bandit.to_bytes() == before


def test_copies_and_saved_states_keep_them(tmp_path):
    bandit = new_bandit()
    bandit.set_floors(0.1)
    live(bandit, 10)
    copy = bandit.copy()
    bandit.save(tmp_path / "state")
    loaded = lb.Bandit.load(tmp_path / "state")
    for other in (copy, loaded):
        assert other.floor == bandit.floor
        other.add_arm("gold")
        assert other.floor["gold"] == 0.1
    assert live(copy, 20) == live(loaded, 20)


def test_a_journal_that_fails_leaves_them():
    bandit = new_bandit()
    bandit.set_floors(0.1)
    before = bandit.to_bytes()

    def fail(events):
        raise OSError("no room")

    bandit.attach(fail)
    with pytest.raises(OSError, match="no room"):
        bandit.set_floors(None)
    bandit.attach(None)
    assert bandit.to_bytes() == before
    assert bandit.ask().probability is not None
