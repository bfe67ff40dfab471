"""Fleets: each bandit is a replication, batches are one after the other, errors change nothing."""

import re
from concurrent.futures import ThreadPoolExecutor
from itertools import chain

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import lastblock as lb
from lastblock.core.layout import state_dtype
from lastblock.engine.fleet import DIGIT_BITS, sort_own
from lastblock.fleet import batches
from lastblock.kernels.streams import key_of
from lastblock.simulation.simulate import Player
from lastblock.testing import worlds

POLICY = lb.LBSDALM(minimum=4, scale=0.5)
GROWING = lb.LBSDA()
ARMS = worlds.ARMS
SEED = worlds.SEED


def new_fleet(policy=POLICY, size=300, **options):
    return lb.Fleet(policy, arms=ARMS, size=size, seed=SEED, **options)


def records(fleet):
    return fleet._states.tobytes()


def replications(policy, n, horizon):
    """The arms and rewards of the first replications of `simulate`, one row each."""
    player = Player(policy, worlds.environment(), horizon, key_of(SEED), np.array([horizon]))
    outcome = player.room(n, traced=horizon)
    player.play(0, outcome)
    return outcome.arms, outcome.rewards


def follow(fleet, arms, rewards):
    """Each bandit of the fleet takes the arms of its replication when it gets its rewards."""
    ids = np.arange(len(fleet))
    for t in range(arms.shape[1]):
        taken = fleet.ask(ids)
        assert taken.tolist() == arms[:, t].tolist(), f"step {t}"
        fleet.tell(ids, taken, rewards[:, t])
    expected = [np.bincount(row, minlength=ARMS).tolist() for row in arms]
    assert fleet.pulls().tolist() == expected


