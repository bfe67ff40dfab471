"""A passive leadership takeover, played by a live bandit (the paper's figure 1).

With a window, another arm can become the most pulled one without winning a duel, because the window
forgets old pulls of the leader. The paper's rule for the leader prevents this.
"""

from typing import TYPE_CHECKING, Any

from lastblock.live.bandit import Bandit
from lastblock.live.explanation import Explanation
from lastblock.policies.swlbsda import SWLBSDA

if TYPE_CHECKING:
    import pandas as pd

WINDOW = 4
ROUND = 11
"""The round in which the leader loses its duel with one arm and the lead to another."""

SEED = 0
"""In round 8 two arms have as many pulls and the same sum; the seed decides which of them leads."""

REWARDS = (
    (7, 7, 3, 9, 6, 1, 7, 9),
    (8, 8, 4, 8, 2, 3, 1, 7),
    (5, 5, 4, 8, 2, 0, 0, 9),
)
"""The rewards of each arm, pull after pull."""


def takeover() -> "pd.DataFrame":
    """Play SW-LB-SDA on the same rewards with the naive rule for the leader and with the paper's.

    Returns
    -------
    DataFrame
        A row for each rule ("naive" or "paper"), round and arm, with the columns in_window (pulls
        of the arm in the four rounds before), leads (whether the arm is the leader), won (whether
        it won its duel with the leader; missing if there was none) and pulled (whether it was
        pulled in this round). Leader, duels and pulls are those that the bandit's `explain`
        reports. The rules first differ in round 12.
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
    """Play up to the round after the takeover; return the explanation of every round."""
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
