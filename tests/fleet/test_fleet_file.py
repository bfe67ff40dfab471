"""Fleets in files: they go on bit for bit, and say what is wrong with a file."""

import re
import struct
import subprocess
import sys

import numpy as np
import pytest

import lastblock as lb
from lastblock.core.layout import fleet_dtype
from lastblock.engine.record_check import RecordCheck
from lastblock.fleet import file as fleet_file
from lastblock.fleet.file import MAGIC, PAGE
from lastblock.kernels.seals import BUSY

POLICY = lb.LBSDALM(minimum=4, scale=0.5)
ARMS = 3
SIZE = 200
OPTIONS = {"arms": ARMS, "size": SIZE, "seed": 7}


def play(fleet, batches):
    """Decisions that stay out, and rewards; returns the arms."""
    taken = []
    for t in range(batches):
        ids = np.arange(t % 7, SIZE, 3)
        arms = fleet.ask(ids)
        fleet.tell(ids[::2], arms[::2], (arms[::2] + t) % 3)
        taken.append(arms.tolist())
    return taken


@pytest.fixture
def path(tmp_path):
    """A file with a fleet in the middle of its life."""
    path = tmp_path / "fleet"
    with lb.Fleet.create(path, POLICY, **OPTIONS) as fleet:
        play(fleet, 20)
    return path


def test_a_fleet_in_a_file_goes_on_bit_for_bit(tmp_path):
    in_memory = lb.Fleet(POLICY, **OPTIONS)
    path = tmp_path / "fleet"
    with lb.Fleet.create(path, POLICY, **OPTIONS) as fleet:
        assert play(fleet, 20) == play(in_memory, 20)
        assert fleet.path == path
        assert repr(fleet).endswith(f"bytes in {path}>")
    for threads in (1, 2):
        with lb.Fleet.open(str(path), threads=threads) as fleet:
            assert (fleet.policy, fleet.arms, len(fleet)) == (POLICY, ARMS, SIZE)
            assert fleet.threads == threads
            assert play(fleet, 20) == play(in_memory, 20)
            assert fleet.pulls().tolist() == in_memory.pulls().tolist()
    records = np.frombuffer(path.read_bytes(), fleet._plan.dtype, offset=PAGE)
    assert fleet.state_size == in_memory.state_size + 8  # the seal
    for name in in_memory._plan.dtype.names:
        assert records[name].tobytes() == in_memory._states[name].tobytes(), name
    assert in_memory.path is None
    in_memory.flush()


def test_untouched_bandits_take_no_room(tmp_path):
    with lb.Fleet.create(tmp_path / "fleet", POLICY, arms=ARMS, size=100_000) as fleet:
        fleet.ask([3, 50_000])
        fleet.flush()
        assert fleet.nbytes > 5e8
        assert fleet.path.stat().st_blocks * 512 < 1e6
        assert fleet.path.stat().st_size == PAGE + fleet.nbytes
    with lb.Fleet.create(tmp_path / "reserved", POLICY, **OPTIONS, reserve=True) as fleet:
        assert fleet.path.stat().st_blocks * 512 >= fleet.nbytes


def test_room_is_reserved_where_the_system_cannot_do_so(tmp_path, monkeypatch):
    """As on macOS and Windows: the file is filled with zeros."""
    monkeypatch.delattr(fleet_file.os, "posix_fallocate")
    path = tmp_path / "reserved"
    with lb.Fleet.create(path, POLICY, **OPTIONS, reserve=True) as fleet:
        assert path.stat().st_blocks * 512 >= fleet.nbytes
        assert path.stat().st_size == PAGE + fleet.nbytes
        arms = fleet.ask(range(SIZE)).tolist()
    with lb.Fleet.open(path) as fleet:
        fleet.tell(range(SIZE), arms, [1.0] * SIZE)
        assert fleet.pulls().sum() == SIZE


def test_a_killed_process_leaves_what_it_told(tmp_path):
    path = tmp_path / "fleet"
    code = f"""
import os, signal
import lastblock as lb
fleet = lb.Fleet.create({str(path)!r}, lb.{POLICY!r}, arms={ARMS}, size={SIZE}, seed=7)
ids = list(range({SIZE}))
fleet.tell(ids, fleet.ask(ids), [1.0] * {SIZE})
os.kill(os.getpid(), signal.SIGKILL)
"""
    done = subprocess.run([sys.executable, "-c", code], check=False)
    assert done.returncode == -9
    with lb.Fleet.open(path) as fleet:
        assert fleet.pulls().sum(axis=1).tolist() == [1] * SIZE


