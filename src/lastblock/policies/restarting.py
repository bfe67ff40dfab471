"""Restart any policy when a detector says that the world has changed."""

import math
from typing import Annotated, Any, NamedTuple

from lastblock.core.checked import NOTICE, RESET, note_method
from lastblock.core.describing import explain_next
from lastblock.core.layout import COUNT, FLAG, INDEX, record, record_of
from lastblock.core.parameters import Range
from lastblock.core.protocol import Aside, Detector, Layout, Policy, Reason, Record, resized
from lastblock.core.registry import policy
from lastblock.core.restarts import clear_restarts, note_restart, restart_fields
from lastblock.core.rounds import enqueue
from lastblock.core.verdicts import LOOKED
from lastblock.detectors.glr import GLR
from lastblock.detectors.meanshift import MeanShift
from lastblock.kernels.jit import kernel, plain
from lastblock.kit import ready_to_observe, ready_to_plan, ready_to_start, share_stream, take_next
from lastblock.policies.thompson import Thompson
from lastblock.theory.tunings import glr_growing_confidence, glr_growing_exploration

MOST_FORCED = 0.99
"""The largest share of decisions in which the arms take turns."""


@kernel
def longest_silent(s: Record) -> Any:
    """Return the first of the arms whose last decision is longest ago."""
    oldest: Any = INDEX(0)
    for k in range(1, s.arms):
        if s.asked[k] < s.asked[oldest]:
            oldest = INDEX(k)
    return oldest


@kernel
def turn_of(s: Record, exploration: float) -> int:
    """Return the arm whose turn it is, a negative number if it is nobody's.

    All K arms take turns at the end of every ⌊K / α_k⌋ decisions, with α_k = α √(k K) after k − 1
    restarts.
    """
    if exploration == 0.0:
        return -1
    share = min(exploration * math.sqrt((s.restarts + 1.0) * s.arms), MOST_FORCED)
    period = math.floor(s.arms / share)
    return int((s.round - s.since - 1) % period - (period - s.arms))


def was_silent(s: Record, alertness: float) -> bool:
    """Return whether the arm that was just planned is pulled because it was silent for long.

    Planning has written over the time of its last decision. If the wrapped policy's last arm is
    another one, the wrapped policy was not asked. If it is the same one, and yet was silent for
    longest, then every decision since was a look at another arm, and those tell how long it was
    silent. Plain Python, for `aside`.
    """
    age = s.round - s.since
    if s.round == 1 or s.arms == 1 or (s.restarts > 0 and age == 1):  # it begins
        return False
    arm, inner = s.queue[0], s.inner
    if inner.taken == 0 or inner.queue[inner.taken - 1] != arm:
        return True
    others = {int(s.asked[k]) for k in range(s.arms) if k != arm}
    first = min(others)
    if not others.issuperset(range(first, s.round)):
        return False
    silent = float(s.round - first + 1) * alertness
    return bool(silent * silent > age * (s.arms - 1.0))


