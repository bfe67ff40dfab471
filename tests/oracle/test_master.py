"""MASTER takes the decisions of its twin, one by one, and refuses what it cannot wrap."""

from typing import NamedTuple

import numpy as np
import pytest

import lastblock as lb
import oracle.master
from lastblock.kit import Layout, Record, enqueue, enqueue_all, policy
from oracle.worlds import World, bernoulli, play


def turning(rng, levels, t, arm):
    """The best of the arms becomes the worst, and the reverse, every 150 decisions."""
    level = 0.9 * (arm + 1) / len(levels)
    return float(rng.random() < (level if t // 150 % 2 else 1.0 - level))


@pytest.mark.parametrize("kind", [bernoulli, turning])
@pytest.mark.parametrize(
    "parameters",
    [{}, {"level": 0.1, "fall": 1.5}, {"level": 0.02, "rise": 1.0, "fall": 1e6}],
    ids=["defaults", "fall", "rise"],
)
def test_same_decisions_as_its_twin(kind, parameters):
    twin = oracle.master.Master(3, 5, **parameters)
    play(lb.Master(lb.UCB1(), **parameters), twin, World(kind, 3, 5), 500, 5)
    if kind is turning:
        assert (twin.restarts > 0) == bool(parameters)


def test_the_constants_of_the_paper():
    policy = lb.Master.tuned(lb.UCB1(), horizon=1024, delta=0.5)
    assert policy.level == pytest.approx(7.6246189861593985)  # log 2048
    assert policy.rise == pytest.approx(9 * 6 * 11 * policy.level)
    assert policy.fall == pytest.approx(policy.rise / 3)


@pytest.mark.parametrize(("kind", "room"), [(np.float64, 1), (np.int64, 3)])
def test_an_optimistic_policy_needs_an_index_for_every_arm(kind, room):
    @policy(optimistic=True)
    class ShortIndex(NamedTuple):
        bound: float = 1.0

        def layout(self, arms: int, horizon: int | None) -> Layout:
            return [("index", kind, (room,))]

        def start(self, s: Record) -> None:
            s.index[0] = self.bound
            enqueue_all(s)

        def plan(self, s: Record) -> None:
            enqueue(s, 0)

        def observe(self, s: Record, arm: int, reward: float) -> None:
            s.index[0] = reward

    try:
        with pytest.raises(ValueError, match='must have a field "index" of floats with room'):
            lb.Bandit(lb.Master(ShortIndex()), 3, seed=1)
    finally:
        del lb.POLICIES["ShortIndex"]
