"""Damage is found wherever it is, a killed process is no damage, and repair keeps the others."""

import re
import subprocess
import sys

import kill_first_asks
import numpy as np
import pytest

import lastblock as lb
from lastblock.fleet import file
from lastblock.fleet.file import PAGE
from lastblock.kernels.seals import ALL_SEALED, BEGINNING, BEGINNING_SEALED, BUSY
from trials import short_and_long

POLICY = lb.LBSDALM(minimum=4, scale=0.5)
ARMS = 3
SIZE = 70
OPTIONS = {"arms": ARMS, "size": SIZE, "seed": 7}


def play(fleet, batches=30):
    """Decisions that stay out, and rewards."""
    for t in range(batches):
        ids = np.arange(t % 3, SIZE - 10, 2)  # the last ten never begin
        arms = fleet.ask(ids)
        fleet.tell(ids[::2], arms[::2], (arms[::2] + t) % 3)


@pytest.fixture
def path(tmp_path):
    path = tmp_path / "fleet"
    with lb.Fleet.create(path, POLICY, **OPTIONS) as fleet:
        play(fleet)
    return path


@pytest.fixture
def fresh(tmp_path):
    """The same fleet before anything has happened."""
    with lb.Fleet.create(tmp_path / "fresh", POLICY, **OPTIONS) as fleet:
        yield fleet


def contents(path):
    """The records of a file, to change."""
    with lb.Fleet.open(path) as fleet:
        dtype = fleet._plan.dtype
    return np.memmap(path, dtype, "r+", offset=PAGE)


def assert_refused(path, number, what):
    with pytest.raises(lb.StateFileError, match=f"in the record of bandit {number}, {what}"):
        lb.Fleet.open(path)


