"""Chunks: never computed twice, never half written, the same bytes however they came about."""

from concurrent.futures import Future, ProcessPoolExecutor, ThreadPoolExecutor
from multiprocessing import get_context
from unittest import mock

import numpy as np
import pandas as pd
import pytest
from small_runs import ENV, HORIZON, POLICIES, contents, scenario

import lastblock as lb
from documented import EXPLORE_FIRST, exploring
from lastblock.core.layout import state_dtype
from lastblock.lab.scenario_files.imports import import_text
from lastblock.lab.work import chunks, runner


@pytest.fixture
def computed(monkeypatch):
    """The addresses of the chunks that are computed."""
    done = []

    def compute(chunk, sources):
        done.append(chunk.address)
        return chunks.compute(chunk, sources)

    monkeypatch.setattr(runner, "compute", compute)
    return done


def test_the_results_are_those_of_simulate(tmp_path):
    result = lb.lab.run(scenario(), out=tmp_path)
    for label, policy in POLICIES.items():
        alone = lb.simulate(policy, ENV, horizon=HORIZON, replications=700, seed=1)
        curve = result.curves[result.curves.policy == label]
        assert curve["t"].tolist() == alone.times.tolist()
        np.testing.assert_array_equal(curve["mean"], alone.mean())
        np.testing.assert_array_equal(curve["se"], alone.standard_error())
        np.testing.assert_array_equal(curve["q25"], alone.quantile(0.25))
        np.testing.assert_array_equal(curve["q75"], alone.quantile(0.75))
        final = result.final[result.final.policy == label]
        np.testing.assert_array_equal(final["regret"], alone.regret[:, -1])
        pulls = result.pulls[result.pulls.policy == label]
        np.testing.assert_array_equal(pulls["mean"], alone.phase_pulls.mean(axis=0).ravel())
        assert pulls["start"].tolist() == [0, 0, 0, 150, 150, 150]
        delays = result.delays[result.delays.policy == label]["delay"]
        assert delays.isna().to_numpy().tolist() == (alone.delays.ravel() < 0).tolist()
        assert delays.fillna(-1).tolist() == alone.delays.ravel().tolist()
        shares = np.diff(alone.best_pulls.mean(axis=0), prepend=0) / np.diff(alone.times, prepend=0)
        np.testing.assert_allclose(curve["best_share"], shares, rtol=1e-12)
    sizes = result.policies.set_index("policy")["state_bytes"]
    assert sizes["window"] == state_dtype(POLICIES["window"], 3, HORIZON).itemsize
    assert (result.timing["ns_per_step"] > 0).all()


def test_blocks_of_times_give_the_same_curves(tmp_path, monkeypatch):
    whole = lb.lab.run(scenario(), out=tmp_path)
    monkeypatch.setattr("lastblock.lab.work.aggregate._BYTES_AT_ONCE", 8 * 700 * 7)
    blocks = lb.lab.run(scenario(), out=tmp_path)
    pd.testing.assert_frame_equal(blocks.curves, whole.curves, rtol=1e-12)


def test_finished_chunks_are_never_computed_again(tmp_path, computed):
    lb.lab.run(scenario(), out=tmp_path)
    assert len(computed) == len(set(computed)) == 4
    lb.lab.run(scenario(), out=tmp_path)
    assert len(computed) == 4
    lb.lab.run(scenario(replications=1200), out=tmp_path)  # 0–500 is there; 500–1000 and on is not
    assert len(computed) == 4 + 4
    more = {**POLICIES, "wider": lb.SWLBSDA(window=61)}
    lb.lab.run(scenario(policies=more), out=tmp_path)
    assert len(computed) == 8 + 2


@pytest.mark.parametrize(
    "change",
    [
        {"seed": 2},
        {"horizon": HORIZON + 1},
        {"environment": lb.Stationary(ENV.phases[0])},
        {"policies": {"window": lb.SWLBSDA(window=61), "memory": lb.LBSDALM(offset=1)}},
    ],
)
def test_whatever_determines_a_chunk_is_in_its_address(change):
    def addresses(s):
        return {
            chunks.Course(policy, s.environment, s.horizon, s.seed, (1, s.horizon)).address
            for policy in s.policies.values()
        }

    assert addresses(scenario()).isdisjoint(addresses(scenario(**change)))
    assert addresses(scenario()) == addresses(scenario(name="renamed", replications=9))


def test_other_sources_are_other_chunks(monkeypatch):
    course = chunks.Course(lb.LBSDALM(), ENV, HORIZON, 1, (HORIZON,))
    before = course.address
    monkeypatch.setattr(chunks, "sources_hash", lambda: "edited")
    assert chunks.Course(lb.LBSDALM(), ENV, HORIZON, 1, (HORIZON,)).address != before


