"""What a policy says of itself: which rewards it holds, and why it acted. Plain Python.

`Bandit.summary` and `Bandit.explain` ask these optional methods of a policy. Without them, the
summary shows the mean of all rewards, and the explanation names the arms alone.

============================  ======================================================================
``held(self, s, arm)``        returns a `Held`: the rewards of the arm that the policy still uses
``chosen_by(self, s)``        returns `Scores`: the numbers whose largest, or whose odds, chose
``duels(self, s)``            returns a list of `lastblock.kit.Verdict`, one for each challenger
============================  ======================================================================

A policy that sums up what it is told, and pulls the arm with the largest index::

    def held(self, s: Record, arm: int) -> Held:
        return Held(float(s.pulls[arm]), float(s.sums[arm]))

    def chosen_by(self, s: Record) -> Scores:
        return Scores("index", s.index)

One that keeps a history, a window or a multiset returns what `history.held`, `window.held` or
`multiset.held` gives for it.

A wrapper needs none of them: the policy whose record is its field `inner` is asked. It has methods
of its own where it does more than pass rewards and arms on:

============================  ======================================================================
``held(self, s, arm)``        if it changes rewards or begins again; it may return None
``begins_again(self, s)``     whether the policy that it wraps starts anew with the next decision
``aside(self, s)``            returns an `Aside` if the wrapped policy has not just chosen the arm
============================  ======================================================================

The names to import:

=================  ================================================================================
`Held`             the rewards of an arm that a policy uses: their number, and their sum or
                   a function that returns them
`NOTHING_HELD`     for a policy that has just forgotten everything
`Scores`           the numbers by which a policy chose, and what to call them
`Aside`            why a wrapper pulls an arm that the wrapped policy has not just chosen
`held`             what a policy holds of an arm: a wrapper asks the policy that it wraps
`held_since`       the same, for a wrapper that may have begun again
`planned_before`   what ``aside`` returns where the arms of the wrapped policy's round are handed
                   out one at a time
`BEGUN`            a reason: the wrapped policy begins as if new, with every arm once
`QUEUED`           a reason: the wrapped policy planned the arm before, as part of a round
=================  ================================================================================
"""

from lastblock.core.protocol import NOTHING_HELD, Aside, Held, Scores, held
from lastblock.core.verdicts import BEGUN, QUEUED
from lastblock.core.wrapping import held_since, planned_before

__all__ = [
    "BEGUN",
    "NOTHING_HELD",
    "QUEUED",
    "Aside",
    "Held",
    "Scores",
    "held",
    "held_since",
    "planned_before",
]