def test_any_changed_byte_of_a_closed_file_is_found(path):
    size = contents(path).dtype.itemsize
    rng = np.random.default_rng(1)
    bits = [*rng.integers(0, 8 * size, 60).tolist(), *range(63, 8 * size, 640)]  # signs, too
    for bit in bits:
        data = bytearray(path.read_bytes())
        data[PAGE + 5 * size + bit // 8] ^= 1 << bit % 8
        path.write_bytes(data)
        assert_refused(path, 5, "")
        data[PAGE + 5 * size + bit // 8] ^= 1 << bit % 8
        path.write_bytes(data)
    lb.Fleet.open(path).close()


@pytest.mark.parametrize("field", ["sums", "prefix"])
def test_a_wrong_sum_of_rewards_and_a_wrong_reward_are_found(path, field):
    records = contents(path)
    (records if field == "sums" else records["history"])[field][30] += 1.0
    del records
    assert_refused(path, 30, "the seal does not fit the contents; restore it from a copy, or open")


def test_a_wrong_sum_is_found_in_the_file_of_a_killed_process(tmp_path):
    path = tmp_path / "fleet"
    code = f"""
import os, signal
import lastblock as lb
fleet = lb.Fleet.create({str(path)!r}, lb.{POLICY!r}, **{OPTIONS!r})
ids = list(range({SIZE}))
fleet.tell(ids, fleet.ask(ids), [1.0] * {SIZE})
os.kill(os.getpid(), signal.SIGKILL)
"""
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == -9
    records = contents(path)
    assert np.all(records["seal"] & np.uint64(3) == BEGINNING_SEALED)
    records["history"]["sum"][30, 1] += 0.5
    assert records.dtype.fields["history"][1] < BEGINNING  # and what is in it before the rewards
    del records
    assert_refused(path, 30, "the seal does not fit the contents")


def test_a_record_in_the_place_of_another_is_found(path):
    records = contents(path)
    records[31] = records[30]
    records["seal"][32] = 0
    del records
    assert_refused(path, 31, "the seal does not fit the contents; in the record of bandit 32, the")
    assert_refused(path, "31, .*bandit 32", "the seal is missing")


def test_flush_seals_whole_records_and_work_goes_on(path):
    with lb.Fleet.open(path) as fleet:
        kinds = fleet._states["seal"] & np.uint64(3)
        assert set(kinds.tolist()) == {0, int(ALL_SEALED)}
        fleet.ask([0, 1])
        fleet.tell([2], fleet.ask([2]), [1.0])
        fleet.forget([3], [np.flatnonzero(fleet._states["unanswered"][3])[0]])
        kinds = fleet._states["seal"][:4] & np.uint64(3)
        assert set(kinds.tolist()) == {int(BEGINNING_SEALED)}
        fleet.flush()
        kinds = fleet._states["seal"][:4] & np.uint64(3)
        assert set(kinds.tolist()) == {int(ALL_SEALED)}
    lb.Fleet.open(path).close()


def test_repair_restarts_damaged_bandits_and_names_them(path, fresh):
    records = contents(path)
    records["queue"][30] = 9
    records["sums"][31] += 1.0
    before = records.tobytes()
    del records
    with pytest.raises(lb.StateFileError, match=r"repair=True, which restarts these bandits"):
        lb.Fleet.open(path)
    with pytest.raises(ValueError, match="repair='yes' must be True or False"):
        lb.Fleet.open(path, repair="yes")
    with lb.Fleet.open(path, repair=True) as fleet:
        assert dict(fleet.repaired) == {
            30: "queue[0] is 9, not between 0 and 2",
            31: "the seal does not fit the contents",
        }
        size = fleet.state_size
        after = fleet._states.tobytes()
        assert after[: 30 * size] == before[: 30 * size]
        assert after[32 * size :] == before[32 * size :]
        assert fleet.pulls([30, 31]).sum() == 0
        with pytest.raises(lb.UnknownDecisionError):
            fleet.tell([30], [0], [1.0])
        for _ in range(10):
            arms = fleet.ask([30, 31])
            assert arms.tolist() == fresh.ask([30, 31]).tolist()
            fleet.tell([30, 31], arms, [1.0, 0.0])
            fresh.tell([30, 31], arms, [1.0, 0.0])
    with lb.Fleet.open(path) as fleet:
        assert fleet.repaired == {}


def test_many_damaged_bandits_are_counted_in_the_error(path):
    records = contents(path)
    records["queue"][10:15] = 9
    del records
    with pytest.raises(lb.StateFileError, match=r"bandit 10, .*bandit 12, .*; and in 2 more;"):
        lb.Fleet.open(path)


def test_a_bandit_whose_start_was_cut_off_has_not_begun(path, fresh):
    records = contents(path)
    records["seal"][[65, 30]], records["end"][[65, 30]] = BUSY, 1
    records["round"][65] = 1
    del records
    with lb.Fleet.open(path) as fleet:
        assert fleet.repaired == {}
        assert fleet.pulls([30, 65]).sum() == 0
        assert fleet.ask([30, 65]).tolist() == fresh.ask([30, 65]).tolist()


@short_and_long("kills", 4, 100)
def test_files_of_killed_processes_open(tmp_path, kills):
    """`python tests/fleet/kill_first_asks.py --kills 1000` does it a thousand times."""
    kill_first_asks.main(kills, tmp_path)


@pytest.mark.parametrize(
    "change",
    [
        {"arms": 10**9},
        {"size": 2**40},
        {"size": -1},
        {"horizon": -1},
        {"key": "seed"},
        {"key": [2**70] * 4},
        {"policy": None},
        {"policy": {"name": "GLR", "parameters": {}}},
        {"layout": None},
    ],
)
def test_a_forged_header_is_one_kind_of_error(path, change):
    with lb.Fleet.open(path) as fleet:
        about, nbytes = fleet._plan.about(), fleet.nbytes
    path.unlink()
    made = file.FleetFile.create(path, about | change, nbytes, reserve=False)
    made.close()
    with pytest.raises(lb.StateFileError, match=re.escape(str(path))):
        lb.Fleet.open(path)


@pytest.mark.parametrize("text", [b"[1]", b"{", b"\xff\xfe", b"[" * 100_000, b'{"a":' * 50_000])
def test_a_forged_description_is_one_kind_of_error(path, text):
    needed = file.HEAD.size + len(text) + 16
    head = file.HEAD.pack(file.MAGIC, 2, len(text), -(-needed // PAGE) * PAGE) + text
    path.write_bytes((head + file.digest(head)).ljust(-(-needed // PAGE) * PAGE, b"\0"))
    with pytest.raises(lb.StateFileError, match=f"the header of {path} is not one that Fleet"):
        lb.Fleet.open(path)
