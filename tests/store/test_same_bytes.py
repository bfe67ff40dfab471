"""The same events give the same bytes: a bandit, its journal, an SQLite file, PostgreSQL.

One machine draws calls of every kind, snapshots, stores that are closed and opened again with other
options, and writes that fail or are interrupted. After each step all four bandits are equal, and so
is what they answer. Each decision is told once at most, and a reward that waits until the decision
expires is told then.
"""

import itertools
import json
import threading
from functools import partial

import hypothesis.strategies as st
import pytest
from hypothesis import HealthCheck, Phase, settings
from hypothesis.stateful import (
    RuleBasedStateMachine,
    initialize,
    invariant,
    precondition,
    rule,
    run_state_machine_as_test,
)

import lastblock as lb
from lastblock.store.group_commit import Groups, SharedCommits
from lastblock.store.opening import open_storage
from lastblock.store.sqlite import SQLiteStorage
from lastblock.store.transfer import copy_bandit
from trials import short_and_long

NAME = "👩\u200d🚀 نمی\u200cخواهم क्\u200dष"  # with joiners and non-joiners
POLICIES = [lb.LBSDALM(minimum=4, scale=0.5), lb.UCB1(), lb.SWLBSDA(window=20)]
FLOORS = [None, 0.1, {"a": 0.3}]
LABELS = ["a", "b", "c", "d", "a\tb\\n 👩\u200d🚀"]
REWARDS = st.sampled_from([0.0, -0.0, 1.0, 0.25, 1e-320, 0.3])
KEYS = st.sampled_from(["x", "y", "z"])
OPTIONS = st.fixed_dictionaries(
    {
        "durability": st.sampled_from(["always", "interval", "never"]),
        "snapshot_every": st.sampled_from([1, 7, 1000]),
        "keep_events": st.booleans(),
    }
)


def facts(bandit):
    """The state of a bandit without what only a store remembers."""
    data = json.loads(bandit.to_json())
    data["bandit"]["ledger"].pop("memory", None)
    return data["bandit"], data["record"]


def out(bandit):
    return [(each.arm, each.id, each.probability, each.age) for each in bandit.pending]


class Fault:
    """How the next write goes wrong, of a caller's thread."""

    mode = None

    def patch(self, monkeypatch):
        """Let it go wrong in all three places where callers write; no write waits for the disk."""
        for owner, name in ((SQLiteStorage, "write"), (SharedCommits, "put"), (Groups, "put")):
            monkeypatch.setattr(owner, name, self.wrapped(getattr(owner, name)))
        off = "PRAGMA synchronous = OFF"
        monkeypatch.setattr(SQLiteStorage, "_synchronise", lambda s, _: s._connection.execute(off))

    def wrapped(self, write):
        def written(queue, rows, snapshots):
            if self.mode is None or threading.current_thread() is not threading.main_thread():
                write(queue, rows, snapshots)
                return
            mode, self.mode = self.mode, None
            if mode == "refused":
                raise lb.StoreError("no")
            if mode == "after":
                write(queue, rows, snapshots)
            raise KeyboardInterrupt

        return written


