"""M-UCB: UCB that restarts when a window of some arm's rewards shifts (Cao et al., 2019)."""

import math
from typing import Annotated, NamedTuple

import numpy as np

from lastblock.core.history import append, block_sum, clear, history_dtype
from lastblock.core.protocol import Held, Layout, Record
from lastblock.core.rounds import enqueue, enqueue_all, shuffle
from lastblock.core.window import LONGEST_WINDOW
from lastblock.kit import COUNT, LINE, Positive, Range, argmax, kernel, policy, unseen
from lastblock.policies._diminishing import ALPHA, first_session, session_at
from lastblock.theory.tunings import mucb_exploration, mucb_threshold


@kernel
def restart(s: Record) -> None:
    """Forget the rewards of every arm and begin a new period."""
    s.age = 0
    s.position = 0
    for k in range(s.sums.shape[0]):
        s.sums[k] = 0.0
    clear(s.history)


@policy(
    shift_invariant=True,
    examples=[
        {"window": 20, "threshold": 4.0, "exploration": 0.3},
        {"window": 2, "threshold": 0.5, "exploration": 1.0, "scale": 0.7},
        {"window": 40, "threshold": 6.0, "exploration": 0.05},
        {"window": 20, "threshold": 4.0, "exploration": 1.0, "diminishing": True},
    ],
)
class MUCB(NamedTuple):
    """UCB that pulls all arms in turn now and then, and restarts when the test sees a change.

    A change is seen when the sums of the two halves of an arm's last w rewards differ by more than
    the threshold. Bonus and tuned threshold assume that rewards lie in [0, 1].

    Parameters
    ----------
    window
        w, the rewards of an arm that the test looks at; even.
    threshold
        b, in sums of w/2 rewards.
    exploration
        γ, the share of pulls in which the arms take turns: K of every ⌊K/γ⌋. With `diminishing`, α:
        the share is α / √n after n pulls without an alarm.
    scale
        C in the bonus C √(log n / N), with n the time and N the arm's pulls since the last restart.
    diminishing
        Let the turns become rarer the longer nothing has changed; no number of changes is needed.

    Examples
    --------
    >>> import lastblock as lb
    >>> policy = lb.MUCB.tuned(arms=3, horizon=10_000, changes=2)
    >>> policy.window, round(policy.threshold, 2), round(policy.exploration, 4)
    (800, 89.92, 0.0743)

    References
    ----------
    Cao, Wen, Kveton & Xie. Nearly Optimal Adaptive Procedure with Change Detection for
    Piecewise-Stationary Bandit. AISTATS 2019. Li, Hsieh & Huang. Diminishing
    Exploration: A Minimalist Approach to Piecewise Stationary Multi-Armed Bandits. 2024.
    """

    window: Annotated[int, Range(2, LONGEST_WINDOW, unit="rewards")]
    threshold: Positive
    exploration: float
    scale: Positive = math.sqrt(2.0)
    diminishing: bool = False

    @classmethod
    def tuned(
        cls,
        *,
        arms: int,
        horizon: int,
        changes: int,
        window: Annotated[int, Range(2, LONGEST_WINDOW, unit="rewards")] = 800,
        scale: float = math.sqrt(2.0),
    ) -> "MUCB":
        """Return the policy with b = √(w/2 · log(2KT²)) and γ = √(ΓK log T / T); Γ = 0 is 1."""
        return cls(
            window=window,
            threshold=mucb_threshold(horizon=horizon, arms=arms, window=window),
            exploration=mucb_exploration(horizon=horizon, changes=changes, arms=arms),
            scale=scale,
        )

    @classmethod
    def tuned_diminishing(
        cls, *, arms: int, horizon: int, window: int = 800, scale: float = math.sqrt(2.0)
    ) -> "MUCB":
        """Return the policy with diminishing exploration, α = 1, and the threshold of `tuned`."""
        threshold = mucb_threshold(horizon=horizon, arms=arms, window=window)
        return cls(window, threshold, 1.0, scale, diminishing=True)

    def validate(self) -> None:
        if self.window % 2 != 0:
            raise ValueError(f"MUCB: window={self.window} must be even")
        (ALPHA if self.diminishing else Range(1e-9, 1.0))(self, "exploration")

    def layout(self, arms: int, horizon: int | None) -> Layout:
        return [
            ("restarts", COUNT),
            ("age", COUNT),  # pulls since the last restart
            ("position", COUNT),  # of the next pull within its period
            # ⌊K/γ⌋; with diminishing exploration, the age at which the arms take turns next
            ("period", COUNT),
            ("order", LINE, (arms,)),  # in which the arms take turns
            ("sums", np.float64, (arms,)),
            ("index", np.float64, (arms,)),
            ("history", history_dtype(arms, self.window)),
        ]

    def start(self, s: Record) -> None:
        clear(s.history)
        if self.diminishing:
            s.period = first_session(s.arms, self.exploration)
        else:
            s.period = math.floor(s.arms / self.exploration)
        enqueue_all(s)
        shuffle(s)
        # The first turn is the first round; no test is made within it, for lack of rewards.
        for k in range(s.order.shape[0]):
            s.order[k] = s.queue[k]
        s.age = s.arms
        s.position = s.arms

    def plan(self, s: Record) -> None:
        pulls = s.history.written
        if self.diminishing:
            s.period = session_at(s.period, s.age, s.arms, self.exploration)
            turn = s.age - s.period
        else:
            if s.position == s.period:
                s.position = 0
            turn = s.position
        if 0 <= turn < s.arms:
            arm = s.order[turn]
        else:
            log_age = math.log(s.age + 1)
            for k in range(s.arms):
                n = pulls[k]
                if n > 0:
                    bonus = self.scale * math.sqrt(log_age / (n + s.out[k]))
                    s.index[k] = s.sums[k] / n + bonus
                else:
                    s.index[k] = unseen(s, k)
            arm = argmax(s, s.index)
        enqueue(s, arm)
        s.position += 1
        s.age += 1

    def observe(self, s: Record, arm: int, reward: float) -> None:
        h = s.history
        append(h, arm, reward)
        s.sums[arm] += reward
        if h.written[arm] >= self.window:
            newer = block_sum(h, arm, self.window // 2)
            older = block_sum(h, arm, self.window) - newer
            if abs(newer - older) > self.threshold:
                s.restarts += 1
                restart(s)
                if self.diminishing:
                    s.period = first_session(s.arms, self.exploration)

    def resized(self, s: Record, before: Record, arm: int) -> None:
        if not self.diminishing:
            s.period = math.floor(s.arms / self.exploration)
            s.position = min(s.position, s.period)

    def held(self, s: Record, arm: int) -> Held:
        return Held(float(s.history.written[arm]), float(s.sums[arm]))
