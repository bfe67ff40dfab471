"""Several policies on one log, figures, plain data, and environments from logs."""

import json
import math

import numpy as np
import pytest
from colour_logs import LABELS, MEANS, POLICY, make_columns, new_replay

import lastblock as lb

ONE, OTHER = POLICY, lb.Thompson()


@pytest.fixture(scope="module")
def replay():
    return new_replay()


@pytest.fixture(scope="module")
def both(replay):
    return replay.evaluate([ONE, OTHER], replications=3, bootstrap=100, seed=5)


def same(one, other):
    return all(
        np.array_equal(getattr(one, name), getattr(other, name))
        for name in ("matched", "reward", "pulls", "errors", "resampled")
    )


# Several policies.


def test_several_policies_are_each_evaluated_as_if_alone(replay, both):
    assert list(both) == ["LBSDALM", "Thompson"]
    for label, policy in (("LBSDALM", ONE), ("Thompson", OTHER)):
        alone = replay.evaluate(policy, replications=3, bootstrap=100, seed=5)
        assert same(both[label], alone)
    named = replay.evaluate({"old": ONE, "new": OTHER}, replications=3, bootstrap=100, seed=5)
    assert list(named) == ["old", "new"]
    assert same(named["new"], both["Thompson"])
    assert repr(named).startswith("<Evaluations: old: 0.")
    like = replay.evaluate((ONE, lb.LBSDALM(reference=True)), seed=1)
    assert list(like) == [str(ONE), str(lb.LBSDALM(reference=True))]
    fresh = replay.evaluate([ONE, ONE], bootstrap=5)  # without a seed, they still share one
    assert same(*fresh.values())


def test_differences_are_paired(both):
    (difference,) = both.differences().values()
    one, other = both["LBSDALM"], both["Thompson"]
    gaps = other.resampled - one.resampled
    assert (difference.policy, difference.baseline) == ("Thompson", "LBSDALM")
    assert difference.value == other.estimate - one.estimate
    assert difference.standard_error == pytest.approx(gaps.std(ddof=1))
    assert difference.interval == pytest.approx(np.quantile(gaps, [0.025, 0.975]))
    assert difference.ahead == (gaps > 0).mean() + (gaps == 0).mean() / 2
    apart = math.hypot(one.standard_error, other.standard_error)
    assert difference.standard_error < 0.95 * apart  # common logs save variance
    back = both.differences(baseline="Thompson", confidence=0.9)["LBSDALM"]
    assert back.value == -difference.value
    assert back.interval == pytest.approx(np.quantile(-gaps, [0.05, 0.95]))
    assert repr(back).startswith("<LBSDALM less Thompson: ")
    assert "0.9 interval [" in repr(back)


# Plain data and figures.


def test_plain_data(replay, both):
    plain = both.to_dict()
    assert json.loads(json.dumps(plain, allow_nan=False)) == plain
    one = both["LBSDALM"]
    assert plain["LBSDALM"]["policy"] == str(ONE)
    assert plain["LBSDALM"]["estimate"] == one.estimate
    assert plain["LBSDALM"]["interval"] == list(one.interval())
    assert plain["LBSDALM"]["arms"] == [*LABELS]
    single = replay.evaluate(ONE, seed=1, times=[1]).to_dict()  # no pass to compare with: NaN
    assert json.loads(json.dumps(single, allow_nan=False)) == single
    assert single["seed_error"] is None
    (difference,) = both.differences().values()
    assert json.dumps(difference.to_dict(), allow_nan=False)
    assert difference.to_dict()["interval"] == list(difference.interval)


def test_figures(both, tmp_path):
    one = both["Thompson"]
    (panel,) = one.plot(tmp_path / "one.png").axes
    assert (tmp_path / "one.png").read_bytes().startswith(b"\x89PNG")
    line = max((line for line in panel.lines), key=lambda line: len(line.get_xdata()))
    assert line.get_ydata()[-1] == one.curve()[-1]
    texts = [text.get_text() for text in panel.texts]
    assert f"Thompson  {one.estimate:.4g}"[:14] in [text[:14] for text in texts]
    assert any(text.startswith("best arm  0.776") for text in texts)
    figure = both.plot(tmp_path / "both.svg", width=3.25)
    assert figure.get_figwidth() == 3.25
    assert sum(len(line.get_xdata()) > 20 for line in figure.axes[0].lines) == 2
    with pytest.raises(ValueError, match=r"use one of .png"):
        one.plot("one.jpg")
    assert not (tmp_path / "one.jpg").exists()


# Environments.


def test_an_environment_from_a_log(replay):
    environment = replay.environment()
    np.testing.assert_allclose(environment.means(0), list(replay.means.values()))
    run = lb.simulate(ONE, environment, horizon=len(replay), replications=200, seed=1)
    assert run.mean()[-1] < 0.3 * len(replay) * 0.3
    assert all(isinstance(arm, lb.Bernoulli) for arm in environment.phases[0])


def test_periods():
    """Arms change places in the middle."""
    arms, rng = np.searchsorted(LABELS, make_columns(900)["colour"]), np.random.default_rng(3)
    means = np.where(np.arange(900)[:, None] < 450, MEANS, MEANS[::-1])[np.arange(900), arms]
    replay = lb.Replay((arms, (rng.random(900) < means).astype(float)))
    halves = replay.environment(periods=2)
    assert halves.changes == (450,)
    assert halves.means(0).argmax() == 2
    assert halves.means(450).argmax() == 0
    given = replay.environment(periods=[0, 450])
    assert str(given) == str(halves)
    assert isinstance(replay.environment(), lb.Stationary)


def test_rewards_of_any_kind_are_drawn_as_they_were():
    log = (["a", "a", "a", "b", "b", "b"], [1.5, 2.5, 2.5, 7.0, 7.0, 7.0])
    (first, second) = lb.Replay(log).environment().phases[0]
    assert first == lb.Discrete((1.5, 2.5), (1 / 3, 2 / 3))
    assert second == lb.Dirac(7.0)
    coins = lb.Replay((["a", "a", "b", "b"], [0.0, 0.0, 1.0, 1.0])).environment()
    assert coins.phases[0] == (lb.Bernoulli(0.0), lb.Bernoulli(1.0))


def test_arms_have_the_self_normalised_means_of_the_log():
    log = (["a", "b", "b", "a", "a"], [1.0, 0.0, 2.0, 3.0, 0.5], [0.5, 0.25, 0.75, 0.8, 0.1])
    replay = lb.Replay(log)
    found = replay.environment().means(0)
    assert found == pytest.approx([replay.estimate(arm).snips.value for arm in "ab"])