def machine(places, targets, fault):
    """The machine on stores at `places`, whose bandits are copied to `targets` in the end."""
    numbers = itertools.count()

    class SameBytes(RuleBasedStateMachine):
        def __init__(self):
            super().__init__()
            self.name, self.stores, self.keys = f"{NAME} {next(numbers)}", [], {}
            self.due, self.ended, self.calls = {}, set(), 0

        @initialize(
            policy=st.sampled_from(POLICIES),
            floor=st.sampled_from(FLOORS),
            rewards=st.sampled_from([None, "first", "sum", "max", "last"]),
            options=OPTIONS,
        )
        def begin(self, policy, floor, rewards, options):
            made = {"policy": policy, "arms": ["a", "b", "c"], "seed": 7, "floor": floor}
            made["rewards"] = rewards
            self.twin, self.follower = lb.Bandit(**made), lb.Bandit(**made)
            self.twin.attach(self.follow)
            self.stores = [lb.Store(place, **options) for place in places]
            self.bandits = [store.create(self.name, **made) for store in self.stores]

        def follow(self, events):
            """Let the follower change alike; no decision ends twice or loses its reward."""
            for event in events:
                self.follower.apply(event)
                kind, id, _, value = event
                if kind == "close":
                    assert id not in self.due
                    self.due[id] = value
                elif kind in ("tell", "forget"):
                    assert id not in self.ended
                    assert value == self.due.pop(id, [None, value])[1]
                    self.ended.add(id)

        def each(self, call):
            """Do the same to all; they return the same, and are refused alike."""
            self.calls += 1
            results = [answer(call, bandit) for bandit in (self.twin, *self.bandits)]
            assert results[1:] == results[:1] * len(self.bandits)
            return results[0]

        @property
        def there(self):
            return [label for label, state in self.twin.arms.items() if state != "retired"]

        # Calls.

        @rule(n=st.sampled_from([None, 1, 2, 5]))
        def ask(self, n):
            self.each(lambda bandit: bandit.ask(n))

        @rule(data=st.data(), n=st.sampled_from([None, 2]), distinct=st.booleans())
        def ask_among(self, data, n, distinct):
            some = data.draw(st.lists(st.sampled_from(LABELS), min_size=1, unique=True))
            distinct = distinct and n is not None
            self.each(lambda bandit: bandit.ask(n, among=some, distinct=distinct))

        @rule(key=KEYS, n=st.sampled_from([None, 2]))
        def ask_with_a_key(self, key, n):
            asked = [answer(lambda bandit: bandit.ask(n, key=key), each) for each in self.bandits]
            again = answer(lambda bandit: bandit.ask(n, key=key), self.twin)
            assert asked == [again] * len(asked)
            if (key, n) in self.keys:
                assert self.keys[key, n] == again
            self.keys[key, n] = again

        @precondition(lambda self: self.twin.pending)
        @rule(
            data=st.data(),
            reward=REWARDS,
            by=st.sampled_from(["decision", "id", "token"]),
            defer=st.booleans(),
        )
        def tell(self, data, reward, by, defer):
            place = data.draw(st.integers(0, len(self.twin.pending) - 1))

            def call(bandit):
                pending = bandit.pending[place]
                if by == "token" and bandit is not self.twin:
                    return bandit.tell(bandit.token(pending), reward, defer=defer)
                named = pending if by == "decision" else pending.id
                return bandit.tell(named, reward, defer=defer)

            self.each(call)

        @precondition(lambda self: self.twin.pending)
        @rule(count=st.integers(1, 4), reward=REWARDS, defer=st.booleans())
        def tell_many(self, count, reward, defer):
            self.each(
                lambda bandit: bandit.tell_many(
                    bandit.pending[:count], [reward] * len(bandit.pending[:count]), defer=defer
                )
            )

        @precondition(lambda self: self.twin.pending)
        @rule(data=st.data(), reward=st.sampled_from([None, 0.5]), defer=st.booleans())
        def end(self, data, reward, defer):
            id = data.draw(st.sampled_from([each.id for each in self.twin.pending]))
            if reward is None:
                self.each(lambda bandit: bandit.forget(id))
            else:
                self.each(lambda bandit: bandit.close(id, reward=reward, defer=defer))

        @precondition(lambda self: self.due)
        @rule(data=st.data(), more=st.sampled_from([0.0, 1.0]))
        def tell_again(self, data, more):
            """A reward that waits is acknowledged again by its token, and no other is taken."""
            id = data.draw(st.sampled_from(sorted(self.due)))
            outcome, reward = self.due[id]
            for call in (
                lambda bandit: bandit.tell(id, reward),
                lambda bandit: bandit.forget(id),
                lambda bandit: bandit.close(id),
            ):
                assert issubclass(self.each(call)[0], lb.SettledDecisionError)
            for bandit in self.bandits:
                token = bandit.token(id)
                told = answer(lambda each, token=token: each.tell(token, reward + more), bandit)
                assert (told is None) == (outcome == "told" and not more)
                closed = answer(lambda each, token=token: each.close(token), bandit)
                assert (closed == reward) == (outcome == "closed")

        @rule(older_than=st.sampled_from([0, 3]), reward=st.sampled_from([None, 0.5]))
        def expire(self, older_than, reward):
            self.each(lambda bandit: len(bandit.expire(older_than=older_than, reward=reward)))

        @rule(label=st.sampled_from(LABELS), reward=REWARDS)
        def observe(self, label, reward):
            self.each(lambda bandit: bandit.observe(label, reward))
            self.each(lambda bandit: bandit.observe_many([label, "a"], [reward, 1.0]))

        @rule(label=st.sampled_from(LABELS))
        def add_arm(self, label):
            self.each(lambda bandit: bandit.add_arm(label))

        @rule(
            label=st.sampled_from(LABELS),
            how=st.sampled_from(["retire_arm", "pause_arm", "resume_arm"]),
        )
        def change_arm(self, label, how):
            if how != "retire_arm" or len(self.there) > 2:
                self.each(lambda bandit: getattr(bandit, how)(label))

        @rule(floor=st.sampled_from([*FLOORS, 0.9, {"b": 0.2, "d": 0.2}]))
        def set_floors(self, floor):
            self.each(lambda bandit: bandit.set_floors(floor))

        @rule(seed=st.integers(0, 9))
        def reseed(self, seed):
            self.each(lambda bandit: bandit.reseed(seed))

        # What happens to the bandit, and to stores.

        @rule(how=st.sampled_from(["bytes", "json"]))
        def save_and_load(self, how):
            data = getattr(self.twin, f"to_{how}")()
            self.twin = getattr(lb.Bandit, f"from_{how}")(data)
            self.twin.attach(self.follow)

        @precondition(lambda self: self.calls > 2)  # they take a hundred times as long as a call
        @rule()
        def snapshot(self):
            self.calls = 0
            for store in self.stores:
                store.snapshot(self.name)

        @precondition(lambda self: self.calls > 2)
        @rule()
        def release(self):
            self.calls = 0
            for store in self.stores:
                store.release(self.name)
            self.bandits = [store.bandits([self.name])[self.name] for store in self.stores]

        @precondition(lambda self: self.calls > 2)
        @rule(options=OPTIONS)
        def open_again(self, options):
            self.calls = 0
            times = [[each.time for each in bandit.pending] for bandit in self.bandits]
            for store in self.stores:
                store.verify(self.name)
                store.close()
            self.stores = [lb.Store(place, **options) for place in places]
            self.bandits = [store.bandit(self.name) for store in self.stores]
            assert [[each.time for each in bandit.pending] for bandit in self.bandits] == times

        @precondition(lambda self: self.calls > 0)
        @rule(mode=st.sampled_from(["refused", "before", "after"]), reward=REWARDS)
        def a_write_that_fails(self, mode, reward):
            """Nothing has happened; or, if the interrupt came late, all of it."""
            self.calls = 0
            calls = [lambda bandit: bandit.ask(2)]
            if self.twin.pending:
                for defer in (False, True):
                    calls.append(partial(tell_first, reward=reward, defer=defer))
                calls.append(lambda bandit: bandit.expire(older_than=0, reward=reward))
            for call in calls:
                for bandit in self.bandits:
                    fault.mode = mode
                    try:
                        answer(call, bandit)
                    except (lb.StoreError, KeyboardInterrupt):
                        assert fault.mode is None
                    else:  # there was nothing to write
                        assert fault.mode == mode
                    wrote, fault.mode = fault.mode is None, None
                if mode == "after" or not wrote:
                    answer(call, self.twin)

        @invariant()
        def all_are_equal(self):
            if self.stores:
                expected = facts(self.twin)
                assert facts(self.follower) == expected
                for bandit in self.bandits:
                    assert out(bandit) == out(self.twin)
                    assert facts(bandit) == expected

        def teardown(self):
            fault.mode = None
            logs = []
            for store in self.stores:
                store.verify(self.name)
                events = [each._replace(time=0) for each in store.events(self.name, limit=10**6)]
                tallies = store.tally(self.name, length=lambda _: 10**17).tallies
                counts = sorted([round(value, 9) for value in each[1:]] for each in tallies)
                logs.append((store.last_event(self.name), counts, events))
                store.close()
            assert logs[1:] == logs[:1] * (len(logs) - 1)
            if self.stores:
                self.check_copies()

        def check_copies(self):
            """Copies to the other kind of database are in the same state."""
            expected = facts(self.twin)
            for pair in zip(places, reversed(targets), strict=True):
                opened = [open_storage(each, keep_events=True, sync=False) for each in pair]
                copy_bandit(*opened, self.name, lambda _: None)  # which compares all that they have
                for each in opened:
                    each.close()
                with lb.Store(pair[1], keep_events=True) as store:
                    assert facts(store.bandit(self.name)) == expected
                    store.verify(self.name)

    return SameBytes


def answer(call, bandit):
    """What a call returns, or the error; nothing of which differs between a store and none."""
    try:
        found = call(bandit)
    except lb.StoreError:
        raise
    except ValueError as error:
        return type(error), str(error)
    if isinstance(found, lb.Decision):
        return tuple(found)
    return [tuple(each) for each in found] if isinstance(found, list) else found


def tell_first(bandit, reward, defer):
    return bandit.tell(bandit.pending[0], reward, defer=defer)


@pytest.mark.usefixtures("plain")
@short_and_long("examples", 8, 200)
def test_the_same_events_give_the_same_bytes(tmp_path, server, examples, monkeypatch):
    fault = Fault()
    fault.patch(monkeypatch)
    places, targets = (
        [tmp_path / f"{name}.db", server.url(schema=f"{name}{examples}")]
        for name in ("same", "copies")
    )
    run_state_machine_as_test(
        machine(places, targets, fault),
        settings=settings(
            max_examples=examples,
            stateful_step_count=60,
            phases=[Phase.generate],  # to shrink an example takes minutes
            deadline=None,
            suppress_health_check=list(HealthCheck),
        ),
    )
