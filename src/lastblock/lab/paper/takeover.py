"""A passive leadership takeover, played by a live bandit (the paper's figure 1).

With a window, the arm pulled most can change although it won nothing: the leader's old pulls are
forgotten. The paper's rule for the leader prevents it.
"""

from typing import TYPE_CHECKING, Any

from lastblock.live.bandit import Bandit
from lastblock.live.explanation import Explanation
from lastblock.policies.swlbsda import SWLBSDA

if TYPE_CHECKING:
    import pandas as pd

WINDOW = 4
ROUND = 11
"""In which the leader loses to one arm, and the lead to another."""

SEED = 0
"""In round 8 two arms are level in pulls and in sum: which of them leads is a matter of luck."""

REWARDS = (
    (7, 7, 3, 9, 6, 1, 7, 9),
    (8, 8, 4, 8, 2, 3, 1, 7),
    (5, 5, 4, 8, 2, 0, 0, 9),
)
"""Of each arm, pull after pull."""


def takeover() -> "pd.DataFrame":
    """SW-LB-SDA on the same rewards with the naive rule for the leader and with the paper's.

    One row for each rule ("naive" or "paper"), round and arm: in_window (pulls of the arm in the
    four rounds before), leads, won (its duel with the leader; missing where there was none) and
    pulled (in this round). Leader, duels and pulls are the bandit's own account of the round.
    Round 12 is the first in which the rules differ.
    """
    import pandas as pd  # an optional dependency  # noqa: PLC0415

    rows = []
    for rule in ("naive", "paper"):
        rounds = _play(SWLBSDA(window=WINDOW, naive_leader=rule == "naive"))
        for i, now in enumerate(rounds):
            duels = {duel.arm: duel.won for duel in now.duels}
            for arm in range(len(REWARDS)):
                row: dict[str, Any] = {
                    "rule": rule,
                    "round": now.round,
                    "arm": arm,
                    "in_window": sum(arm in past.arms for past in rounds[max(0, i - WINDOW) : i]),
                    "leads": arm == now.leader,
                    "won": duels.get(arm),
                    "pulled": arm in now.arms,
                }
                rows.append(row)
    return pd.DataFrame(rows).astype({"won": "boolean"})


def _play(policy: SWLBSDA) -> list[Explanation]:
    """All rounds, up to the one after the takeover."""
    bandit = Bandit(policy, len(REWARDS), seed=SEED)
    left = [iter(rewards) for rewards in REWARDS]
    rounds: list[Explanation] = []
    while len(rounds) <= ROUND:
        decision = bandit.ask()
        now = bandit.explain()
        if now.round > len(rounds):
            rounds.append(now)
        bandit.tell(decision, next(left[int(decision.arm)]))
    return rounds
