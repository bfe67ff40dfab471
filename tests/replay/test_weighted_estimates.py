"""Estimates by propensities: by hand, their intervals, and targets."""

import json
import math

import numpy as np
import pytest
from scipy import stats

import lastblock as lb
from trials import trial


def test_weighted_estimates_by_hand():
    replay = lb.Replay((["a", "b", "b", "a"], [1.0, 0.0, 2.0, 3.0], [0.5, 0.25, 0.75, 0.8]))
    found = replay.estimate({"a": 0.4, "b": 0.6})
    weights = [0.8, 2.4, 0.8, 0.5]
    worth = [0.8, 0.0, 1.6, 1.5]
    assert found.ips.value == pytest.approx(3.9 / 4)
    assert found.ips.standard_error == pytest.approx(
        math.sqrt(sum((w - 0.975) ** 2 for w in worth) / 3 / 4)
    )
    mean = 3.9 / 4.5
    residuals = [0.8 * (1 - mean), 2.4 * (0 - mean), 0.8 * (2 - mean), 0.5 * (3 - mean)]
    assert found.snips.value == pytest.approx(mean)
    assert found.snips.standard_error == pytest.approx(
        math.sqrt(sum(r * r for r in residuals)) / 4.5
    )
    assert found.effective == pytest.approx(4.5**2 / sum(w * w for w in weights))
    assert found.largest_weight == pytest.approx(2.4)
    assert found.events == 4
    reach = stats.t.ppf(0.75, 3) * found.ips.standard_error  # fewer than 3 degrees count as 3
    ends = (found.ips.value - reach, found.ips.value + reach)
    assert found.ips.interval(0.5) == pytest.approx(ends, rel=0.03)
    assert found.ips.to_dict()["interval"] == list(found.ips.interval())
    assert repr(found).startswith("<Estimate: IPS 0.975 ± 0.37, SNIPS 0.8667 ± ")
    assert repr(found).endswith("4 events worth 2.8>")


def coverage(seed, draw, truth, logs=400):
    """How often the intervals of IPS and SNIPS hold the truth."""
    rng, held = np.random.default_rng(seed), np.zeros(2)
    for _ in range(logs):
        arms, rewards, chances = draw(rng)
        found = lb.Replay((arms, rewards, chances), arms=["a", "b"]).estimate("a")
        for i, (low, high) in enumerate((found.ips.interval(), found.snips.interval())):
            held[i] += low <= truth <= high
    return held / logs


def rare_clicks(rng):
    """500 events of which some 50 count, with 10 % clicks."""
    arms = np.where(rng.random(500) < 0.1, "a", "b")
    return arms, rng.random(500) < 0.1, np.where(arms == "a", 0.1, 0.9)


def heavy_tails(rng):
    """Lognormal rewards, some 40 events that count."""
    arms = np.where(rng.random(400) < 0.1, "a", "b")
    return arms, np.exp(rng.normal(-0.5, 1.0, 400)), np.where(arms == "a", 0.1, 0.9)


def unlike_weights(rng):
    """300 events, weights from 2 to 50, worth some 18 events."""
    chance = rng.choice([0.02, 0.1, 0.5], 300, p=[0.3, 0.4, 0.3])
    shown = rng.random(300) < chance
    return np.where(shown, "a", "b"), rng.random(300) < 0.3, np.where(shown, chance, 1.0 - chance)


@pytest.mark.parametrize(
    ("draw", "truth", "ips", "snips"),
    [
        (rare_clicks, 0.1, 0.872, 0.907),
        pytest.param(heavy_tails, 1.0, 0.914, 0.891, marks=trial),
        pytest.param(unlike_weights, 0.3, 0.818, 0.872, marks=trial),
    ],
)
def test_intervals_hold_the_truth_as_often_as_the_page_says(draw, truth, ips, snips):
    """docs/how-to/replay-a-log.md has these shares of 95 % intervals, from 4000 logs each."""
    found = coverage(1, draw, truth)
    for share, said in zip(found, (ips, snips), strict=True):
        error = math.sqrt(said * (1.0 - said) * (1 / 400 + 1 / 4000))
        assert abs(share - said) < 3 * error


def test_no_reward_at_all_has_no_width():
    replay = lb.Replay((["a", "b"] * 20, np.zeros(40)), propensity=0.5)
    assert replay.estimate("a").ips.interval() == (0.0, 0.0)


def test_ways_to_name_a_target():
    replay = lb.Replay((["a", "b", "b", "a"], [1.0, 0.0, 2.0, 3.0], [0.5, 0.25, 0.75, 0.8]))
    always = repr(replay.estimate("b"))
    assert replay.estimate("b").ips.value == pytest.approx(2 / 0.75 / 4)
    assert replay.estimate("b").snips.value == pytest.approx((2 / 0.75) / (4 + 1 / 0.75))
    for target in ({"b": 1.0}, [0.0, 1.0], np.array([[0, 1]] * 4)):
        assert repr(replay.estimate(target)) == always
    assert repr(replay.estimate(logged=[0, 1, 1, 0])) == always
    own = replay.estimate()
    assert own.ips.value == own.snips.value == 1.5
    assert own.effective == 4.0
    assert lb.Replay((["a", "b"], [1.0, 0.0])).estimate().ips.value == 0.5  # no weights needed
    assert lb.Replay(([7, 8], [1.0, 0.0], [0.5, 0.5])).estimate(np.int64(7)).snips.value == 1.0
    one = lb.Replay((["a"], [1.0], [0.5]), arms=["a", "b"]).estimate("a")
    assert math.isnan(one.snips.standard_error)
    plain = one.to_dict()
    assert json.loads(json.dumps(plain, allow_nan=False)) == plain
    assert plain["ips"] == {"value": 2.0, "standard_error": None, "interval": [None, None]}
    assert (plain["events"], plain["left_out"], plain["reason"]) == (1, 0, "")
