"""Why a last-block policy pulled the arms of a round and not others, read from its record.

This is plain Python, which runs only when `Bandit.explain` is called.
"""

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from lastblock.core.duels import is_owed
from lastblock.core.history import block_sum
from lastblock.core.layout import NOBODY
from lastblock.core.protocol import Record
from lastblock.kernels.jit import plain

FORCED = "forced"
WON = "won"
LOST = "lost"
WAITS = "waits"
FLAGGED = "flagged"
PROBED = "probed"
FULL = "full"
DOUBTED = "doubted"
SILENT = "silent"
LEVEL = "level"
LOOKED = "looked"
BEGUN = "begun"
QUEUED = "queued"

REASONS = {
    FORCED: "it is under-explored and pulled without a duel",
    WON: "its mean is at least that of these last rewards of the leader",
    LOST: "its mean is below that of these last rewards of the leader",
    WAITS: "it won, but as many of its decisions are out as it has had rewards: it waits for some",
    FLAGGED: "it lost, but a diversity flag wakes it: nobody has looked at it for long",
    PROBED: "it lost, but is looked at again: it was silent for long, or has kept up since",
    FULL: "both have more rewards than a duel looks back at, and its last ones are no better",
    DOUBTED: "it won, but by luck: all its rewards together say that it is worse than the leader",
    SILENT: "none of its rewards is there, so it cannot duel",
    LEVEL: "it has as many pulls as the leader and is not compared (the authors' rule)",
    LOOKED: "it is looked at since it has been silent for long",
    BEGUN: "the wrapped policy begins as if new, with every arm once",
    QUEUED: "the wrapped policy planned it before, as part of a round",
}


class Verdict(NamedTuple):
    """An arm beside the leader: why it was pulled or not, and the two blocks of the duel."""

    arm: int
    reason: str
    length: int
    mean: float
    leader_length: int
    leader_mean: float


Blocks = Callable[[Record, int, int], tuple[int, float, int, float]]
"""The duel of an arm and the leader: the lengths of both blocks, each with its mean."""


def judge(
    s: Record, pulls: Sequence[int], *, skips_level: bool = False, blocks: Blocks | None = None
) -> list[Verdict]:
    """Go through a planned round again: `s` is the record as it was then.

    The queue says who was pulled; who is in it without being owed a pull or winning its duel was
    woken by a diversity flag. Sums that later rewards have pushed out of the ring are NaN; then the
    reason is WON for an arm that was pulled, otherwise LOST. `blocks` is for a policy without a
    history.
    """
    compare = blocks or _last_blocks
    leader = int(s.leader)
    if leader == NOBODY:
        return []
    round_arms = s.queue[: s.queued].tolist()
    verdicts = []
    for k in range(s.arms):
        if k == leader:
            continue
        own, mean, lead, leader_mean = compare(s, k, leader)
        loses = mean < leader_mean or lead == 0
        if plain(is_owed)(s, pulls, k):
            reason = FORCED
        elif own == 0:
            reason = SILENT
        elif skips_level and pulls[k] >= pulls[leader]:
            reason = LEVEL
        elif k in round_arms:
            reason = FLAGGED if loses else WON
        elif s.out[k] >= pulls[k] and mean >= leader_mean:
            reason = WAITS
        else:
            reason = LOST
        verdicts.append(Verdict(k, reason, own, mean, lead, leader_mean))
    return verdicts


def _last_blocks(s: Record, arm: int, leader: int) -> tuple[int, float, int, float]:
    h = s.history
    own = int(h.kept[arm])
    lead = min(own, int(h.kept[leader]))
    return own, _mean(h, arm, own), lead, _mean(h, leader, lead)


def _mean(h: Any, arm: int, n: int) -> float:
    return plain(block_sum)(h, arm, n) / n if n > 0 else float("nan")
