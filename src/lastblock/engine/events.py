"""The events of a bandit as plain data.

From the same state, the same events lead to the same state, byte for byte.
"""

from collections.abc import Callable, Sequence
from typing import Any, TypeAlias

Event: TypeAlias = tuple[str, int | None, int | None, Any]
"""A change as a tuple of its kind, the decision, the arm, and a value. It is one of these:

("ask", decision, arm, probability or None), ("tell", decision, arm, reward),
("forget", decision, arm, None), ("add_arm", None, arm, label), ("retire_arm", None, arm, None),
("reseed", None, None, words), ("pause_arm", None, arm, None), ("resume_arm", None, arm, None),
("ask_among", decision, arm, {"probability": probability or None, "among": arms}),
("observe", None, arm, reward), ("set_floors", None, None, floors),
or a note, which leaves the record as it is:

("partial", decision, arm, [reward, key or None]): one of several rewards of a decision;
("close", decision, arm, ["told" or "closed", reward]): no more rewards come; the policy learns this
    one when the decision expires;
("activate", decision, arm, None): the decision's clock starts again;
("guard", None, arm, [value]): a second number that came with a reward, which no policy sees;
("remember", decision or None, None, […]): what to answer if a request is repeated, see `Memory`;
("configure", None, None, {"rewards": …, "remember": …}): how rewards are collected from now on;
or ("skip", None, None, id): no id below this one is given from now on, since a crash has lost some.

In an "ask_among" some active arms could not be chosen. It has those that could in "among", or those
that could not in "without", whichever are fewer. An arm is given by its place among all arms of the
bandit, including retired ones. The floors are None for none, {"every": share} or
{"arms": [[arm, share], …]}."""

Journal: TypeAlias = Callable[[Sequence[Event]], None]
"""A function that records events, or raises an error."""

KINDS = (
    *("ask", "tell", "forget", "add_arm", "retire_arm", "reseed"),
    *("partial", "activate", "remember", "configure"),
    *("pause_arm", "resume_arm", "ask_among", "set_floors", "guard", "skip", "close"),
)
OBSERVE = "observe"
"""The kind that is no place in `KINDS`: logs have it as a tell without a decision."""

ASK, TELL, FORGET = 0, 1, 2
"""Places in `KINDS` of the three kinds that make up almost all events."""

ASK_AMONG = KINDS.index("ask_among")

NOT_OURS = -1
"""The number of a decision that was taken elsewhere; its reward is an observation."""

NO_CHANCE = -1.0
"""The number that stands for a probability of None."""

NOTES = frozenset(("partial", "close", "activate", "guard", "remember", "configure"))
"""The kinds that leave the record as it is, and change a bandit's ledger only."""

REMEMBERED = tuple(KINDS.index(kind) for kind in ("partial", "remember"))
"""Places in `KINDS` of the events that a bandit's memory is made of."""
