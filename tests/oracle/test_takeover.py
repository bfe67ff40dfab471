"""The passive takeover of the paper's figure 1, as the lab shows it."""

from itertools import pairwise
from statistics import mean

import pytest

from lastblock.lab.takeover import REWARDS, ROUND, WINDOW, takeover
from oracle.swlbsda import SWLBSDA

RULES = ("naive", "paper")


@pytest.fixture(scope="module")
def played():
    """The rounds of each rule: leader, arms pulled, pulls in the window."""
    rounds = {}
    for rule, frame in takeover().groupby("rule"):
        rounds[rule] = [
            (
                next(iter(now["arm"][now["leads"]]), None),
                now["arm"][now["pulled"]].tolist(),
                now["in_window"].tolist(),
            )
            for _, now in frame.groupby("round")
        ]
    return rounds


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("rule", RULES)
def test_the_twin_plays_the_same_whatever_its_luck(played, rule, seed):
    twin = SWLBSDA(len(REWARDS), seed, WINDOW, naive_leader=rule == "naive")
    given = [iter(rewards) for rewards in REWARDS]
    while len(twin.rounds) <= ROUND or twin.queue:
        arm = twin.ask()
        twin.tell(arm, next(given[arm]))
    rounds = [(r.leader, sorted(r.arms)) for r in twin.rounds]
    assert rounds == [(leader, arms) for leader, arms, _ in played[rule]]


def test_windows_hold_what_was_pulled(played):
    for rounds in played.values():
        for r, (_, _, held) in enumerate(rounds):
            window = [arms for _, arms, _ in rounds[max(0, r - WINDOW) : r]]
            assert held == [sum(k in arms for arms in window) for k in range(3)]


def test_an_arm_takes_the_lead_that_won_nothing(played):
    """As in the paper: arm 1 leads, level with arm 2, and loses a pull and a duel with arm 3."""
    naive, paper = played["naive"], played["paper"]
    assert naive[:ROUND] == paper[:ROUND]
    assert naive[ROUND - 1] == (0, [2], [2, 2, 1])
    assert 0 in naive[ROUND - 1 - WINDOW][1]  # the pull that will be forgotten
    first, second, third = rewards_in_window(naive, ROUND)
    assert mean(second) < mean(first)
    assert mean(third) > first[-1]  # it is pulled since it won, not only since it has one pull
    assert naive[ROUND][::2] == (1, [1, 2, 1])  # takes the lead, though not pulled in the round
    assert paper[ROUND][::2] == (0, [1, 2, 1])


def rewards_in_window(rounds, number):
    """Of each arm, before the round."""
    given = [iter(rewards) for rewards in REWARDS]
    recent = [[] for _ in REWARDS]
    for r, (_, arms, _) in enumerate(rounds[: number - 1], start=1):
        for arm in arms:
            reward = next(given[arm])
            if r >= number - WINDOW:
                recent[arm].append(reward)
    return recent


def test_the_papers_rule_lets_nobody_lead_who_was_not_pulled(played):
    passive = dict.fromkeys(RULES, 0)
    for rule, rounds in played.items():
        for before, now in pairwise(rounds[1:]):
            passive[rule] += now[0] != before[0] and now[0] not in before[1]
    assert passive == {"naive": 1, "paper": 0}
