"""What `explain` and `summary` say of policies that wrap others, or forget."""

import os
import subprocess
import sys

import numpy as np
import pytest

import lastblock as lb
from trials import trial

# Uncompiled, so that all policies are quick. Before each decision the rule of `Restarting` says
# whether the longest silent arm is due; at every moment the rewards since the restart are known.
_ALL = """
import math, random, sys, warnings
import numpy as np
import lastblock as lb
from lastblock.core.describing import held
from lastblock.core.verdicts import LOOKED, REASONS
warnings.simplefilter("error")

def is_look(s, alertness):
    if s.due:
        return False
    silent = (s.round + 1 - s.asked[: s.arms].min()) * alertness
    return silent * silent > (s.round + 1 - s.since) * (s.arms - 1)

alertness = float(sys.argv[1])
for cls in list(lb.POLICIES.values()):
    wrapped = cls.examples()[0]
    bandit = lb.Bandit(lb.Restarting(wrapped, lb.MeanShift(0.0), alertness), 3, seed=1)
    world = random.Random(1)
    since, restarts, looks, means = [[], [], []], 0, 0, 0
    for t in range(240 if alertness < 1.0 else 160):
        # The first decision is planned when the bandit is made, all others when they are asked for.
        look = t > 0 and is_look(bandit._desk.live.s, alertness)
        decision = bandit.ask()
        said = bandit.explain()
        words = f"was not chosen by {wrapped}: {REASONS[LOOKED]}."
        assert (words in str(said)) == look, (cls, t, str(said))
        if look:
            assert said.flagged == (decision.arm,) and not said.duels and not said.index
        elif cls is lb.UCB1 and bandit._desk.live.s.inner.round == 1:
            assert "The first round of UCB1(" in str(said) and not said.index and not said.flagged
        looks += look
        level = 0.9 if (decision.arm + t // 80) % 2 else 0.1
        reward = float(world.random() < level)
        bandit.tell(decision, reward)
        since[decision.arm].append(reward)
        if bandit._desk.live.s["restarts"] > restarts:
            restarts += 1
            since = [[], [], []]
            new = bandit.summary()
            assert new.leader is None
            assert all((row.held, row.held_mean) == (0.0, None) for row in new.arms), (cls, new)
        if t % 9 == 0:
            summary = bandit.summary()
            for row, own in zip(summary.arms, since):
                if row.held_mean is not None and row.held == len(own) > 0:
                    means += restarts > 0
                    close = math.isclose(row.held_mean, np.mean(own), abs_tol=1e-9)
                    assert close, (cls, t, summary)
                if restarts > 0 and row.held is None:
                    assert row.held_mean is None and summary.leader is None, (cls, t, summary)
    assert alertness < 1.0 or min(bandit.pulls.values()) > 3, cls  # nobody is neglected
    print(cls.__name__, looks, restarts, means)

if alertness > 1.0:
    sys.exit()  # once is enough for what follows

# Policies that restart by themselves, one arm or all: what was held and is not is forgotten.
for policy in (
    lb.GLRKLUCB(exploration=0.1, delta=0.1),
    lb.CUSUMUCB(threshold=2.0, exploration=0.1, warmup=5),
    lb.MUCB(window=20, threshold=4.0, exploration=0.3),
    lb.OracleRestart(lb.UCB1(), changes=[150]),
    lb.OracleRestart(lb.LBSDA(), changes=[150]),
    lb.AdSwitch(horizon=400),
):
    bandit = lb.Bandit(policy, 3, seed=2)
    own, forgotten = [[], [], []], 0
    for t in range(400):
        decision = bandit.ask()
        reward = (decision.arm + t // 150) % 3 / 2 * 15 / 16 + t % 2 / 16
        before = [held(policy, bandit._desk.live.s, k).size for k in range(3)]
        bandit.tell(decision, reward)
        own[decision.arm].append(reward)
        after = [held(policy, bandit._desk.live.s, k).size for k in range(3)]
        was_forgotten = False
        for k in range(3):
            if after[k] == 0 or before[k] == 0:
                was_forgotten |= len(own[k]) > 1
                own[k] = [reward] if k == decision.arm and after[k] > 0 else []
        forgotten += was_forgotten
        assert after == [len(rewards) for rewards in own], (policy, t, after)
        if not was_forgotten and t % 8:
            continue
        for k, row in enumerate(bandit.summary().arms):
            assert row.held == len(own[k]), (policy, t, row)
            known = None if len(own[k]) == 0 else np.mean(own[k])
            if isinstance(policy, lb.AdSwitch) and row.pulls > len(own[k]):
                known = None
            if known is None:
                assert row.held_mean is None, (policy, t, row)
            else:
                close = math.isclose(row.held_mean, known, abs_tol=1e-9)
                assert close, (policy, t, row)
    assert forgotten > 0 or isinstance(policy, lb.AdSwitch), policy

# In units of the rewards, though the wrapped policy knows but 0 and 1. The coins are sure.
bandit = lb.Bandit(lb.Binarized(lb.SWLBSDA(window=60), low=-2.0, high=2.0), 3, seed=1)
told = [[], [], []]
for t in range(400):
    decision = bandit.ask()
    reward = 2.0 if (t + decision.arm) % (decision.arm + 2) else -2.0
    bandit.tell(decision, reward)
    told[decision.arm].append(reward)
for row, own in zip(bandit.summary().arms, told):
    assert 0 < row.held <= 60 and row.pulls == len(own)
    assert math.isclose(row.mean, np.mean(own)), row
    assert math.isclose(row.held_mean, np.mean(own[len(own) - int(row.held) :])), row
    assert -2.0 <= row.held_low < row.held_mean < row.held_high <= 2.0, row
"""


@pytest.fixture(scope="module", params=[pytest.param(0.5, marks=trial), 5.0])
def played(request):
    done = subprocess.run(
        [sys.executable, "-c", _ALL, str(request.param)],
        env={**os.environ, "NUMBA_DISABLE_JIT": "1", "PYTHONPATH": os.pathsep.join(sys.path)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return {name: tuple(map(int, rest)) for name, *rest in map(str.split, done.stdout.splitlines())}


def test_any_policy_can_be_restarted_and_is_told_truly(played):
    assert set(lb.POLICIES) <= set(played)
    assert sum(looks > 0 for looks, *_ in played.values()) > len(played) / 2
    assert sum(restarts > 0 for _, restarts, *_ in played.values()) > len(played) / 2
    for name in ("UCB1", "KLUCB", "IMED", "LBSDA", "BESA", "Giro", "NPTS", "PHE", "GLRKLUCB"):
        _, restarts, means = played[name]
        assert restarts > 0, name
        assert means > 0, name


def test_discounted_means():
    bandit = lb.Bandit(lb.DUCB(discount=0.9), 3, seed=1)
    weights, sums = np.zeros(3), np.zeros(3)
    for t in range(60):
        decision = bandit.ask()
        reward = [0.2, 0.5, 0.8][decision.arm] + t % 7 / 10
        bandit.tell(decision, reward)
        weights *= 0.9
        sums *= 0.9
        weights[decision.arm] += 1.0
        sums[decision.arm] += reward
    summary = bandit.summary()
    assert [row.held for row in summary.arms] == pytest.approx(weights)
    assert [row.held_mean for row in summary.arms] == pytest.approx(sums / weights)
    assert [row.held_low for row in summary.arms] == [-np.inf] * 3  # there is no sum of squares
    assert summary.leader == int(np.argmax(sums / weights))
