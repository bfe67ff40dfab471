"""Policies are compiled before they play, in several processes, and a bar says so."""

import sys

import pytest

import lastblock as lb
from lastblock.kernels.jit import DISABLED
from lastblock.simulation.compiling import Job, compile_all
from lastblock.simulation.simulate import Player
from lastblock.support import compiling_processes

pytestmark = pytest.mark.skipif(DISABLED, reason="nothing is compiled")

ENV = lb.Stationary([lb.Bernoulli(0.4), lb.Bernoulli(0.6)])
JOBS = [
    Job(lb.UCB1(), ENV, 100),
    Job(lb.UCB1(scale=0.1), lb.Stationary([lb.Gaussian(0.0), lb.Dirac(0.1)]), 500),  # same code
    Job(lb.EpsilonGreedy(), ENV, 100),
    Job(lb.Thompson(), ENV, 100),
]


@pytest.fixture
def nothing_compiled(monkeypatch):
    """No player is compiled until `compile` is called; the pretended cache on disk."""
    kept = set()

    def compile_now(player):
        kept.add(player.signature)
        return player

    monkeypatch.setattr(Player, "is_compiled", property(lambda self: self.signature in kept))
    monkeypatch.setattr(Player, "compile", compile_now)
    return kept


def test_code_that_is_shared_is_compiled_once(nothing_compiled, capsys):
    assert compile_all(JOBS, 1, True) == 3
    assert len(nothing_compiled) == 3
    shown = capsys.readouterr().err
    assert "compiling" in shown
    assert "0/3" in shown
    assert compile_all(JOBS, 1, True) == 0
    assert capsys.readouterr().err == ""


def test_another_process_leaves_its_code_in_the_cache(tmp_path, monkeypatch):
    """One policy here, one there; afterwards both are in the cache."""
    started = []
    start = compiling_processes.start

    def note(cache):
        started.append(start(cache))
        return started[-1]

    monkeypatch.setattr(compiling_processes, "start", note)
    missing = [job for job in (JOBS[0], JOBS[2]) if not job.player().is_compiled]
    assert compile_all(JOBS[:3], 2, False) == len(missing)
    assert len(started) == max(0, len(missing) - 1)
    assert all(process.returncode is not None for process in started)
    assert all(job.player().is_compiled for job in JOBS[:3])


@pytest.mark.parametrize("program", ["false", "/no/such/program", ""])
def test_this_process_does_what_others_fail_to_do(program, nothing_compiled, monkeypatch):
    monkeypatch.setattr(sys, "executable", program)
    compile_all(JOBS, 3, False)
    assert len(nothing_compiled) == 3