def test_one_at_a_time(path):
    with lb.Fleet.open(path) as fleet:
        with pytest.raises(lb.StateFileError, match="is open elsewhere, in this process or"):
            lb.Fleet.open(path)
        fleet.ask([1])
    with pytest.raises(FileExistsError, match=f"^{path} exists; open it with Fleet.open"):
        lb.Fleet.create(path, POLICY, **OPTIONS)
    lb.Fleet.open(path).close()


def test_a_closed_fleet_says_so(path):
    in_memory = lb.Fleet(POLICY, **OPTIONS, threads=2)
    play(in_memory, 3)
    for fleet in (lb.Fleet.open(path), in_memory):
        fleet.close()
        fleet.close()
        fleet.flush()
        for act in (
            lambda fleet: fleet.ask([1]),
            lambda fleet: fleet.tell([1], [0], [1.0]),
            lambda fleet: fleet.forget([1], [0]),
            lambda fleet: fleet.pulls([1]),
        ):
            with pytest.raises(ValueError, match="this fleet is closed"):
                act(fleet)
        assert len(fleet) == SIZE
        assert f"{SIZE} × {POLICY}" in repr(fleet)


def refused(path, data, message):
    path.write_bytes(data)
    with pytest.raises(lb.StateFileError, match=re.escape(message)):
        lb.Fleet.open(path)
    assert path.read_bytes() == data


def test_files_that_are_none(path, tmp_path):
    lb.Bandit(POLICY, ARMS).save(tmp_path / "bandit")
    for data in (b"", b"lastflt", b"x" * 10_000, (tmp_path / "bandit").read_bytes()):
        refused(path, data, f"{path} is not a lastblock fleet: give a file that Fleet.create()")
    with pytest.raises(FileNotFoundError, match="nothing does not exist; make a fleet with"):
        lb.Fleet.open(tmp_path / "nothing")
    with pytest.raises(IsADirectoryError, match="is a folder; give the name of a file"):
        lb.Fleet.open(tmp_path)
    with pytest.raises(NotADirectoryError, match=f"{path} is not a folder; make it first"):
        lb.Fleet.open(path / "nothing")


def test_a_file_that_may_not_be_written(path, monkeypatch):
    def refuse(self, mode):
        raise PermissionError(13, "Permission denied", str(self))

    monkeypatch.setattr(fleet_file.Path, "open", refuse)  # whoever runs this may write anything
    with pytest.raises(PermissionError, match=f"{path} is not writable, but a fleet must write"):
        lb.Fleet.open(path)


