"""What a live bandit refuses: a precise error, and the bandit stays as it was, byte for byte."""

import math
from datetime import timedelta

import numpy as np
import pytest
from colours import has_free_lock

import lastblock as lb

LABELS = ["red", "green", "blue"]
FIXED = lb.BestArm(lb.Stationary([lb.Bernoulli(0.1), lb.Bernoulli(0.2), lb.Bernoulli(0.3)]))
UNKNOWN = lb.UnknownDecisionError

NEW = [
    ({"policy": lb.LBSDALM}, "policy=LBSDALM is a class; give an instance"),
    ({"policy": "LBSDALM"}, "policy='LBSDALM' is not a policy"),
    ({"policy": lb.SWLBSDA(window=3), "arms": 4}, "window=3 is too small for 4 arms; choose at"),
    ({"seed": -1}, "seed=-1 cannot seed"),
    ({"arms": ["red", "red", "blue"]}, "repeats a label"),
    ({"arms": ["red"]}, "at least 2 arms; add arms"),
    ({"arms": 1}, "arms=1: a bandit needs at least 2 arms"),
    ({"arms": 10**9}, "is too many"),
    ({"arms": "red"}, "is a str; give a list of labels"),
    ({"arms": ["red", 1.5]}, "label 1.5 must be a string or a whole number"),
    ({"arms": ["red", True]}, "label True must be"),
    ({"arms": ["red", "\ud800"]}, "must be a string"),
    *(({"arms": arms}, "arms") for arms in ({"a", "b"}, b"ab", 3.0, None)),
    ({"floor": {"gold": 0.1}}, "'gold' is not one of the arms"),
    ({"floor": {"red": -0.1}}, "-0.1 for 'red' must lie in"),
    ({"floor": {"red": 0.6, "blue": 0.6}}, "add up to 1.2; make them add up to at most 1"),
    ({"floor": 0.5}, "3 arms add up to 1.5"),
    ({"floor": math.nan}, "must be finite"),
    ({"room": 2}, "room=2 is too small for 3 arms"),
    ({"rewards": "mean"}, "rewards='mean' must be one of 'first'"),
    *(({"remember": wrong}, r"^remember=.* must ") for wrong in (-1, "x", 1.5, (1, 2), ())),
    ({"remember": (timedelta(1), -1)}, "must be at least 0"),
    ({"remember": (timedelta(1), 2, 3)}, r"^remember=.* must "),
    ({"remember": timedelta(-1)}, "must not be a negative time"),
]


@pytest.mark.parametrize(("options", "message"), NEW)
def test_bandits_that_cannot_be(options, message):
    with pytest.raises(ValueError, match=message) as error:
        lb.Bandit(**{"policy": lb.Thompson(), "arms": LABELS, **options})
    assert error.value.__context__ is None or error.value.__suppress_context__  # one error to read


def unasked(call):
    """A row for each way to give a decision that is not out; `call` takes bandit and decision."""
    return [
        ("decision 0 has been told or forgotten", lambda b: call(b, 0), lb.SettledDecisionError),
        ("decision 999 was never asked for", lambda b: call(b, 999), UNKNOWN),
        ("decision -1 was never asked for", lambda b: call(b, -1), UNKNOWN),
        ("'red' was never asked for", lambda b: call(b, "red"), UNKNOWN),
        ("was never asked for", lambda b: call(b, "A" * 36), UNKNOWN),
        ("True was never asked for", lambda b: call(b, True), UNKNOWN),
        ("was never asked for", lambda b: call(b, [b.pending[0].id]), UNKNOWN),
        ("was never asked for", lambda b: call(b, float(b.pending[0].id)), UNKNOWN),
        ("not 'purple'", lambda b: call(b, lb.Decision("purple", b.pending[0].id)), UNKNOWN),
    ]


def bad_rewards(call):
    """A row for each reward that the bandit does not take."""
    return [
        ("reward=nan must be finite", lambda b: call(b, math.nan)),
        ("reward=-inf must be finite", lambda b: call(b, -math.inf)),
        ("below 1e.290 in size", lambda b: call(b, 1e300)),
        ("reward=a int is not a number", lambda b: call(b, 10**5000)),
        ("reward='1' is text", lambda b: call(b, "1")),
        ("reward=None is not a number", lambda b: call(b, None)),
        ("is not a number", lambda b: call(b, 1j)),
        ("is not a number", lambda b: call(b, [1.0])),
        ("takes numbers in", lambda b: call(b, 1.5)),
    ]


