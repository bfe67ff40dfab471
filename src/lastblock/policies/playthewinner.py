"""Play the winner (Zelen, 1969)."""

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from lastblock.core.rounds import enqueue, enqueue_all, shuffle
from lastblock.kit import INDEX, LINE, Layout, Record, below, below_arms, coin, policy


@policy(support="unit", examples=[{"cyclic": False}])
class PlayTheWinner(NamedTuple):
    """Stay with an arm as long as it succeeds; after a failure go on to the next.

    A reward strictly between 0 and 1 is a success with that probability.

    Parameters
    ----------
    cyclic
        With more than two arms, what comes next: True for a circle in random order, drawn at the
        start; False for any other arm.

    Examples
    --------
    In the long run an arm that fails with probability q has a share of the pulls proportional to
    1/q: here 0.9 : 0.1.

    >>> import lastblock as lb
    >>> arms = lb.Stationary([lb.Bernoulli(0.1), lb.Bernoulli(0.5), lb.Bernoulli(0.9)])
    >>> run = lb.simulate(lb.PlayTheWinner(), arms, horizon=10_000, replications=50, seed=1)
    >>> round(float(run.pulls[:, 2].mean()) / 10_000, 1)
    0.8

    References
    ----------
    Zelen. Play the winner rule and the controlled clinical trial. JASA, 1969.
    Hoel & Sobel. Comparisons of sequential procedures for selecting the best binomial population.
    Sixth Berkeley Symposium, 1972.
    """

    cyclic: bool = True

    def layout(self, arms: int, horizon: int | None) -> Layout:
        return [("at", below_arms(INDEX)), ("circle", LINE, (arms,))]

    def start(self, s: Record) -> None:
        enqueue_all(s)
        shuffle(s)
        for i in range(s.circle.shape[0]):
            s.circle[i] = s.queue[i]
        s.queued = 1

    def plan(self, s: Record) -> None:
        enqueue(s, s.circle[s.at])

    def observe(self, s: Record, arm: int, reward: float) -> None:
        # A late reward of an arm that was left says nothing about the one that is played now.
        if coin(s.stream, reward) == 0.0 and arm == s.circle[s.at]:
            step = 1 if self.cyclic else 1 + below(s.stream, s.arms - 1)
            s.at = (s.at + step) % s.arms

    def resized(self, s: Record, before: Record, arm: int) -> None:
        if s.arms > before.arms:
            s.at = arm  # the end of the circle, where the new arm stands: it plays next
        else:
            place = before.circle[: before.arms].tolist().index(arm)
            s.at = (int(before.at) - (place < before.at)) % s.arms

    def replanned(self, s: Record, planned: Record, kept: npt.NDArray[np.int64]) -> None:
        s.at = s.circle[: s.arms].tolist().index(kept[planned.circle[planned.at]])
