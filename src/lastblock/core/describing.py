"""What a policy says of itself: which rewards it holds, and why it acted. Plain Python.

Most policies need no method for it, because the fields of their records say so. A policy that holds
other rewards has a method `held`, one that chooses in another way, or that wraps another policy and
does not always ask it, a method `explain`.
"""

from typing import Any

from lastblock.core import history, multiset, window
from lastblock.core.protocol import (
    NOTHING_HELD,
    Aside,
    Held,
    Policy,
    Reason,
    Record,
    Scores,
    innermost,
    wrapped_in,
)
from lastblock.core.restarts import restarts_of
from lastblock.core.verdicts import BEGUN, QUEUED

SCORES = {"index": "index", "chance": "probability"}
"""The fields by which policies choose, and what to call their numbers."""


def held(policy: Policy, s: Record, arm: int) -> Held | None:
    """Return the rewards of an arm that the policy still uses; None if it does not say.

    Without a method `held`, a wrapper holds what the wrapped policy holds. Other policies hold the
    rewards in the field `history` or, with a parameter `window`, in `recent`; or those that they
    have counted in `pulls` and added up in `sums`.
    """
    method = getattr(policy, "held", None)
    if method is not None:
        found: Held | None = method(s, arm)
        return found
    wrapped = wrapped_in(policy, s)
    if wrapped is not None:
        if "due" in s.dtype.names and s["due"]:
            return NOTHING_HELD
        found = held(*wrapped, arm)
        return Held(None) if found is None and restarts_of(s) > 0 else found
    names = s.dtype.names
    if "history" in names:
        kept = s["history"]
        ask = multiset.held if "others" in kept.dtype.names else history.held
        return ask(kept, arm)
    if "recent" in names:
        wide: Any = policy
        return window.held(s["recent"], arm, wide.window)
    if "pulls" not in names:
        return None
    total = float(s["sums"][arm]) if "sums" in names else None
    return Held(float(s["pulls"][arm]), total)


def explain(policy: Policy, s: Record) -> Reason:
    """Return why a policy pulls the arms that it has just planned; None if it does not say.

    Without a method `explain`, a wrapper has the reason of the wrapped policy. Other policies have
    chosen by the numbers in the field `index` or `chance`.
    """
    method = getattr(policy, "explain", None)
    if method is not None:
        said: Reason = method(s)
        return said
    wrapped = wrapped_in(policy, s)
    if wrapped is not None:
        return explain(*wrapped)
    for field, name in SCORES.items():
        if field in s.dtype.names:
            return Scores(name, s[field])
    return None


def explain_next(policy: Policy, s: Record) -> Reason:
    """Return why a wrapper pulls an arm, if it hands out one arm of the round at a time.

    `policy` and `s` are the wrapped policy and its record.
    """
    said = explain(policy, s)
    if isinstance(said, Aside):
        return said
    policy, s = innermost(policy, s)
    if s.round == 1 and s.queued == s.arms > 1:
        return Aside(BEGUN, policy)
    if s.taken > 1:
        return Aside(QUEUED, policy, int(s.round), int(s.taken), int(s.queued))
    return said