def strange_arms(call):
    """A row for each label that is not that of an arm in use."""
    return [
        ("'pink' is not one of the arms", lambda b: call(b, "pink")),
        ("True is not one of the arms", lambda b: call(b, True)),
        ("is not one of the arms", lambda b: call(b, ["red"])),
        ("'gone' has been retired", lambda b: call(b, "gone")),
    ]


def wrong_keys(call):
    return [("key=", lambda b, key=key: call(b, key)) for key in ("", "x" * 301, 7, b"a", "a\nb")]


def first(b):
    return b.pending[0]


CALLS = [
    *((f"n={n}", lambda b, n=n: b.ask(n)) for n in (0, -1, 1.5, True)),
    ("takes no context: .* a bandit for each", lambda b: b.ask(context={"age": 4}), TypeError),
    ("name at least one arm", lambda b: b.ask(among=[])),
    ("give a list of labels", lambda b: b.ask(among="red")),
    ("give a list of labels", lambda b: b.ask(without=3)),
    *strange_arms(lambda b, arm: b.ask(among=["red", arm])),
    ("'pink' is not one of the arms", lambda b: b.ask(without=["pink"])),
    ("leave none of", lambda b: b.ask(among=["red"], without=["red"])),
    ("leave none of", lambda b: b.ask(without=LABELS)),
    (r"\['blue'\] are paused", lambda b: b.ask(among=["blue"])),
    ("only 2 are eligible", lambda b: b.ask(3, distinct=True)),
    ("distinct", lambda b: b.ask(2, distinct="yes")),
    *wrong_keys(lambda b, key: b.ask(key=key)),
    *(
        ("key='a' came with another request before", call, lb.KeyReusedError)
        for call in (
            lambda b: b.ask(3, key="a"),
            lambda b: b.ask(key="a"),
            lambda b: b.ask(2, key="a", without=["blue"]),
            lambda b: b.ask(2, key="a", distinct=True),
        )
    ),
    *unasked(lambda b, decision: b.tell(decision, 1.0)),
    *unasked(lambda b, decision: b.tell_many([first(b), decision], [1.0, 1.0])),
    *unasked(lambda b, decision: b.forget(decision)),
    *unasked(lambda b, decision: b.close(decision)),
    *bad_rewards(lambda b, reward: b.tell(first(b), reward)),
    *bad_rewards(lambda b, reward: b.tell_many(b.pending[:2], [1.0, reward])),
    *bad_rewards(lambda b, reward: b.expire(older_than=1000, reward=reward))[:5],
    *bad_rewards(lambda b, reward: b.close(first(b), reward=reward))[:5],
    ("is for bandits that collect several", lambda b: b.tell(first(b), 1.0, key="a")),
    ("2 rewards for 3 decisions", lambda b: b.tell_many(b.pending[:3], [1.0, 0.0])),
    ("given twice", lambda b: b.tell_many([first(b), first(b).id], [1.0, 0.0]), UNKNOWN),
    ("older_than=-1", lambda b: b.expire(older_than=-1)),
    ("which only a bandit in a store has", lambda b: b.expire(older_than=timedelta(1))),
    ("which only a bandit in a store has", lambda b: b.activate(first(b))),
    ("in a store", lambda b: b.token(first(b)), lb.TokenError),
    *strange_arms(lambda b, arm: b.observe(arm, 1.0)),
    *bad_rewards(lambda b, reward: b.observe("red", reward)),
    ("size; leave it out$", lambda b: b.observe("red", math.nan)),
    *(
        (f"event 1: .*{m}", c)
        for m, c in strange_arms(lambda b, arm: b.learn([("red", 1), (arm, 1)]))
    ),
    *(
        (f"event 1: .*{m}", c)
        for m, c in bad_rewards(lambda b, x: b.observe_many(LABELS[:2], [1, x]))
    ),
    ("1 rewards for 2 arms", lambda b: b.observe_many(["red", "blue"], [1.0])),
    *wrong_keys(lambda b, key: b.observe_many(["red"], [1.0], key=key)),
    ("log is a int; give a CSV", lambda b: b.learn(3)),
    ("event 0: 'red' is not a pair", lambda b: b.learn(["red"])),
    ("event 1: .* is not a pair", lambda b: b.learn([("red", 1.0), ("red",)])),
    ("no column 'reward'", lambda b: b.learn({"arm": ["red"]})),
    ("2 arms and 1 rewards", lambda b: b.learn({"arm": ["red", "blue"], "reward": [1.0]})),
    ("row 0: None is not an arm", lambda b: b.learn({"arm": [None], "reward": [1.0]})),
    ("there is no file", lambda b: b.learn("nowhere.csv"), FileNotFoundError),
    ("is neither .csv nor", lambda b: b.learn("log.txt")),
    ("'red' exists", lambda b: b.add_arm("red")),
    ("label 1.5 must be", lambda b: b.add_arm(1.5)),
    ("'gone' was retired; give the new arm", lambda b: b.add_arm("gone")),
    *strange_arms(lambda b, arm: b.retire_arm(arm)),
    *strange_arms(lambda b, arm: b.pause_arm(arm)),
    ("'blue' is paused already", lambda b: b.pause_arm("blue")),
    (r"'red' is not paused; .* \['blue'\]", lambda b: b.resume_arm("red")),
    ("'gone' has been retired", lambda b: b.resume_arm("gone")),
    ("add up to 1.2", lambda b: b.set_floors(0.4)),
    ("'gone' is not one of the arms", lambda b: b.set_floors({"gone": 0.1})),
    ("floor", lambda b: b.set_floors("much")),
    ("seed=-1 cannot seed", lambda b: b.reseed(-1)),
    ("'x' cannot be called; give a function of a list", lambda b: b.attach("x"), TypeError),
    ("'x' cannot be called; .* returns a bandit", lambda b: b.attach(print, "x"), TypeError),
    ("'x' cannot be called; give a function", lambda b: b.on_event("x"), TypeError),
    *(("confidence=", lambda b, c=c: b.summary(confidence=c)) for c in (0.0, 1.0, 95)),
    *(("confidence=", lambda b, c=c: b.verdict(c)) for c in (0.0, 1.0, math.nan, "high")),
    *(("bounds", lambda b, c=c: b.summary(bounds=c)) for c in ((5, 1), (0, math.inf))),
    ("too far apart", lambda b: b.summary(bounds=(-1.7e308, 1.7e308))),
    (r"bounds=\(2, 5\) do not hold: .* reward of 0", lambda b: b.summary(bounds=(2, 5))),
]


