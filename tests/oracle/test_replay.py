"""Replay takes the decisions of a live bandit that is told the matched events, one by one."""

import random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import lastblock as lb
import oracle.replay as twin
from oracle.worlds import KINDS, World

LABELS = ["a", "b", "c"]
POLICIES = [lb.LBSDALM(), lb.Thompson(), lb.LBSDA()]


def make_log(kind, events, seed):
    """Uniform logging."""
    world, rng = World(kind, 3, seed), random.Random(seed + 1)
    return [(LABELS[arm], world.reward(arm)) for arm in rng.choices(range(3), k=events)]


def replay_of(log):
    return lb.Replay(tuple(zip(*log, strict=True)), arms=LABELS)


@settings(max_examples=40)
@given(
    st.sampled_from(POLICIES),
    st.sampled_from(KINDS),
    st.integers(150, 186),  # one layout for LBSDA, which keeps all rewards
    st.integers(0, 2**32),
    st.integers(1, 30) | st.none(),
)
def test_passes(policy, kind, events, seed, horizon):
    log = make_log(kind, events, seed)
    if policy == lb.Thompson():  # it wants rewards between 0 and 1
        log = [(arm, float(reward > 0.5)) for arm, reward in log]
    replay = replay_of(log)
    expected = twin.replay(policy, LABELS, log, seed, horizon)
    assert replay.matches(policy, seed=seed, horizon=horizon).tolist() == expected

    done = replay.evaluate(policy, seed=seed, horizon=horizon, bootstrap=2, times=[50, 100])
    rewards = [log[row][1] for row in expected]
    assert done.times.tolist() == [50, 100, events]
    assert done.matched[0].tolist() == [sum(row < t for row in expected) for t in done.times]
    assert done.pulls[0].tolist() == [sum(log[row][0] == arm for row in expected) for arm in LABELS]
    assert done.estimate == pytest.approx(float(twin.mean(rewards)), rel=1e-12)
    if len(rewards) > 1:
        assert done.standard_error == pytest.approx(done.resampled.std(ddof=1))
        assert done.errors[0] == pytest.approx(twin.standard_error(rewards), rel=1e-9)

    again = twin.resample(log, seed)
    matched = twin.replay(policy, LABELS, again, seed, horizon)
    expected_mean = twin.mean([again[row][1] for row in matched])
    assert done.resampled[0] == pytest.approx(float(expected_mean), rel=1e-12)


def assert_close(estimate, value, error):
    assert estimate.value == pytest.approx(value, abs=1e-9)
    assert estimate.standard_error == pytest.approx(error, rel=1e-9, abs=1e-9)


def assert_estimated(found, events, target, logged):
    assert_close(found.ips, *twin.ips(events, target))
    *close, effective = twin.snips(events, target)
    assert_close(found.snips, *close)
    assert found.effective == pytest.approx(effective)
    assert (found.events, found.left_out) == (len(events), logged - len(events))


@settings(max_examples=60)
@given(
    st.lists(
        st.tuples(st.sampled_from(LABELS), st.floats(-5, 5), st.floats(0.01, 1.0)),
        min_size=2,
        max_size=30,
    ),
    st.lists(st.integers(0, 5), min_size=3, max_size=3).filter(any),
)
def test_weighted_estimates(log, shares):
    target = {arm: share / sum(shares) for arm, share in zip(LABELS, shares, strict=True)}
    logged = {arm for arm, _, _ in log}
    replay = lb.Replay(tuple(zip(*log, strict=True)), arms=LABELS)
    if any(share > 0 and arm not in logged for arm, share in target.items()):
        with pytest.raises(ValueError, match="which is never logged"):
            replay.estimate(target)
        return
    assert_estimated(replay.estimate(target), log, target, len(log))


@st.composite
def events_with_choices(draw):
    choices = draw(st.lists(st.sampled_from(LABELS), min_size=1, max_size=3, unique=True))
    return (
        draw(st.sampled_from(choices)),
        draw(st.floats(-5, 5)),
        draw(st.floats(0.01, 1.0)),
        choices,
    )


@settings(max_examples=100)
@given(
    st.lists(events_with_choices(), min_size=2, max_size=30),
    st.lists(st.integers(0, 5), min_size=3, max_size=3).filter(any),
)
def test_weighted_estimates_where_arms_come_and_go(log, shares):
    target = {arm: share / sum(shares) for arm, share in zip(LABELS, shares, strict=True)}
    taken = {arm for arm, share in target.items() if share > 0}
    names = "arm", "reward", "p", "choices"
    columns = dict(zip(names, map(list, zip(*log, strict=True)), strict=True))
    replay = lb.Replay(columns, propensity="p", arms=LABELS)
    events = twin.followed(log, target)
    if not taken <= {arm for arm, *_ in events}:
        with pytest.raises(ValueError, match=r"never logged|no event in which|choices of no event"):
            replay.estimate(target)
    elif len(events) > 1:
        assert_estimated(replay.estimate(target), events, target, len(log))
    if taken <= {arm for arm, *_ in log} and sum(bool(taken & {*event[3]}) for event in log) > 1:
        found = replay.estimate(target, absent="renormalise")
        assert_close(found.ips, *twin.renormalised(log, target))
