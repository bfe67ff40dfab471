"""RAW-UCB: UCB with an adaptive window, for rewards that rot (Seznec et al., 2020)."""

import math
from typing import NamedTuple

import numpy as np

from lastblock.core.rounds import enqueue, enqueue_all, shuffle
from lastblock.kit import COUNT, Layout, Positive, Record, argmax, policy
from lastblock.policies._rotting import (
    LEVELS,
    clear_windows,
    no_room,
    set_indices,
    start_indices,
    take_in,
    window_fields,
)


@policy(shift_invariant=True, examples=[{"sigma": 0.1, "alpha": 4.0}, {"all_windows": True}])
class RAWUCB(NamedTuple):
    """Pull the arm with the largest min over windows h of (mean of its last h rewards + width).

    The width is σ √(2α log t / h). A long window is precise and, where rewards only get worse, too
    optimistic; each arm counts with the window that is worst for it.

    Parameters
    ----------
    sigma
        σ, the standard deviation of the noise; ½ for rewards in [0, 1].
    alpha
        α, for a confidence level of 2/t^α.
    all_windows
        Use windows of all lengths, not only of 1, 2, 4, 8 … rewards. The policy then keeps every
        reward, and a step takes time in proportion to the number of the arm's rewards.

    Examples
    --------
    >>> import lastblock as lb
    >>> arms = lb.Stationary([lb.Bernoulli(0.2), lb.Bernoulli(0.5), lb.Bernoulli(0.8)])
    >>> run = lb.simulate(lb.RAWUCB(), arms, horizon=1000, replications=100, seed=1)
    >>> bool(run.mean()[-1] < 40)
    True

    References
    ----------
    Seznec, Ménard, Lazaric & Valko. A Single Algorithm for both Restless and Rested Rotting
    Bandits. AISTATS 2020.
    """

    sigma: Positive = 0.5
    alpha: Positive = 1.4
    all_windows: bool = False

    @property
    def grows(self) -> bool:
        """Whether the policy keeps every reward."""
        return self.all_windows

    def layout(self, arms: int, horizon: int | None) -> Layout:
        windows = window_fields(arms, horizon, self.all_windows)
        index: Layout = [("index", np.float64, (arms,))]
        if self.all_windows:
            return [
                *windows,
                *index,
                ("lowest", np.float64, (arms,)),  # the index when it was last solved for …
                ("own", np.float64, (arms,)),  # … the width of one reward then …
                ("window", COUNT, (arms,)),  # … the window that gave it …
                ("solved", COUNT, (arms,)),  # … and the number of rewards then
            ]
        return [windows[0], *index, ("shrink", np.float64, (LEVELS,)), *windows[1:]]

    def start(self, s: Record) -> None:
        clear_windows(s)
        start_indices(s)
        enqueue_all(s)
        shuffle(s)

    def plan(self, s: Record) -> None:
        log_t = math.log(s.arms + s.round - 1)
        set_indices(s, self.sigma * math.sqrt(2.0 * self.alpha * log_t))
        enqueue(s, argmax(s, s.index))

    def observe(self, s: Record, arm: int, reward: float) -> None:
        take_in(s, arm, reward)

    def full(self, s: Record, arm: int) -> bool:
        return no_room(s, arm)