@pytest.fixture
def bandit():
    """Decisions of it are out, one arm has been retired, another one is paused."""
    bandit = lb.Bandit(lb.Thompson(), [*LABELS, "gone"], seed=7)
    bandit.retire_arm("gone")
    bandit.tell_many(bandit.ask(9), [0.0, 0.5, 1.0] * 3)
    bandit.ask(2, key="a")
    bandit.ask(3)
    bandit.pause_arm("blue")
    return bandit


def refuses(bandit, message, call, error=ValueError):
    before, told = bandit.to_bytes(), []
    stop = bandit.on_event(told.append)
    with pytest.raises(error, match=message) as caught:
        call(bandit)
    assert len(str(caught.value)) < 400
    stop()
    assert (bandit.to_bytes(), told) == (before, [])
    assert has_free_lock(bandit)


@pytest.mark.parametrize("row", CALLS, ids=lambda row: row[0])
def test_calls_that_change_nothing(bandit, row):
    refuses(bandit, *row)


EVENTS = [
    (("sing", 1), "is not known"),
    (("ask", 14, 0, None), "some arms are paused"),
    (("tell", 9, 7, 1.0), "another arm"),
    (("tell", 999, 0, 1.0), "never asked for"),
    *((("ask_among", 14, 0, value), "does not fit") for value in (None, {"probability": None})),
    *(
        (("ask_among", 14, 0, {"probability": None, **arms}), "does not fit")
        for arms in ({"among": [7]}, {"among": []}, {"among": 1}, {"without": []})
    ),
    (("ask_among", 14, 0, {"probability": None, "among": [1]}), "the bandit decided"),
    (("ask_among", 14, 1, {"probability": 0.5, "among": [1]}), "the bandit decided"),
    (("ask_among", 5, 1, {"probability": None, "among": [1]}), "the bandit decided"),
    *(((kind, None, 7, None), "does not fit") for kind in ("retire_arm", "pause_arm")),
    (("resume_arm", None, 0, None), "not paused"),
    (("observe", None, 7, 1.0), "does not fit"),
    (("observe", None, 0, None), "not a number"),
    *(
        (("set_floors", None, None, value), r"does not fit|must lie in")
        for value in ({"arms": [[9, 0.1]]}, {"arms": 3}, {}, "much", {"every": "a"}, {"every": 2.0})
    ),
    (("partial", 9, 0, ["x", None]), "does not fit"),
    (("guard", None, 4, [1.0]), "does not fit"),
    (("guard", None, 0, [1e300]), "does not fit"),
    (("remember", None, None, ["asked", ["a", ""], [[99, 0, None]]]), "does not fit"),
    (("configure", None, None, {"rewards": "mean", "remember": [0, 0]}), "does not fit"),
]


