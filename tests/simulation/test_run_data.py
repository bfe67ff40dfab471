"""Runs as plain data and as figures."""

import json

import pytest

import lastblock as lb

WORLD = lb.Piecewise(
    {0: [lb.Bernoulli(0.2), lb.Bernoulli(0.8)], 100: [lb.Bernoulli(0.9), lb.Bernoulli(0.1)]}
)


@pytest.fixture(scope="module")
def runs():
    return [
        lb.simulate(policy, WORLD, horizon=200, replications=20, seed=1)
        for policy in (lb.LBSDALM(), lb.Thompson())
    ]


def test_plain_data(runs):
    run = runs[0]
    plain = run.to_dict()
    assert json.loads(json.dumps(plain, allow_nan=False)) == plain
    assert plain["policy"] == str(run.policy)
    assert plain["environment"] == str(WORLD)
    assert plain["times"] == run.times.tolist()
    assert plain["regret"]["mean"] == run.mean().tolist()
    assert plain["final_regret"] == run.regret[:, -1].tolist()
    assert plain["pulls"] == run.pulls.mean(axis=0).tolist()
    assert plain["restarts"] is None  # this policy does not count them
    single = lb.simulate(lb.LBSDALM(), WORLD, horizon=200, seed=1, replications=1).to_dict()
    assert json.dumps(single, allow_nan=False)
    assert set(single["regret"]["standard_error"]) == {None}  # NaN


def test_figures(runs, tmp_path):
    one, other = runs
    (panel,) = one.plot(tmp_path / "one.pdf").axes
    assert (tmp_path / "one.pdf").read_bytes().startswith(b"%PDF")
    line = max(panel.lines, key=lambda line: len(line.get_xdata()))
    assert (line.get_ydata() == one.mean()).all()
    assert 100 in [line.get_xdata()[0] for line in panel.lines]  # the change
    figure = one.plot(others=[other], width=3.25)
    assert figure.get_figwidth() == 3.25
    texts = [text.get_text() for text in figure.axes[0].texts]
    for name in ("LBSDALM  ", "Thompson  "):
        assert any(text.startswith(name) for text in texts)
    assert one.plot(others=[one]).axes  # twice the same policy
