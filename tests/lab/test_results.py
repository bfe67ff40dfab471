"""Results on disk: what load() gives back, and what it refuses."""

import json
import shutil

import pandas as pd
import pyarrow.parquet as pq
import pytest
from small_runs import scenario

import lastblock as lb

ENV = lb.Stationary([lb.Bernoulli(0.9), lb.Bernoulli(0.1), lb.Bernoulli(0.8)])
SCENARIO = scenario(name="coins", environment=ENV, replications=20)
FRAMES = ("curves", "final", "pulls", "delays", "policies", "timing")


@pytest.fixture(scope="module")
def finished(tmp_path_factory):
    folder = tmp_path_factory.mktemp("results")
    return lb.lab.run(SCENARIO, out=folder), folder / "coins"


@pytest.fixture
def folder(finished, tmp_path):
    """A copy that may be damaged."""
    result, _ = finished
    return result.save(tmp_path / "copy")


def test_loaded_is_what_was_saved(finished):
    result, folder = finished
    loaded = lb.lab.load(folder)
    assert loaded.about == json.loads(json.dumps(result.about))
    for name in FRAMES:
        pd.testing.assert_frame_equal(getattr(loaded, name), getattr(result, name))
    assert loaded.labels == ["window", "memory"]
    assert (loaded.name, loaded.title) == ("coins", "coins")
    assert (loaded.horizon, loaded.replications, loaded.seed) == (300, 20, 1)
    assert loaded.changes == []
    assert loaded.lai_robbins == lb.theory.lai_robbins(SCENARIO.environment)


def test_the_scenario_and_the_versions_are_in_every_file(finished):
    _, folder = finished
    for name in FRAMES:
        metadata = pq.read_schema(folder / f"{name}.parquet").metadata
        about = json.loads(metadata[b"lastblock"])
        assert about["scenario"]["policies"]["window"]["parameters"]["window"] == 60
        assert about["versions"]["lastblock"] == lb.__version__


def damaged_metadata(folder, name="final", **changes):
    path = folder / f"{name}.parquet"
    table = pq.read_table(path)
    about = json.loads(table.schema.metadata[b"lastblock"])
    metadata = {b"lastblock": json.dumps({**about, **changes}).encode()}
    pq.write_table(table.replace_schema_metadata(metadata), path)


def cut_in_half(folder):
    data = (folder / "pulls.parquet").read_bytes()
    (folder / "pulls.parquet").write_bytes(data[: len(data) // 2])


def foreign(folder):
    pq.write_table(
        pq.read_table(folder / "curves.parquet").replace_schema_metadata(),
        folder / "curves.parquet",
    )


@pytest.mark.parametrize(
    ("damage", "message"),
    [
        (shutil.rmtree, "holds no results"),
        (lambda f: (f / "curves.parquet").unlink(), "holds no results; give a folder"),
        (
            lambda f: (f / "final.parquet").unlink(),
            "final.parquet is missing; run the scenario again",
        ),
        (cut_in_half, "pulls.parquet is damaged .*; run the scenario again"),
        (foreign, "is not from lastblock"),
        (lambda f: damaged_metadata(f, format=3), "results of format 3, written by lastblock 0"),
        (lambda f: damaged_metadata(f, changes=[5]), "mixes files of two runs"),
    ],
)
def test_what_is_not_whole_is_refused(folder, damage, message):
    damage(folder)
    with pytest.raises(lb.lab.ResultError, match=message):
        lb.lab.load(folder)


def test_results_of_another_version_are_not_overwritten(finished, tmp_path):
    folder = finished[0].save(tmp_path / "coins")
    damaged_metadata(folder, "curves", format=9)
    with pytest.raises(lb.lab.ResultError, match=r"results of format 9, .*: choose another folder"):
        lb.lab.run(SCENARIO, out=tmp_path)
    assert not (tmp_path / ".chunks").exists()