@pytest.mark.parametrize(("event", "message"), EVENTS, ids=str)
def test_events_of_another_bandit(bandit, event, message):
    refuses(bandit, message, lambda b: b.apply(event))


def test_a_decision_that_another_arm_was_asked_for(bandit):
    bandit.resume_arm("blue")
    taken = bandit.copy().ask()
    wrong = (LABELS.index(taken.arm) + 1) % 3
    refuses(bandit, "the bandit decided", lambda b: b.apply(("ask", taken.id, wrong, None)))
    bandit.apply(("ask", taken.id, LABELS.index(taken.arm), None))
    out = bandit.pending[0]
    other = next(arm for arm in LABELS if arm != out.arm)
    told = f"was for arm '{out.arm}', not '{other}'"
    refuses(bandit, told, lambda b: b.tell(lb.Decision(other, out.id), 1.0), UNKNOWN)


def test_arms_that_a_policy_needs():
    for policy, message, call in (
        (lb.SWLBSDA(window=3), "window=3 is too small for 4 arms", lambda b: b.add_arm("gold")),
        (FIXED, "BestArm knows the arms in advance", lambda b: b.retire_arm("red")),
        (FIXED, "none can be added, retired or left out", lambda b: b.ask(without=["red"])),
        (FIXED, "none can be added, retired or left out", lambda b: b.ask(2, distinct=True)),
        (FIXED, "none can be added, retired or left out", lambda b: b.pause_arm("red")),
    ):
        refuses(lb.Bandit(policy, LABELS, seed=1), message, call)
    two = lb.Bandit(lb.UCB1(), LABELS[:2], seed=1)
    refuses(two, "at least 2 arms", lambda b: b.retire_arm("red"))
    floored = lb.Bandit(lb.UCB1(), LABELS, seed=1, floor=0.3)
    refuses(floored, "4 arms add up to 1.2", lambda b: b.add_arm("gold"))


def test_several_rewards(bandit):
    bandit.configure(rewards="sum")
    one, other = bandit.pending[:2]
    bandit.tell(one, 0.75, key="a")
    told = f"with reward=0.5 the sum of decision {one.id} would be refused.*1.25.*takes numbers in"
    refuses(bandit, told, lambda b: b.tell(one, 0.5))
    again = "key='a' came with the reward 0.75 before, now with 0.5"
    refuses(bandit, again, lambda b: b.tell(one, 0.5, key="a"), lb.KeyReusedError)
    for message, call in bad_rewards(lambda b, reward: b.tell(other, reward)):
        refuses(bandit, message, call)
    for message, call in bad_rewards(lambda b, x: b.tell_many([one, other], [0.1, x])):
        refuses(bandit, message, call)
    closed = "1 decisions have had rewards already, of which the sum counts; close them first"
    refuses(bandit, closed, lambda b: b.configure(rewards="max"))
    assert bandit.close(one) == 0.75


def test_all_arms_paused(bandit):
    for label in ("red", "green"):
        bandit.pause_arm(label)
    for call in (lambda b: b.ask(), lambda b: b.ask(2), lambda b: b.ask(among=LABELS)):
        refuses(bandit, "all arms are paused; resume one", call)
    bandit.resume_arm("green")
    assert bandit.ask().arm == "green"


def test_numbers_of_numpy_are_numbers(bandit):
    one, other = bandit.pending[:2]
    bandit.tell(np.int64(one.id), np.float32(0.5))
    bandit.forget(np.uint32(other.id))
    bandit.observe("red", np.float64(1.0))
    assert list(lb.Bandit(lb.Thompson(), np.array([3, 4])).arms) == [3, 4]
    assert list(lb.Bandit(lb.Thompson(), np.int64(2)).arms) == [0, 1]
