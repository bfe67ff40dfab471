"""One bandit of a fleet as an ordinary bandit."""

import math

import numpy as np

from lastblock.core import resizing
from lastblock.core.last_round import LEADER, SINCE
from lastblock.core.layout import record_of
from lastblock.core.marks import fill_levels
from lastblock.core.protocol import Record
from lastblock.core.rounds import leader_of
from lastblock.fleet.plan import FleetPlan
from lastblock.live.bandit import Bandit, bandit_on
from lastblock.live.journalled import JournalledDesk
from lastblock.live.state import Live


def bandit_of(plan: FleetPlan, s: Record, number: int) -> Bandit[int]:
    """Return a bandit that continues as bandit `number` of a fleet would, whose record is `s`.

    A fleet does not number its decisions, so those that are out get ids in the order of their arms.
    It does not note the means of rewards or how a round was planned, so these are not known.
    """
    arms, policy = plan.arms, plan.policy
    live = Live(policy, arms, depth=plan.horizon if plan.grows else None)
    desk = JournalledDesk(live, range(arms))
    if s.round == 0:
        live.start(arms, plan.key, number)
    else:
        wider = record_of(policy, s.queue.size + 1, plan.horizon, counts=True)
        resizing.keep(s, live.s, wider, list(range(arms)))
        fill_levels(s, live.s)
        told, unanswered = s.told[:arms], s.unanswered[:arms]
        live.told[:arms, 0] = told
        live.told[:arms][told > 0, 1:] = math.nan
        first = int(told.sum())
        desk.out = dict(enumerate(np.repeat(np.arange(arms), unanswered).tolist(), first))
        desk.next_id = first + len(desk.out)
        live.planned[[LEADER, SINCE]] = leader_of(live.s), desk.next_id
    live.compile_soon()
    return bandit_on(desk)