def test_files_that_are_cut_off_or_corrupt(path):
    data = path.read_bytes()
    refused(path, data[:100], "is cut off in its header")
    refused(path, data[: len(data) // 2], f"truncated: {len(data) // 2} of {len(data)} bytes")
    refused(path, data[:-1], f"truncated: {len(data) - 1} of {len(data)} bytes")
    refused(path, data + b"\0", f"corrupt: {len(data) + 1} bytes instead of {len(data)}")
    for place in (20, 30, 150):
        changed = bytearray(data)
        changed[place] ^= 1
        refused(path, bytes(changed), "is corrupt: its checksum is wrong")
    path.write_bytes(data)
    with lb.Fleet.open(path) as fleet:
        play(fleet, 1)


DAMAGE = [
    ("arms", 4, "arms is 4 instead of 3"),
    ("round", -1, "round is -1, not between 0 and"),
    ("queued", 4, "queued is 4, not between 0 and 3"),
    ("taken", 2**31, "taken is 2147483648, not between 0 and 3"),
    ("queue", [0, 1, 3], "queue[2] is 3, not between 0 and 2"),
    ("unanswered", [0, -1, 0], "unanswered[1] is -1, not between 0 and"),
    ("leader", 3, "leader is 3, not between 0 and 2"),
    ("pulls", [0, 0, -5], "pulls[2] is -5, not between 0 and"),
    ("kept", [1, 1, 512], "history.kept[2] is 512, not between 0 and 255"),
    ("written", [-1, 0, 0], "history.written[0] is -1, not between 0 and"),
]


@pytest.mark.parametrize(("field", "value", "message"), DAMAGE)
def test_a_damaged_record_is_found(path, field, value, message):
    with lb.Fleet.open(path) as fleet:
        dtype = fleet._plan.dtype
    data = bytearray(path.read_bytes())
    records = np.frombuffer(data, dtype, offset=PAGE)
    for i in (171, 30):  # the first one is named
        record = records[i]
        (record if field in dtype.names else record["history"])[field] = value
    del record, records
    where = f"{path} is corrupt: in the record of bandit 30, "
    refused(path, bytes(data), f"{where}{message}")


RESTARTING = lb.Restarting(lb.UCB1(), lb.GLR())
INSIDE = [
    (lb.SWUCB(window=64), "recent.arm", "recent.arm[1] is 3, not between 0 and 2"),
    (lb.SWUCB(window=64), "recent.pulls", "recent.pulls[1] is 65, not between 0 and 64"),
    (lb.Giro(), "history.others", "history.others[1] is 129, not between 0 and 128"),
    (lb.BESA(), "pulls", "pulls[1] is 129, not between 0 and 128"),
    (lb.SSMC(), "against", "against[1] is 3, not between 0 and 2"),
    (lb.PlayTheWinner(), "at", "at is 3, not between 0 and 2"),
    (lb.PlayTheWinner(), "circle", "circle[1] is 3, not between 0 and 2"),
    (lb.Binarized(lb.LBSDALM()), "inner.queue", "inner.queue[1] is 3, not between 0 and 2"),
    (lb.Binarized(lb.LBSDALM()), "inner.leader", "inner.leader is 3, not between 0 and 2"),
    (
        lb.Restarting(lb.UCB1(), lb.GLR()),
        "detector.rung",
        "detector.rung[1] is 28, not between 0 and 27",
    ),
    (lb.OracleRestart(lb.UCB1(), (0, 9)), "phase", "phase is 2, not between 0 and 1"),
]


@pytest.mark.parametrize(("policy", "field", "message"), INSIDE)
def test_records_within_records(policy, field, message):
    value = int(message.split()[2].rstrip(","))
    states = np.zeros(5, fleet_dtype(policy, ARMS, 100, sealed=True))
    check = RecordCheck(policy, states.dtype, ARMS)
    states["seal"], states["round"], states["arms"], states["stream"] = BUSY, 1, ARMS, 1
    if "inner" in states.dtype.names:
        states["inner"]["arms"], states["inner"]["stream"] = ARMS, 1
    assert check.damaged(states, 0, 5) == ([], False)
    part = states
    for name in field.split("."):
        part = part[name]
    for outside in (value, -1):
        if outside >= 0 or part.dtype.kind == "i":
            part[(3, 1)[: part.ndim]] = outside
            damages, _ = check.damaged(states, 0, 5)
            assert damages == [(3, message.replace(str(value), str(outside)))]
    assert check.damaged(states, 0, 3) == ([], False)


def test_of_those_that_nobody_has_asked_nothing_is_out(tmp_path):
    path = tmp_path / "fleet"
    with lb.Fleet.create(path, POLICY, **OPTIONS) as fleet:
        fleet.ask([3])
        fleet._states["leader"][7] = 99  # a start writes it anew
    with lb.Fleet.open(path) as fleet:
        fleet._states["unanswered"][8, 1] = 1
    with pytest.raises(lb.StateFileError, match=r"bandit 8, unanswered\[1\] is 1 instead of 0"):
        lb.Fleet.open(path)


@pytest.mark.parametrize("seed", range(40))
def test_noise_is_refused_or_harmless(path, seed):
    """Whatever it is, no kernel goes astray: one that did would end the tests."""
    rng = np.random.default_rng(seed)
    data = bytearray(path.read_bytes())
    with lb.Fleet.open(path) as fleet:
        start = PAGE + 5 * fleet.state_size + rng.integers(0, 600)
    size = rng.choice([1, 8, 512])
    data[start : start + size] = rng.bytes(size)
    path.write_bytes(data)
    try:
        fleet = lb.Fleet.open(path)
    except lb.StateFileError:
        refused(path, bytes(data), "in the record of bandit 5")
        return
    with fleet:
        ids = np.full(100, 5)
        arms = fleet.ask(ids)
        assert set(arms) <= {0, 1, 2}
        fleet.tell(ids, arms, np.ones(100))


def without(states, i):
    return states[:i].tobytes() + states[i + 1 :].tobytes()


def test_a_round_that_was_being_planned_is_planned_again(path):
    """As a process leaves it that is killed at the wrong moment."""
    with lb.Fleet.open(path) as fleet:
        fleet._states["seal"][30] = BUSY
        fleet._states["queued"][30] = 1
        fleet._states["taken"][30] = 2
        rounds = fleet._states["round"].copy()
        others = without(fleet._states, 30)
    with lb.Fleet.open(path) as fleet:
        assert (fleet._states["queued"][30], fleet._states["taken"][30]) == (0, 0)
        assert without(fleet._states, 30) == others
        fleet.tell([30], fleet.ask([30]), [1.0])
        assert fleet._states["round"][30] == rounds[30] + 1


def test_holes_are_not_looked_at_and_stay(tmp_path):
    path = tmp_path / "fleet"
    with lb.Fleet.create(path, POLICY, arms=ARMS, size=100_000) as fleet:
        fleet.ask([3, 50_000, 99_999])
    with lb.Fleet.open(path) as fleet:
        looked_at = sum(end - start for start, end in fleet._file.written)
        assert all(any(a <= i < b for a, b in fleet._file.written) for i in (3, 50_000, 99_999))
        assert looked_at < 1000
        assert path.stat().st_blocks * 512 < 1e6


def test_a_file_of_a_newer_version(path):
    data = bytearray(path.read_bytes())
    data[len(MAGIC) : len(MAGIC) + 4] = struct.pack("<I", 3)
    refused(path, bytes(data), f"{path} has format 3, this lastblock reads up to 2; upgrade")


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"layout": "0" * 16}, "its records have another layout"),
        ({"policy": {"name": "Elsewhere", "parameters": {}}}, "policy 'Elsewhere' is not known"),
        ({"policy": {"name": "LBSDALM", "parameters": {"speed": 1}}}, "speed"),
        ({"key": [1, 2]}, "its seed does not have 4 words"),
        ({"arms": None}, "arms=None must be a whole number"),
    ],
)
def test_a_file_that_does_not_fit(path, change, message):
    with lb.Fleet.open(path) as fleet:
        about = fleet._plan.about()
        nbytes = fleet.nbytes
    path.unlink()
    fleet_file.FleetFile.create(path, about | change, nbytes, reserve=False).close()
    with pytest.raises(lb.StateFileError, match="does not fit this version") as caught:
        lb.Fleet.open(path)
    assert message in str(caught.value)


