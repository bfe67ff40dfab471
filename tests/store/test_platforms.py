"""A log written on one processor opens on another, or the refusal says where it was written."""

import platform

import pytest
from databases import fetch
from platform_trials import both

import lastblock as lb
from lastblock.store import journal
from trials import short_and_long

SUMS, DRAWS = "LBSDALM", "Thompson"  # exact sums; logarithms and draws by rejection


@pytest.mark.skipif(platform.machine() != "x86_64", reason="plain x86-64 is of this kind only")
@short_and_long("names", [DRAWS], [SUMS, DRAWS])
def test_a_store_opens_on_a_plainer_processor(tmp_path, names):
    """`python tests/store/platform_trials.py both FOLDER all` does so for all policies."""
    result = both(tmp_path, *names)
    assert result["policies"] == len(names)
    assert "generic" in result["processors"]


def test_a_refusal_says_where_the_snapshot_was_written(tmp_path, monkeypatch):
    place = tmp_path / "shop.db"
    elsewhere = {"machine": "riscv64", "processor": "sifive", "system": "Linux", "numba": "9.9"}
    monkeypatch.setattr(journal, "this_platform", lambda: elsewhere)
    with lb.Store(place, keep_events=True) as store:
        bandit = store.create("button", lb.LBSDALM(), arms=3, seed=7)
        for _ in range(50):
            bandit.tell(bandit.ask(), 1.0)
    monkeypatch.undo()
    with lb.Store(place) as store:
        assert store.bandit("button").to_bytes() == bandit.to_bytes()
    fetch(place, "UPDATE events SET arm = (arm + 1) % 3 WHERE event = 71")
    with lb.Store(place) as store, pytest.raises(lb.StoreError) as caught:
        store.bandit("button")
    said = str(caught.value)
    assert "another arm" in said
    assert "was written on riscv64, processor sifive, Linux, numba 9.9; this is " in said
    assert "\n" not in said
