"""The measured table 1."""

import math

import numpy as np
import pytest

import lastblock as lb
from lastblock.core.layout import state_dtype
from lastblock.lab.paper import table1 as module
from lastblock.lab.paper.table1 import ROWS, powers, table1
from lastblock.testing.worlds import HORIZON, environment  # whose kernels are compiled anyway


@pytest.fixture(autouse=True)
def _quick(monkeypatch):
    monkeypatch.setattr(module, "_STEPS", 1)


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row.name)
def test_what_each_policy_stores(row):
    """All rewards, except for LB-SDA-LM: at most max(M, ⌈C (log T)²⌉) an arm."""
    stored, nanoseconds = module.measure(row.policy, environment(), HORIZON)
    most = 3 * max(50, math.ceil(math.log(HORIZON) ** 2))
    assert stored < most if row.name == "LB-SDA-LM" else stored == HORIZON
    assert nanoseconds > 0


def test_table_has_what_is_claimed_and_measured():
    frame = table1(horizons=(500, 1000), rows=ROWS[-1:])
    (row,) = frame.to_dict("records")
    assert row["policy"] == "LB-SDA-LM"
    assert (row["storage, paper"], row["time, paper"]) == ("O((log T)²)", "O(1)–O(log T)")
    few, many = row["rewards at T = 500"], row["rewards at T = 10³"]
    assert 50 <= few <= many < 200
    assert row["rewards ~ T^b"] == pytest.approx(math.log(many / few, 2))
    assert row["ns at T = 500"] > 0
    assert np.isfinite(row["ns ~ (log T)^b"])


def test_the_papers_policies_are_there():
    assert [row.name for row in ROWS] == ["BESA", "SSMC", "RB-SDA", "LB-SDA", "LB-SDA-LM"]


def test_powers():
    horizons = [10**3, 10**4, 10**5]
    assert powers(horizons, [t**0.5 for t in horizons])[0] == pytest.approx(0.5)
    assert powers(horizons, [3 * math.log(t) ** 2 for t in horizons])[1] == pytest.approx(2.0)
    assert np.isnan(powers([10], [1.0])).all()


def test_a_policy_must_say_what_it_holds():
    policy = lb.PlayTheWinner()
    with pytest.raises(ValueError, match="does not say how many rewards it holds"):
        module.stored(policy, np.zeros(1, state_dtype(policy, 2, HORIZON))[0], 2)