def test_what_fails_leaves_no_file(tmp_path, monkeypatch):
    path = tmp_path / "fleet"
    with pytest.raises(ValueError, match="size=0"):
        lb.Fleet.create(path, POLICY, arms=ARMS, size=0)
    with pytest.raises(FileNotFoundError, match="nowhere is not a folder; make it first"):
        lb.Fleet.create(tmp_path / "nowhere" / "fleet", POLICY, **OPTIONS)
    with pytest.raises(OSError, match=r"cannot have \d+ bytes \(.*\); make room, choose another"):
        lb.Fleet.create(path, POLICY, arms=ARMS, size=2**32 - 1)
    with pytest.raises(ValueError, match="threads=0"):
        lb.Fleet.open(path, threads=0)

    def full(*arguments):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(fleet_file.os, "posix_fallocate", full)
    with pytest.raises(OSError, match=r"\(No space left on device\); make room") as caught:
        lb.Fleet.create(path, POLICY, **OPTIONS, reserve=True)
    assert caught.value.errno == 28
    assert list(tmp_path.iterdir()) == []


def test_other_byte_orders_are_refused(path, monkeypatch):
    monkeypatch.setattr(fleet_file.sys, "byteorder", "big")
    with pytest.raises(lb.StateFileError, match="little-endian and this machine is not"):
        lb.Fleet.open(path)