def test_a_damaged_chunk_is_computed_again(tmp_path, computed):
    lb.lab.run(scenario(), out=tmp_path)
    before = contents(tmp_path / "small")
    damaged = sorted(path for path in (tmp_path / ".chunks").rglob("*-*") if path.is_file())
    damaged[0].write_bytes(damaged[0].read_bytes()[:100])
    flipped = bytearray(damaged[1].read_bytes())
    flipped[-40] ^= 1
    damaged[1].write_bytes(flipped)
    lb.lab.run(scenario(), out=tmp_path)
    assert len(computed) == 4 + 2
    assert contents(tmp_path / "small") == before


class Backwards(ThreadPoolExecutor):
    """An executor that has another idea of order: the last comes first."""

    def __init__(self):
        super().__init__(1)
        self.kept = []

    def submit(self, function, /, *args):
        future = Future()
        self.kept.append((future, function, args))
        if len(self.kept) == 4:
            for future_, function_, args_ in reversed(self.kept):
                future_.set_result(function_(*args_))
        return future


def test_threads_and_executors_do_not_matter(tmp_path):
    lb.lab.run(scenario(), out=tmp_path / "alone", threads=1)
    lb.lab.run(scenario(), out=tmp_path / "threads", threads=3)
    with Backwards() as backwards:
        lb.lab.run(scenario(), out=tmp_path / "backwards", executor=backwards)
    with ProcessPoolExecutor(2, mp_context=get_context("spawn")) as processes:
        lb.lab.run(scenario(), out=tmp_path / "processes", executor=processes)
    expected = contents(tmp_path / "alone" / "small")
    for other in ("threads", "backwards", "processes"):
        assert contents(tmp_path / other / "small") == expected


def test_a_worker_of_another_version_is_told(tmp_path, monkeypatch):
    monkeypatch.setattr(runner, "sources_hash", lambda: "another")
    with pytest.raises(lb.lab.ResultError, match="install the same ones on every worker"):
        lb.lab.run(scenario(), out=tmp_path)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"threads": 0}, "threads=0 must be at least 1"),
        ({"threads": 1.5}, "threads=1.5 must be a whole number"),
        ({"replications": 10**12}, "replications=1000000000000 must be at most 100,000,000"),
    ],
)
def test_bad_arguments(tmp_path, arguments, message):
    with pytest.raises(ValueError, match=message):
        lb.lab.run(scenario(), out=tmp_path / "out", **arguments)
    assert not (tmp_path / "out").exists()


@pytest.mark.usefixtures("own_imports")
def test_an_edited_policy_of_ones_own_is_other_chunks(tmp_path):
    """The bytecode is the same: only what a name refers to has changed."""

    def address(function):
        text = exploring(f"from math import {function} as f", "int(f(s.round)) % s.arms")
        policy = import_text("mine", str(tmp_path / "mine.py"), text).ExploreFirst()
        return chunks.Course(policy, ENV, HORIZON, 1, (HORIZON,)).address

    found = [address(function) for function in ("sqrt", "log", "sqrt")]
    assert found[0] == found[2] != found[1]


@pytest.mark.usefixtures("own_imports")
def test_results_of_code_without_a_file_are_never_used_again(tmp_path, computed):
    space = {"__name__": "__main__"}  # as in a notebook
    exec(EXPLORE_FIRST, space)
    mine = scenario(policies={"own": space["ExploreFirst"]()}, replications=3)
    results = [lb.lab.run(mine, out=tmp_path).final["regret"].tolist() for _ in range(2)]
    assert results[0] == results[1]
    assert len(set(computed)) == 2


def test_a_link_to_nothing_in_the_place_of_the_chunks_is_told(tmp_path):
    (tmp_path / ".chunks").symlink_to(tmp_path / "gone")
    with pytest.raises(lb.lab.ResultError, match=r"\.chunks is not a folder .* remove"):
        lb.lab.run(scenario(), out=tmp_path)


def test_progress_of_a_run_that_goes_on_starts_where_it_was(tmp_path, monkeypatch):
    made = scenario(horizon=10_000, replications=600, policies={"memory": lb.LBSDALM()})
    lb.lab.run(made, out=tmp_path, replications=400)
    bar = mock.MagicMock()
    monkeypatch.setattr(runner, "progress_bar", bar)
    lb.lab.run(made, out=tmp_path)
    assert (bar.call_args.args[0], bar.call_args.kwargs["done"]) == (6_000_000, 4_000_000)
    bar.return_value.__enter__.return_value.update.assert_called_once_with(2_000_000)
