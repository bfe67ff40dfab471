"""Simulated delays: their laws, a naive twin, a live bandit that is told late, and files."""

import math
import re

import numpy as np
import pytest

import lastblock as lb
from lastblock.cli import main
from lastblock.support.errors import ResultError
from oracle.stream import ENVIRONMENT, Stream

ENV = lb.Stationary([lb.Bernoulli(0.2), lb.Bernoulli(0.5), lb.Bernoulli(0.8)])
LAWS = [
    lb.FixedDelay(0),
    lb.FixedDelay(7),
    lb.GeometricDelay(12.5, never=0.2),
    lb.ParetoDelay(scale=5.0, shape=0.8, never=0.1),
]


class NaiveDelays:
    """Delays of one replication, from the formulas, on Python's whole numbers."""

    def __init__(self, delay, seed, replication):
        self.delay = delay
        self.stream = Stream(seed, replication, ENVIRONMENT, salt=0x44656C6179)

    def __call__(self):
        u = ((self.stream.word() >> 12) + 0.5) / 2**52
        if u <= self.delay.never:
            return math.inf
        u = (u - self.delay.never) / (1.0 - self.delay.never)
        if isinstance(self.delay, lb.FixedDelay):
            return self.delay.steps
        if isinstance(self.delay, lb.GeometricDelay):
            mean = self.delay.mean
            return math.floor(math.log(u) / -math.log1p(1.0 / mean)) if mean else 0
        scale, shape = self.delay.scale, self.delay.shape
        return math.floor(scale * (math.exp(-math.log(u) / shape) - 1.0))


def told_late(policy, rewards_of, delay, seed, horizon):
    """The arms of a live bandit that is told each reward when it is due, oldest decisions first."""
    bandit = lb.Bandit(policy, ENV.n_arms, seed=seed)
    delays, due, arms = NaiveDelays(delay, seed, 0), {}, []
    for t in range(horizon):
        for decision, reward in due.pop(t, []):
            bandit.tell(decision, reward)
        decision = bandit.ask()
        arms.append(decision.arm)
        after = delays()
        if after < horizon:
            due.setdefault(t + 1 + after, []).append((decision, rewards_of[t]))
    return arms


@pytest.mark.parametrize("delay", LAWS)
@pytest.mark.parametrize("policy", [lb.LBSDALM(), lb.UCB1()])
def test_a_simulation_agrees_with_a_live_bandit_told_late(policy, delay):
    """Decision by decision, with the delays of a naive twin; without any it is the plain one."""
    trace = lb.trace(policy, ENV, horizon=200, seed=5, delay=delay)
    assert trace.arms.tolist() == told_late(policy, trace.rewards, delay, 5, 200)
    plain = lb.trace(policy, ENV, horizon=200, seed=5)
    assert np.array_equal(trace.arms, plain.arms) == (delay == lb.FixedDelay(0))


def test_threads_and_replications_do_not_matter():
    how = {"horizon": 200, "seed": 1, "delay": LAWS[2]}
    one = lb.simulate(lb.LBSDALM(), ENV, replications=6, threads=1, **how)
    two = lb.simulate(lb.LBSDALM(), ENV, replications=6, threads=2, **how)
    assert np.array_equal(one.regret, two.regret)
    prior = lb.Prior(lb.Bernoulli, 3, mean=lb.Beta(1, 1))
    assert np.array_equal(
        lb.simulate(lb.LBSDALM(), prior, replications=4, threads=1, **how).regret,
        lb.simulate(lb.LBSDALM(), prior, replications=4, threads=2, **how).regret,
    )


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        (lambda: lb.FixedDelay(-1), "steps=-1 must be at least 0"),
        (lambda: lb.FixedDelay(3, never=1.0), "never=1.0 must be at least 0 and below 1"),
        (lambda: lb.GeometricDelay(-2.0), "mean=-2.0 must not be negative"),
        (lambda: lb.ParetoDelay(1.0, 0.0), "shape=0.0 must be positive"),
        (lambda: lb.trace(lb.UCB1(), ENV, horizon=9, delay=3), "delay=3 must be one of FixedDelay"),
    ],
)
def test_wrong_delays_are_refused(wrong, message):
    with pytest.raises(ValueError, match=re.escape(message)):
        wrong()


FILE = """\
horizon = 200
replications = 6

[arms]
family = "Bernoulli"
mean = [0.2, 0.5, 0.8]

[[policies]]
policy = "LBSDALM"

[delay]
law = "geometric"
mean = 12.5
never = 0.2
"""


def test_scenario_files_and_the_program_have_delays(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "late.toml").write_text(FILE)
    (tmp_path / "plain.toml").write_text(FILE.partition("[delay]")[0])
    scenario = lb.lab.Scenario.load("late.toml")
    assert scenario.delay == LAWS[2]
    assert main(["run", "late.toml", "--quiet"]) == 0
    late = lb.lab.load("results/late")
    run = lb.simulate(lb.LBSDALM(), ENV, horizon=200, replications=6, seed=1, delay=LAWS[2])
    assert late.final_regret("LBSDALM").tolist() == run.regret[:, -1].tolist()
    page = (tmp_path / "results/report.html").read_text()
    assert "geometric delays of rewards (mean 12.5), 20 % never come" in page
    assert main(["run", "plain.toml", "--delay", "geometric:mean=12.5,never=0.2", "--quiet"]) == 0
    again = lb.lab.load("results/plain")
    assert again.final.equals(late.final)
    assert main(["run", "plain.toml", "--quiet"]) == 0
    plain = lb.lab.load("results/plain")
    assert not plain.final.equals(late.final)
    with pytest.raises(ResultError, match="have different delays of rewards"):
        lb.lab.differences([plain, late])
    capsys.readouterr()
    for wrong, message in (
        ("fixd:steps=3", "unknown law 'fixd'; did you mean 'fixed'?"),
        ("fixed:steps=x", "steps must be a number, such as steps=10, not 'x'"),
        ("fixed:stesp=3", "unknown parameter 'stesp'; did you mean 'steps'?"),
        ("fixed", "a fixed delay needs steps; write steps=…"),
        ("fixed:steps=-3", "steps=-3 must be at least 0"),
    ):
        assert main(["run", "plain.toml", "--delay", wrong]) == 2
        assert message in capsys.readouterr().err