def live(fleet, act, batches=40, n=120):
    """Batches with repeated ids, late rewards and lost ones; `act` does them somehow."""
    rng = np.random.default_rng(1)
    ids, arms = np.empty(0, np.int64), np.empty(0, np.int64)
    for _ in range(batches):
        asked = rng.integers(0, len(fleet), n) ** 2 // len(fleet)  # some come often
        ids = np.concatenate([ids, asked])
        arms = np.concatenate([arms, act(fleet.ask, asked)])
        order = rng.permutation(ids.size)
        told, lost, kept = np.split(order, [ids.size // 2, ids.size // 2 + 10])
        rewards = (rng.random(told.size) < 0.2 + 0.3 * arms[told]).astype(float)
        act(fleet.tell, ids[told], arms[told], rewards)
        act(fleet.forget, ids[lost], arms[lost])
        ids, arms = ids[kept], arms[kept]


def at_once(operation, *arrays):
    return operation(*arrays)


def one_by_one(operation, *arrays):
    done = [operation(*([value] for value in values)) for values in zip(*arrays, strict=True)]
    return np.concatenate(done) if done[0] is not None else None


def test_told_at_once_bandit_i_is_replication_i():
    follow(new_fleet(size=50), *replications(POLICY, 50, 200))


def test_the_first_bandit_is_a_live_bandit_with_the_same_seed():
    fleet, bandit = new_fleet(), lb.Bandit(POLICY, ARMS, seed=SEED)
    for t in range(300):
        decision = bandit.ask()
        assert fleet.ask([0]).tolist() == [decision.arm]
        bandit.tell(decision, float(t % 7))
        fleet.tell([0], [decision.arm], [t % 7])


@pytest.mark.parametrize("threads", [1, 2, 5])
def test_a_batch_is_one_after_the_other_for_any_number_of_threads(threads, monkeypatch):
    singly = new_fleet(threads=1)
    live(singly, one_by_one)
    monkeypatch.setattr(batches, "SMALL_BATCH", 0)
    fleet = new_fleet(threads=threads)
    live(fleet, at_once)
    assert records(fleet) == records(singly)
    assert fleet.pulls().tolist() == singly.pulls().tolist()


@given(
    ids=st.lists(st.integers(0, 70_000_000), max_size=60)
    | st.lists(st.integers(0, 300), max_size=60),
    owners=st.integers(1, 4),
)
def test_batches_are_sorted_and_shared_out(ids, owners):
    bits = max(1, max(ids, default=0).bit_length())
    counts = np.empty(1 << DIGIT_BITS, np.int64)
    parts = []
    for owner in range(owners):
        words, spare = np.empty((2, len(ids) + 1), np.uint64)
        n = sort_own(np.array(ids, np.int64), owner, owners, bits, words, spare, counts)
        part = [(int(word) >> 32, int(word) & 0xFFFFFFFF) for word in words[:n]]
        assert part == sorted(part)
        parts.append(part)
    assert sorted(chain(*parts)) == sorted((id, p) for p, id in enumerate(ids))
    owned = [{id for id, _ in part} for part in parts]
    assert sum(map(len, owned)) == len(set().union(*owned))


def test_what_nobody_has_asked_stays_zero():
    fleet = new_fleet(size=1000)
    assert fleet.pulls().sum() == 0
    fleet.ask([17, 400])
    touched = [i for i in range(1000) if fleet._states[i].tobytes().strip(b"\0")]
    assert touched == [17, 400]


def test_what_a_fleet_says_of_itself():
    fleet = new_fleet(size=1000, threads=3)
    assert (fleet.policy, fleet.arms, len(fleet), fleet.threads) == (POLICY, ARMS, 1000, 3)
    assert fleet.state_size == state_dtype(POLICY, ARMS).itemsize + 16 * ARMS  # told, unanswered
    assert fleet.nbytes == 1000 * fleet.state_size
    assert repr(fleet) == f"<Fleet of 1000 × {POLICY}, 3 arms, {fleet.nbytes} bytes>"


def test_empty_batches_and_arrays_of_all_kinds():
    fleet = new_fleet()
    assert fleet.ask([]).tolist() == []
    fleet.tell([], [], [])
    fleet.forget([], [])
    assert fleet.pulls([]).shape == (0, ARMS)
    ids = np.array([7, 250], np.uint8)
    arms = fleet.ask(ids)
    assert arms.dtype == np.int64
    strided = np.repeat(arms.astype(np.int16), 2)[::2]
    frozen = np.array([True, False])
    frozen.flags.writeable = False
    fleet.tell(ids, strided, frozen)
    assert fleet.pulls(ids).sum(axis=1).tolist() == [1, 1]
    arms = fleet.ask((7, 250))
    fleet.tell(np.array([7, 250], ">i4"), arms, np.array([0.5, 1], np.longdouble))
    assert fleet.pulls(ids).sum() == 4


@pytest.fixture
def fleet():
    """With decisions out: two of bandit 5, for different arms, and one of bandit 6."""
    fleet = new_fleet(threads=2)
    fleet.ask([5, 5, 6])
    return fleet


BAD_IDS = [
    ([5, 300], "ids[1]=300 is not one of this fleet's bandits, 0 to 299"),
    ([5, -1], "ids[1]=-1 is not"),
    (np.array([5, 2**64 - 1], np.uint64), "ids[1]=18446744073709551615 is not"),
    ([5.0, 6.0], "ids must be whole numbers, not float64"),
    ([True, False], "ids must be whole numbers, not bool"),
    (["a", "b"], "ids must be whole numbers, not <U1"),
    ([5, None], "ids must be whole numbers, not object"),
    (5, "ids must be a list or a one-dimensional array"),
    ([[5, 6]], "ids must be a list or a one-dimensional array"),
    ([[5], [6, 7]], "ids must be a list or a one-dimensional array"),
]


@pytest.mark.parametrize(("ids", "message"), BAD_IDS)
def test_bad_ids_change_nothing(fleet, ids, message):
    before = records(fleet)
    for act in (
        lambda: fleet.ask(ids),
        lambda: fleet.tell(ids, [0, 1], [1.0, 1.0]),
        lambda: fleet.forget(ids, [0, 1]),
        lambda: fleet.pulls(ids),
    ):
        with pytest.raises(ValueError, match=re.escape(message)):
            act()
    assert records(fleet) == before


BAD_ANSWERS = [
    ([0, 3], [1, 1], "arms[1]=3 is not one of the arms 0 to 2"),
    ([0, -1], [1, 1], "arms[1]=-1 is not"),
    ([0.0, 1.0], [1, 1], "arms must be whole numbers, not float64"),
    ([0], [1, 1], "1 arms for 2 ids; give one for each"),
    ([0, 1], [1], "1 rewards for 2 ids; give one for each"),
    ([0, 1], [1, np.nan], "rewards[1]=nan must be finite"),
    ([0, 1], [np.inf, 1], "rewards[0]=inf must be finite"),
    ([0, 1], [1, -1e291], "rewards[1]=-1e+291 must be finite and below 1e+290 in size"),
    ([0, 1], [1, 10**400], "rewards must be numbers, not object"),
    ([0, 1], ["a", "b"], "rewards must be numbers, not <U1"),
    ([0, 1], [1j, 1], "rewards must be numbers, not complex128"),
    ([0, 1], 1.0, "rewards must be a list or a one-dimensional array of numbers"),
]


@pytest.mark.parametrize(("arms", "rewards", "message"), BAD_ANSWERS)
def test_bad_answers_change_nothing(fleet, arms, rewards, message):
    before = records(fleet)
    with pytest.raises(ValueError, match=re.escape(message)):
        fleet.tell([5, 6], arms, rewards)
    if "arms" in message:
        with pytest.raises(ValueError, match=re.escape(message)):
            fleet.forget([5, 6], arms)
    assert records(fleet) == before


def test_answers_to_what_was_never_asked_change_nothing(monkeypatch):
    monkeypatch.setattr(batches, "SMALL_BATCH", 0)
    fleet = new_fleet(threads=2)
    ids = np.array([5, 6, 5, 100])  # more than one thread's
    arms = fleet.ask(ids)
    before = records(fleet)

    def refused(position, ids, arms):
        message = (
            f"position {position}: bandit {ids[position]} has no such decision out "
            f"for arm {arms[position]}; tell or forget what ask() returned, once"
        )
        with pytest.raises(lb.UnknownDecisionError, match=re.escape(message)):
            fleet.tell(ids, arms, np.ones(len(ids)))
        with pytest.raises(lb.UnknownDecisionError, match=re.escape(message)):
            fleet.forget(ids, arms)
        assert records(fleet) == before

    refused(4, [*ids, 6], [*arms, arms[1]])  # twice in the batch, once out
    refused(4, [*ids, 5], [*arms, 3 - arms[0] - arms[2]])  # the arm that is not out
    refused(1, [5, 7, 100, 100], [arms[0], 0, arms[3], arms[3]])  # the first of two mistakes
    refused(0, [200], [0])  # a bandit that nobody has asked
    fleet.tell(ids, arms, np.ones(4))
    before = records(fleet)
    refused(0, ids, arms)


def test_a_policy_that_keeps_every_reward_needs_a_horizon():
    with pytest.raises(ValueError, match=r"LBSDA keeps every reward, .* give horizon="):
        new_fleet(GROWING)
    with pytest.raises(ValueError, match="horizon=0 must be at least 1"):
        new_fleet(GROWING, horizon=0)


@pytest.mark.usefixtures("plain")
def test_up_to_its_horizon_a_smaller_record_decides_the_same():
    small, middle, large = (
        new_fleet(lb.LBSDAGM(), size=4, horizon=horizon) for horizon in (400, 10**4, None)
    )
    assert play(small, 3, 400) == play(middle, 3, 400) == play(large, 3, 400)
    assert small.state_size < middle.state_size < large.state_size


@pytest.mark.usefixtures("plain")
def test_sizes():
    """A million bandits of eight arms, for 10⁵ rewards of an arm."""
    for policy, most in [
        (lb.LBSDAGM(marks=6), 4.0),
        (lb.LBSDAGM(), 5.0),
        (lb.UCB1(), 0.6),
        (lb.Thompson(), 0.6),
    ]:
        fleet = lb.Fleet(policy, arms=8, size=1_000_000, horizon=100_000)
        assert fleet.nbytes <= most * 2**30


@pytest.mark.parametrize(
    ("policy", "room", "remedy"),
    [
        (GROWING, 63, "a longer horizon than 40, or of a policy of bounded memory"),
        (lb.LBSDAGM(), 44, "a longer horizon than 40, or with none"),
    ],
    ids=["LBSDA", "LBSDAGM"],
)
def test_a_full_record_is_an_error_that_changes_nothing(policy, room, remedy):
    fleet = new_fleet(policy, size=5, horizon=40)
    while fleet.pulls([1]).max() < room - 2:
        arms = fleet.ask([1])
        fleet.tell([1], arms, arms + 1.0)
    ids = np.full(60, 1)
    arms = fleet.ask(ids)
    best = int(fleet.pulls([1]).argmax())
    positions = np.flatnonzero(arms == best)
    assert positions.size > 2
    before = records(fleet)
    message = f"position {positions[2]}: the record of bandit 1 has no room .* arm {best}; make a"
    with pytest.raises(ValueError, match=f"{message} fleet with {remedy}"):
        fleet.tell(ids, arms, np.ones(60))
    assert records(fleet) == before
    fleet.tell([1, 1], [best, best], [1.0, 1.0])
    with pytest.raises(ValueError, match="position 0: the record of bandit 1 has no room"):
        fleet.tell([1], [best], [1.0])
    assert fleet.pulls([1]).max() == room


def test_impossible_fleets():
    for options, message in [
        ({"size": 0}, "size=0 must lie between 1 and"),
        ({"size": 2**32}, "size=4294967296 must lie between"),
        ({"size": 1.5}, "size=1.5 must be a whole number"),
        ({"threads": 0}, "threads=0 must be at least 1"),
        ({"policy": lb.LBSDALM}, "policy=LBSDALM is a class"),
        ({"policy": lb.SWLBSDA(window=2)}, "window=2 is too small for 3 arms"),
    ]:
        with pytest.raises(ValueError, match=re.escape(message)):
            new_fleet(**options)
    with pytest.raises(ValueError, match="at least 2 arms, not 1"):
        lb.Fleet(POLICY, arms=1, size=5)
    with pytest.raises(ValueError, match="seed=-1 cannot seed"):
        lb.Fleet(POLICY, arms=2, size=5, seed=-1)


def test_a_fleet_that_does_not_fit_says_so(monkeypatch):
    zeros = np.zeros

    def limited(shape, *arguments, **options):  # as where the system promises no more than it has
        if isinstance(shape, int) and shape == 2**32 - 1:
            raise MemoryError
        return zeros(shape, *arguments, **options)

    monkeypatch.setattr(np, "zeros", limited)
    message = r"size=4294967295 bandits take \d+ bytes, more memory than there is; choose a smaller"
    with pytest.raises(MemoryError, match=message):
        new_fleet(size=2**32 - 1)


def play(fleet, i, steps, start=0):
    """Rewards of bandit i, told at once; returns the arms."""
    arms = []
    for t in range(start, start + steps):
        (arm,) = fleet.ask([i])
        fleet.tell([i], [arm], [(arm * 7 + t * t) % 5])
        arms.append(arm)
    return arms


@pytest.mark.parametrize(
    ("policy", "horizon", "steps"),
    [
        (POLICY, None, 300),
        (lb.SWLBSDA(window=60), None, 300),
        (GROWING, 10_000, 100),
        (lb.LBSDAGM(), 44, 50),
        (lb.Restarting(lb.UCB1(), lb.MeanShift()), None, 100),
    ],
    ids=repr,
)
@pytest.mark.usefixtures("plain")
def test_a_bandit_is_a_copy_that_goes_on_alike(policy, horizon, steps):
    """Also beyond the horizon of the fleet, which the copy does not have."""
    fleet = new_fleet(policy, size=5, horizon=horizon)
    other = new_fleet(policy, size=5, horizon=10_000)
    assert play(fleet, 3, steps) == play(other, 3, steps)
    out = fleet.ask([3, 3]).tolist()
    assert other.ask([3, 3]).tolist() == out
    before = records(fleet)
    bandit = fleet.bandit(np.int64(3))
    assert type(bandit) is lb.Bandit
    assert list(bandit.pulls.values()) == fleet.pulls([3])[0].tolist()
    assert [(late.id, late.arm) for late in bandit.pending] == list(enumerate(sorted(out), steps))
    for copied in (lb.Bandit.from_bytes(bandit.to_bytes()), bandit):
        for late in copied.pending:
            copied.tell(late, 1.0)
        arms = []
        for t in range(300):
            decision = copied.ask()
            copied.tell(decision, (decision.arm * 7 + t * t) % 5)
            arms.append(decision.arm)
        assert decision.id == steps + 301
    assert records(fleet) == before
    other.tell([3, 3], sorted(out), [1.0, 1.0])
    assert play(other, 3, 300) == arms
    bandit.add_arm("new")
    assert "new" in {bandit.ask().arm for _ in range(5)}


def test_a_bandit_that_nobody_has_asked_begins_like_the_one_in_the_fleet():
    fleet = new_fleet()
    bandit = fleet.bandit(7)
    assert [bandit.ask().arm for _ in range(3)] == fleet.ask([7, 7, 7]).tolist()
    for id, message in [(300, "id=300 is not one of"), (-1, "id=-1 is not"), (1.5, "whole number")]:
        with pytest.raises(ValueError, match=message):
            fleet.bandit(id)


def test_a_bandit_does_not_know_what_the_fleet_did_not_note():
    fleet = new_fleet()
    play(fleet, 2, 40)
    bandit = fleet.bandit(2)
    assert "a fleet planned it. Call ask()" in str(bandit.explain())
    summary = bandit.summary()
    assert (summary.leader, summary.since) == (fleet._states["leader"][2], 40)
    assert "A fleet took some of these rewards." in str(summary)
    assert [row.pulls for row in summary.arms] == fleet.pulls([2])[0].tolist()
    for row in summary.arms:
        assert row.held_mean is not None
        assert (row.mean, row.low, row.high) == (None, -np.inf, np.inf)
    assert (summary.best, summary.sure, summary.contenders) == (None, None, ())
    while not bandit.explain().duels:  # until the round has been handed out
        bandit.ask()
    assert bandit.explain().leader == summary.leader


def test_threads_of_the_user_lose_nothing():
    fleet = new_fleet(size=10)

    def work(seed):
        rng = np.random.default_rng(seed)
        for _ in range(100):
            ids = rng.integers(0, 10, 20)
            fleet.tell(ids, fleet.ask(ids), rng.random(20))

    with ThreadPoolExecutor(8) as pool:
        for done in [pool.submit(work, seed) for seed in range(8)]:
            done.result()
    assert fleet.pulls().sum() == 8 * 100 * 20
    assert fleet._states["out"].sum() == 0


def test_an_interruption_leaves_no_half_batch(monkeypatch):
    monkeypatch.setattr(batches, "SMALL_BATCH", 0)
    fleet, undisturbed = new_fleet(threads=3), new_fleet(threads=3)
    ids = np.arange(300)
    for one in (fleet, undisturbed):
        one.ask([0, 100, 200])  # makes the threads
    submit, calls = fleet._batches._pool.submit, []

    def interrupted(*arguments):
        calls.append(arguments)
        if len(calls) == 5:  # three for sorting; then one of three parts is on its way
            raise KeyboardInterrupt
        return submit(*arguments)

    with monkeypatch.context() as patch:
        patch.setattr(fleet._batches._pool, "submit", interrupted)
        with pytest.raises(KeyboardInterrupt):
            fleet.ask(ids)
    undisturbed.ask(ids)
    assert records(fleet) == records(undisturbed)
