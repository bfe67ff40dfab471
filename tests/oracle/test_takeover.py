"""The passive takeover of the paper's figure 1, as the lab shows it."""

from itertools import pairwise

import pytest

import lastblock as lb
from lastblock.lab.paper.takeover import REWARDS, ROUND, SEED, WINDOW, takeover
from oracle.rounds import last, mean
from oracle.twin import twin_of

RULES = ("naive", "paper")


@pytest.fixture(scope="module")
def frame():
    return takeover()


@pytest.fixture(scope="module")
def played(frame):
    """The rounds of each rule: leader, arms pulled, pulls in the window."""
    return {
        rule: [
            (
                next(iter(now["arm"][now["leads"]]), None),
                now["arm"][now["pulled"]].tolist(),
                now["in_window"].tolist(),
            )
            for _, now in rounds.groupby("round")
        ]
        for rule, rounds in frame.groupby("rule")
    }


@pytest.mark.parametrize("rule", RULES)
def test_the_twin_plays_the_same(frame, played, rule):
    """Leaders, pulls and windows, and who won its duel."""
    policy = lb.SWLBSDA(WINDOW, naive_leader=rule == "naive")
    twin = twin_of(policy, len(REWARDS), seed=SEED)
    given = [iter(rewards) for rewards in REWARDS]
    windows = []
    while len(twin.rounds) <= ROUND or twin.queue:
        if not twin.queue:
            twin.round += 1  # the window before the round that is planned next
            windows.append(twin.recent())
            twin.round -= 1
        arm = twin.ask()
        twin.tell(arm, next(given[arm]))
    rounds = [(r.leader, sorted(r.arms)) for r in twin.rounds]
    assert rounds == [(leader, arms) for leader, arms, _ in played[rule]]
    assert [list(map(len, window)) for window in windows] == [held for *_, held in played[rule]]
    rows = frame[(frame["rule"] == rule) & frame["won"].notna()]
    assert len(rows) > 10
    for row in rows.itertuples():
        window = windows[row.round - 1]
        mine, leader = window[row.arm], window[played[rule][row.round - 1][0]]
        assert row.won == (mean(mine) >= mean(last(leader, len(mine))))


def test_an_arm_takes_the_lead_that_won_nothing(frame, played):
    """As in the paper: arm 1 leads, level with arm 2, and loses a pull and a duel with arm 3."""
    naive, paper = played["naive"], played["paper"]
    assert naive[:ROUND] == paper[:ROUND]
    assert naive[ROUND - 1] == (0, [2], [3, 3, 2])
    assert 0 in naive[ROUND - 1 - WINDOW][1]  # the pull that will be forgotten
    duels = frame[(frame["rule"] == "naive") & (frame["round"] == ROUND)].set_index("arm")["won"]
    assert duels.dropna().to_dict() == {1: False, 2: True}
    assert naive[ROUND][::2] == (1, [2, 3, 2])  # takes the lead, though not pulled in the round
    assert paper[ROUND][::2] == (0, [2, 3, 2])


def test_the_papers_rule_lets_nobody_lead_who_was_not_pulled(played):
    passive = dict.fromkeys(RULES, 0)
    for rule, rounds in played.items():
        for before, now in pairwise(rounds[1:]):
            passive[rule] += now[0] != before[0] and now[0] not in before[1]
    assert passive == {"naive": 1, "paper": 0}