@policy(
    grows=True,
    examples=[
        {"policy": Thompson(), "detector": MeanShift()},
        {"policy": Thompson(), "detector": GLR(delta=0.5), "alertness": 2.0},
    ],
)
class Restarting(NamedTuple):
    """A policy that begins again, as if new, whenever a detector finds that some arm has changed.

    So that changes of neglected arms are found too, an arm that has been silent for long is pulled
    once. Such rewards count like all others.

    Parameters
    ----------
    policy
        Any policy. The state grows with time only if this policy's does.
    detector
        A change detector: ``MeanShift()``, which needs to know nothing, or ``GLR(…)``.
    alertness
        c: an arm is pulled after √(age · (K − 1)) / c decisions without it, where the age counts
        decisions since the last restart. With 0 no arm is pulled for its silence.
    exploration
        α: all arms are pulled in turn now and then, in a share α √(k K) of the decisions, at most
        0.99, after k − 1 restarts. With 0 they are not.

    Examples
    --------
    >>> import lastblock as lb
    >>> arms = lb.Piecewise({
    ...     0: [lb.Bernoulli(0.9), lb.Bernoulli(0.5), lb.Bernoulli(0.2)],
    ...     5000: [lb.Bernoulli(0.1), lb.Bernoulli(0.5), lb.Bernoulli(0.2)],
    ... })
    >>> policy = lb.Restarting(lb.Thompson(), lb.GLR(delta=0.01))
    >>> run = lb.simulate(policy, arms, horizon=10_000, replications=20, seed=1)
    >>> bool(run.mean()[-1] < 100)
    True

    References
    ----------
    `dal`: Gerogiannis, Huang, Bose & Veeravalli. DAL: A Practical Prior-Free Black-Box Framework
    for Non-Stationary Bandit Environments. 2025.
    """

    policy: Policy
    detector: Detector
    alertness: Annotated[float, Range(0.0, 10.0)] = 0.25
    exploration: float = 0.0

    @classmethod
    def dal(cls, policy: Policy, *, horizon: int, detector: Detector | None = None) -> "Restarting":
        """Return detection-augmented learning: turns for all arms, and a restart at every alarm.

        The share of turns is α_k = √(k K log T / T), and the detector GLR(δ = 1 / √T), unless
        another one is given. It knows no number of changes.
        """
        if detector is None:
            detector = GLR(delta=glr_growing_confidence(horizon=horizon))
        return cls(policy, detector, 0.0, glr_growing_exploration(horizon=horizon))

    def validate(self) -> None:
        if self.exploration != 0.0 and not 1e-9 <= self.exploration <= 1.0:
            raise ValueError(
                f"Restarting: exploration={self.exploration} must be 0, for no turns, or lie "
                "between 1e-9 and 1"
            )

    def layout(self, arms: int, horizon: int | None) -> Layout:
        return [
            ("since", COUNT),  # the time of the last restart
            ("due", FLAG),  # whether a restart is due
            *restart_fields(),
            ("asked", COUNT, (arms,)),  # the time of the arm's last decision
            ("seen", COUNT, (arms,)),  # its rewards since the last restart
            ("inner", record_of(self.policy, arms, horizon)),
            ("detector", record(self.detector.layout(arms))),
        ]

    def start(self, s: Record) -> None:
        clear_restarts(s)
        self.detector.reset(s.detector)
        share_stream(s)
        wrapped: Any = self.policy
        wrapped.start(ready_to_start(s))
        take_next(s)
        s.asked[s.queue[0]] = 1

    # One arm at a time, so that a restart in the middle of the inner policy's round cuts it short;
    # hence round r is decision r.

    def plan(self, s: Record) -> None:
        if s.due:
            s.due = 0
            wrapped: Any = self.policy
            wrapped.start(ready_to_start(s))
            take_next(s)
        else:
            arm = longest_silent(s)
            silent = float(s.round - s.asked[arm]) * self.alertness
            turn = turn_of(s, self.exploration)
            if turn >= 0:
                enqueue(s, turn)
            elif silent * silent > (s.round - s.since) * (s.arms - 1.0):
                enqueue(s, arm)
            else:
                if s.inner.taken == s.inner.queued:
                    self.policy.plan(ready_to_plan(s))
                    s.inner.taken = 0
                take_next(s)
        s.asked[s.queue[0]] = s.round

    def observe(self, s: Record, arm: int, reward: float) -> None:
        self.policy.observe(ready_to_observe(s), arm, reward)
        s.seen[arm] += 1
        d = s.detector
        note_method(s, NOTICE)
        noticed = self.detector.notice(d, arm, reward, s.round - s.since)
        note_method(s, 0)
        if noticed:
            # When the change was, if the arm's rewards came at an even pace.
            back = (s.round - s.since) * (min(d.size, s.seen[arm]) - 1) // s.seen[arm]
            note_restart(s, s.round, s.round - max(0, back), arm, d.old, d.new)
            note_method(s, RESET)
            self.detector.reset(d)
            note_method(s, 0)
            for k in range(s.seen.shape[0]):
                s.seen[k] = 0
            s.since = s.round
            s.due = 1

    def support(self) -> tuple[float, float]:
        """The rewards that both the policy and the detector take."""
        wrapped: Any = self.policy
        watching: Any = self.detector
        low, high = wrapped.support()
        lowest, highest = watching.support()
        return max(low, lowest), min(high, highest)

    def full(self, s: Record, arm: int) -> bool:
        wrapped: Any = self.policy
        return bool(wrapped.full(s.inner, arm))

    def resized(self, s: Record, before: Record, arm: int) -> None:
        resized(self.policy, s.inner, before.inner, arm)
        # A round is one decision, unless an arm has entered it, or left before it was handed out.
        waited, waits = int(before.queued) - int(before.taken), int(s.queued) - int(s.taken)
        s.extra += waits - waited
        if s.arms > before.arms:
            s.asked[arm] = s.round

    def explain(self, s: Record) -> Reason:
        begins = s.round == 1 or (s.restarts > 0 and s.round - s.since == 1)
        turn = -1 if begins else plain(turn_of)(s, self.exploration)
        if turn >= 0 or was_silent(s, self.alertness):
            return Aside(LOOKED, self.policy)
        return explain_next(self.policy, s.inner)
