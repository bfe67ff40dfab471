"""Chunks on a real Dask cluster: the same bytes as with threads, whoever dies on the way."""

import os
import signal
import sys
import threading
from unittest import mock

import cloudpickle
import distributed
import pytest
from small_runs import contents, scenario

import lastblock as lb
from documented import FAMILY, exploring
from lastblock.core.registry import require_policy
from lastblock.lab.work import chunks, cluster

OWN = exploring("from cluster_helper import following", "following(s.round, s.arms)") + FAMILY
HELPER = """
from lastblock.kit import kernel
from lastblock.kernels.jit import routine

@routine
def within(number, arms):
    return number % arms

@kernel
def following(last, arms):
    return within(last + 1, arms)
"""
SCENARIO = """
horizon = 300
replications = 3
imports = ["cluster_policy.py"]
[arms]
family = "Uniform"
low = [0.8, 0.0, 0.7]
high = [1.0, 0.2, 0.9]
[[policies]]
policy = "ExploreFirst"
exploration = 300
[[policies]]
policy = "Binarized"
of = "ExploreFirst"
"""


@pytest.fixture(scope="module")
def two_workers():
    with distributed.LocalCluster(
        n_workers=2, threads_per_worker=1, processes=True, dashboard_address=":0"
    ) as started:
        yield started


class Killer:
    """Kills a worker that is at work, as soon as a few chunks are done."""

    def __init__(self, started):
        self.started = started
        self.done = 0
        self.lost = None

    def update(self, steps):
        self.done += 1
        if self.done < 5 or self.lost is not None:
            return
        for state in self.started.scheduler.workers.values():
            if state.processing:
                nanny = self.started.workers[state.name]
                nanny.close_gracefully()  # or it would start another
                os.kill(nanny.pid, signal.SIGKILL)
                self.lost = state.address
                return


def test_a_killed_worker_changes_nothing(two_workers, tmp_path, monkeypatch):
    monkeypatch.setattr(chunks, "_MOST_REPLICATIONS_A_CHUNK", 20)
    two_workers.scale(2)
    killer = Killer(two_workers)
    with cluster.connect(two_workers.scheduler_address) as executor:
        assert executor.workers == 2
        lb.lab.run(scenario(), out=tmp_path / "cluster", executor=executor, progress=killer)
        assert executor.workers == 1
    assert killer.lost is not None
    assert killer.done == 70
    assert killer.lost not in two_workers.scheduler.workers
    lb.lab.run(scenario(), out=tmp_path / "threads")
    assert contents(tmp_path / "cluster" / "small") == contents(tmp_path / "threads" / "small")


def test_code_of_the_users_travels(two_workers, tmp_path):
    (tmp_path / "cluster_policy.py").write_text(OWN)
    (tmp_path / "cluster_helper.py").write_text(HELPER)
    (tmp_path / "own.toml").write_text(SCENARIO)
    with mock.patch.dict(lb.POLICIES), mock.patch.dict(lb.FAMILIES):
        own = lb.lab.Scenario.load(tmp_path / "own.toml")
        wrapper = own.policies["Binarized"]
        for file in tmp_path.glob("*.py"):
            file.unlink()
        with cluster.connect(two_workers.scheduler_address) as executor:
            alone = own.replace(policies={"in turn": own.policies["ExploreFirst"]})
            result = lb.lab.run(alone, out=tmp_path, executor=executor)
            # Were the inner policy not known to the worker, the outer one would refuse it.
            assert executor.submit(require_policy, wrapper).result() is None
        assert cloudpickle.list_registry_pickle_by_value() == set()
        del sys.modules["cluster_helper"]
    assert result.pulls["mean"].tolist() == [100.0] * 3  # one arm after the other
    assert result.final["regret"].tolist() == pytest.approx([100 * (0.8 + 0.1)] * 3)


@pytest.mark.parametrize("address", ["tcp://127.0.0.1:1", "nonsense://there", "tcp://127.0.0.1:x"])
def test_an_unreachable_scheduler_is_told_of(address, monkeypatch):
    monkeypatch.setattr(cluster, "_SECONDS_TO_CONNECT", 0.3)
    with pytest.raises(cluster.ClusterError, match="no Dask scheduler answers") as caught:
        cluster.connect(address).__enter__()
    assert address in str(caught.value)
    assert "\n" not in str(caught.value)


def test_a_lost_scheduler_is_told_of(tmp_path, monkeypatch):
    monkeypatch.setattr(cluster, "_SECONDS_TO_CONNECT", 0.5)
    started = distributed.LocalCluster(n_workers=0, processes=True, dashboard_address=":0")
    closing = threading.Timer(0.3, started.close)

    def lose_it():
        with cluster.connect(started.scheduler_address) as executor:
            assert executor.workers == 0
            closing.start()
            lb.lab.run(scenario(), out=tmp_path, executor=executor)

    with pytest.raises(cluster.ClusterError, match="is lost"):
        lose_it()
    closing.join()
