"""What a policy says of itself: which rewards it holds, and why it acted. Plain Python.

`Bandit.summary` and `Bandit.explain` ask for it. Most policies need no method, since the names of
their fields say so:

============================  ======================================================================
``pulls``, ``sums``           for each arm, the number of rewards and their sum
``history``                   the rewards themselves: a field of `kit.history` or `kit.multiset`
``recent``                    the same, of `kit.window`, with a parameter ``window``
``index``, ``chance``         the numbers by which an arm is chosen, the largest one or at random
``due``                       a flag: the policy starts anew with the next decision
============================  ======================================================================

A policy with other fields has methods, and so has a wrapper that does more than pass rewards and
arms on to the policy whose record is its field ``inner``:

============================  ======================================================================
``held(self, s, arm)``        returns a `Held`: the rewards of the arm that the policy still uses
``explain(self, s)``          returns a `Reason` for the arms of the round: a list of
                              `lastblock.kit.Verdict`, one for each challenger; or `Scores`; or, for
                              a wrapper, an `Aside`, if the wrapped policy has not just chosen
============================  ======================================================================

Both may return None. The names to import:

=================  ================================================================================
`Held`             the rewards of an arm that a policy uses: their number, and their sum or
                   a function that returns them
`NOTHING_HELD`     for a policy that has just forgotten everything
`Reason`           the type of what ``explain`` returns
`Scores`           the numbers by which a policy chose, and what to call them
`Aside`            why a wrapper pulls an arm that the wrapped policy has not just chosen
`held`             what a policy holds of an arm: a wrapper asks the policy that it wraps
`explain_next`     why an arm is pulled, where a wrapper hands out one arm of the wrapped policy's
                   round at a time
`BEGUN`            a reason: the wrapped policy begins as if new, with every arm once
`QUEUED`           a reason: the wrapped policy planned the arm before, as part of a round
=================  ================================================================================
"""

from lastblock.core.describing import explain_next, held
from lastblock.core.protocol import NOTHING_HELD, Aside, Held, Reason, Scores
from lastblock.core.verdicts import BEGUN, QUEUED

__all__ = [
    "BEGUN",
    "NOTHING_HELD",
    "QUEUED",
    "Aside",
    "Held",
    "Reason",
    "Scores",
    "explain_next",
    "held",
]
