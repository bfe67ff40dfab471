"""The UCB policies against closed forms.

Where rewards are constant a policy is a deterministic machine, up to the order of the arms, and its
formulas say on paper what it must do.
"""

import math

import numpy as np
import pytest

import lastblock as lb
from trials import trial


def constants(*values):
    return lb.Stationary([lb.Dirac(value) for value in values])


def arms_played(policy, gap, horizon):
    return lb.trace(policy, constants(1.0, 1.0 - gap), horizon=horizon, seed=1).arms


def balance(total, gap, width):
    """The n with gap = width/√n − width/√(total − n): both indices are equal there."""
    low, high = 1e-9, total / 2.0
    for _ in range(200):
        n = 0.5 * (low + high)
        if width / math.sqrt(n) - width / math.sqrt(total - n) > gap:
            low = n
        else:
            high = n
    return low


def test_ucb1_balances_its_indices():
    horizon, gap, scale = 20_000, 0.2, 0.7
    arms = arms_played(lb.UCB1(scale=scale), gap, horizon)
    expected = balance(horizon, gap, scale * math.sqrt(math.log(horizon)))
    assert abs(np.sum(arms == 1) - expected) <= 1.0


@pytest.mark.parametrize("reference", [False, True])
def test_swucb_balances_its_indices_within_the_window(reference):
    horizon, gap, scale, window = 20_000, 0.3, 0.7, 1000
    policy = lb.SWUCB(window=window, scale=scale, reference=reference)
    arms = arms_played(policy, gap, horizon)
    logarithm = math.log(horizon if reference else window)
    expected = balance(window, gap, scale * math.sqrt(logarithm))
    # Pulls leave the window some time after they were needed, hence one or two too many.
    assert abs(np.sum(arms[-window:] == 1) - expected) <= 2.0


def test_ducb_balances_its_indices():
    horizon, gap, scale, discount = 20_000, 0.3, 0.7, 0.999
    arms = arms_played(lb.DUCB(discount=discount, scale=scale), gap, horizon)
    total = 1.0 / (1.0 - discount)
    expected = balance(total, gap, scale * math.sqrt(math.log(total)))
    weights = discount ** np.arange(horizon)[::-1]
    assert abs(np.sum(weights[arms == 1]) - expected) <= 1.0


def test_rawucb_pulls_the_worse_arm_a_power_of_two_times():
    # Its index only falls when its longest window doubles.
    horizon, gap = 20_000, 0.2
    arms = arms_played(lb.RAWUCB(sigma=0.5, alpha=1.4), gap, horizon)
    worse = int(np.sum(arms == 1))
    width = 0.5 * math.sqrt(2.0 * 1.4 * math.log(horizon))
    window = 1
    while width / math.sqrt(window) > gap + width / math.sqrt(8192):
        window *= 2
    assert worse == window


@trial
def test_rawucb_with_all_windows_balances_its_indices():
    # Without noise the longest window has the least bound.
    horizon, gap = 20_000, 0.2
    arms = arms_played(lb.RAWUCB(sigma=0.5, alpha=1.4, all_windows=True), gap, horizon)
    expected = balance(horizon, gap, 0.5 * math.sqrt(2.0 * 1.4 * math.log(horizon)))
    assert abs(np.sum(arms == 1) - expected) <= 1.0


def test_fewa_pulls_the_worse_arm_until_a_window_drops_it():
    # It is dropped on the window of h rewards once its gap exceeds 2σ √(2α log t / h).
    horizon, gap = 2000, 0.2
    arms = arms_played(lb.FEWA(sigma=0.5, alpha=1.0, all_windows=True), gap, horizon)
    expected = 8.0 * 0.5**2 * math.log(horizon) / gap**2
    assert abs(np.sum(arms == 1) - expected) <= 1.0


def lower_rewards(policy, change, has_restarted):
    """How many rewards below the level of the better arm it takes until the policy restarts."""
    bandit = lb.Bandit(policy, 2, seed=1, room=4)
    low = 0
    for t in range(change + 500):
        decision = bandit.ask()
        is_low = decision.arm == 0 and t >= change
        bandit.tell(decision, 0.6 if is_low else 1.0 - decision.arm)
        low += is_low
        if low > 0 and has_restarted(bandit._desk.live.s):
            break
    return low


def test_cusum_delay():
    # After the reference level is known, each lower reward moves the walk by δ − ε.
    policy = lb.CUSUMUCB(threshold=3.0, exploration=0.0, drift=0.05, warmup=20)
    low = lower_rewards(policy, 200, lambda s: s["pulls"][0] == 0)
    assert low == math.ceil(3.0 / (0.4 - 0.05))


def test_mucb_delay():
    # The newer half of the window holds m lower rewards: the sums differ by mδ.
    policy = lb.MUCB(window=100, threshold=10.1, exploration=0.1)
    low = lower_rewards(policy, 1000, lambda s: s["age"] == 0)
    assert low == math.floor(10.1 / 0.4) + 1


def test_adswitch_evicts_when_its_condition_says():
    # Both arms take turns until gap > √(C₁ log T / (n − 1)).
    horizon, gap, eviction = 10**9, 0.8, 4.0
    policy = lb.AdSwitch(horizon=horizon, eviction=eviction)
    arms = arms_played(policy, gap, 1000)
    repeats = np.flatnonzero(arms[1:] == arms[:-1])
    worse_pulls = np.sum(arms[: repeats[0] + 1] == 1)
    assert worse_pulls == math.floor(eviction * math.log(horizon) / gap**2) + 2


@pytest.mark.parametrize("policy", [lb.DUCB(discount=0.5, scale=1e-3), lb.DUCB(discount=0.9)])
def test_ducb_counts_do_not_underflow(policy):
    # The worse arm is so bad that no bonus below that of a forgotten arm brings it back.
    played = lb.trace(policy, constants(0.0, -1e180), horizon=100_000, seed=1)
    again = np.flatnonzero(played.arms == 1)
    assert 1 < again.size < 200
