"""A passive leadership takeover, played by the engine (the paper's figure 1).

With a window, the arm pulled most can change although it won nothing: the leader's old pulls are
forgotten. The paper's rule for the leader prevents it.
"""

import itertools
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from lastblock.live import Live
from lastblock.policies.swlbsda import SWLBSDA
from lastblock.random import key_of
from lastblock.state import NOBODY

if TYPE_CHECKING:
    import pandas as pd

WINDOW = 4
ROUND = 6
"""In which the leader loses to one arm, and the lead to another."""

# The rewards of each arm, pull after pull. The leader is never a matter of luck: no two arms are
# level in pulls and in sum.
REWARDS = ((3, 9, 0, 4), (8, 3, 5, 6), (2, 6, 7, 1))


def takeover() -> "pd.DataFrame":
    """SW-LB-SDA on the same rewards with the naive rule for the leader and with the paper's.

    One row for each rule ("naive" or "paper"), round and arm: in_window (pulls of the arm among the
    last four rounds, before this one), leads, and pulled (in this round). All are read from the
    engine's record. Round 7 is the first in which the rules differ.
    """
    import pandas as pd  # an optional dependency  # noqa: PLC0415

    rows = []
    for rule in ("naive", "paper"):
        policy = SWLBSDA(window=WINDOW, naive_leader=rule == "naive")
        rows += [{"rule": rule, **row} for row in _play(policy, ROUND + 1)]
    return pd.DataFrame(rows)


def _play(policy: SWLBSDA, rounds: int) -> Iterator[dict[str, Any]]:
    arms = len(REWARDS)
    live = Live(policy, arms)
    live.start(arms, key_of(0))
    record, decision = live.s, itertools.count()
    given = [0] * arms

    def ask() -> int:
        return int(live.ask(policy, live.states, live.i, live.notes, next(decision)))

    for number in range(1, rounds + 1):
        arm = ask()  # the first decision of a round plans it
        leader, held = record["leader"], record["history"]["kept"].copy()
        pulled = set()
        while True:
            reward = float(REWARDS[arm][given[arm]])
            live.tell(policy, live.states, live.i, live.notes, arm, reward)
            given[arm] += 1
            pulled.add(arm)
            if record["taken"] == record["queued"]:
                break
            arm = ask()
        for k in range(arms):
            yield {
                "round": number,
                "arm": k,
                "in_window": int(held[k]),
                "leads": bool(leader == k and leader != NOBODY),
                "pulled": k in pulled,
            }
