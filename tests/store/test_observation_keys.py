"""Observations that are sent again with their key count once, also after a reopening."""

import pytest

import lastblock as lb

PAIRS = ["red", "blue", "red"], [1.0, 0.0, 0.5]


def test_repeated_observations_with_a_key_count_once(place):
    with lb.Store(place, keep_events=True) as store:
        bandit = store.create("button", lb.LBSDAGM(), ["red", "green", "blue"], seed=7)
        for _ in range(3):
            bandit.observe_many(*PAIRS, key="import 1")
        bandit.observe_many(["red"], [1.0], key="import 2")
        bandit.observe_many(["red"], [1.0], key="import 2")
        with pytest.raises(lb.KeyReusedError, match="other observations"):
            bandit.observe_many(["red"], [0.5], key="import 2")
        assert sum(bandit.pulls.values()) == 4
        assert bandit.ask(key="import 1").arm in bandit.arms  # keys of decisions are others
        store.verify("button")
    with lb.Store(place) as again:  # it is remembered
        bandit = again.bandit("button")
        bandit.observe_many(*PAIRS, key="import 1")
        bandit.observe_many(["red"], [1.0], key="import 2")
        assert sum(bandit.pulls.values()) == 4
        again.snapshot("button")
    with lb.Store(place) as again:
        again.bandit("button").observe_many(*PAIRS, key="import 1")
        assert sum(again.bandit("button").pulls.values()) == 4
