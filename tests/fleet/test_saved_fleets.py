"""Fleets in files: they go on bit for bit, a kill loses none, and damage is one kind of error."""

import os
import re
import signal
from unittest import mock

import kill_saves
import numpy as np
import pytest

import lastblock as lb
from lastblock.core.layout import fleet_dtype
from lastblock.engine.sound_records import first_fault
from lastblock.fleet import file, plan
from lastblock.support import parallel
from trials import short_and_long

POLICY = lb.LBSDALM(minimum=4, scale=0.5)
ARMS = 3
SIZE = 100
OPTIONS = {"arms": ARMS, "size": SIZE, "seed": 7}


def play(fleet, batches):
    """Decisions that stay out, and rewards; one bandit in ten is never asked."""
    taken = []
    for t in range(batches):
        ids = np.arange(t % 7, SIZE, 3)
        ids = ids[ids % 10 != 9]
        arms = fleet.ask(ids)
        fleet.tell(ids[::2], arms[::2], (arms[::2] + t) % 3)
        taken.append(arms.tolist())
    return taken


@pytest.fixture(scope="module")
def fleet():
    """A fleet in the middle of its life; tests do not change it."""
    fleet = lb.Fleet(POLICY, **OPTIONS)
    play(fleet, 20)
    return fleet


@pytest.fixture
def path(fleet, tmp_path):
    path = tmp_path / "fleet"
    fleet.save(path)
    return path


def test_a_loaded_fleet_goes_on_bit_for_bit(tmp_path):
    undisturbed, path = lb.Fleet(POLICY, **OPTIONS), tmp_path / "fleet"
    fleet = lb.Fleet(POLICY, **OPTIONS)
    for threads in (1, 2):
        assert play(fleet, 20) == play(undisturbed, 20)
        fleet.save(path)  # the second time over the first file
        fleet = lb.Fleet.load(str(path), threads=threads)
        assert (fleet.policy, fleet.arms, len(fleet)) == (POLICY, ARMS, SIZE)
        assert fleet.threads == threads
    assert play(fleet, 20) == play(undisturbed, 20)
    assert fleet.pulls().tolist() == undisturbed.pulls().tolist()
    assert list(tmp_path.iterdir()) == [path]


def test_a_loaded_fleet_keeps_its_horizon(tmp_path):
    fleet = lb.Fleet(lb.LBSDAGM(), arms=ARMS, size=5, seed=7, horizon=44)
    fleet.save(tmp_path / "fleet")
    again = lb.Fleet.load(tmp_path / "fleet")
    assert again.state_size == fleet.state_size
    arms = again.ask(np.full(150, 1))
    with pytest.raises(ValueError, match="longer horizon than 44"):
        again.tell(np.full(150, 1), arms, np.ones(150))


@short_and_long("kills", 4, 100)
def test_a_kill_leaves_the_old_file_or_the_new_one(tmp_path, kills):
    """`python tests/fleet/kill_saves.py --kills 1000` does it a thousand times."""
    kill_saves.main(kills, tmp_path)


def test_a_full_disk_leaves_the_old_file(path, fleet, monkeypatch):
    data = path.read_bytes()

    def full(handle):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(OSError, match="No space left on device"):
        fleet.save(path)
    assert path.read_bytes() == data
    assert list(path.parent.iterdir()) == [path]


def test_it_takes_a_bar_to_save_and_to_load(path, fleet, monkeypatch):
    monkeypatch.setattr(parallel.sys.stderr, "isatty", lambda: True, raising=False)
    with mock.patch("tqdm.tqdm") as bar:
        fleet.save(path)
        lb.Fleet.load(path)
    shown = [call.kwargs for call in bar.call_args_list]
    assert [each["desc"] for each in shown] == ["saving fleet", "loading fleet"]
    assert all(each["delay"] == 2.0 and not each["disable"] for each in shown)
    updates = bar.return_value.__enter__.return_value.update.call_args_list
    assert sum(call.args[0] for call in updates) >= sum(each["total"] for each in shown)
    assert {each["total"] for each in shown} == {fleet.nbytes}


def refused(path, data, message):
    path.write_bytes(data)
    with pytest.raises(lb.StateFileError, match=re.escape(message)):
        lb.Fleet.load(path)


def test_files_that_are_none(path, tmp_path):
    lb.Bandit(POLICY, ARMS).save(tmp_path / "bandit")
    for data in (b"", b"lastflt", b"x" * 10_000, (tmp_path / "bandit").read_bytes()):
        refused(path, data, f"{path} is not a lastblock fleet: give a file that Fleet.save()")
    with pytest.raises(FileNotFoundError, match=r"there is no file .*nothing'; give the name of"):
        lb.Fleet.load(tmp_path / "nothing")
    with pytest.raises(IsADirectoryError, match="is a folder; give the name of a file"):
        lb.Fleet.load(tmp_path)
    with pytest.raises(ValueError, match="threads=0"):
        lb.Fleet.load(path, threads=0)


def test_any_damage_is_found(path, fleet):
    data = path.read_bytes()
    size = len(data)
    refused(path, data[:100], f"{path} is damaged: it has 100 bytes instead of {size}; restore it")
    refused(path, data[:-1], f"it has {size - 1} bytes instead of {size}")
    refused(path, data + b"\0", f"it has {size + 1} bytes instead of {size}")
    places = np.random.default_rng(1).integers(8, size, 40).tolist()
    for place in (*range(8, 32, 3), 40, size - fleet.nbytes, size - 16, size - 1, *places):
        changed = bytearray(data)
        changed[place] ^= 1 << place % 8
        path.write_bytes(changed)
        with pytest.raises(lb.StateFileError, match=r"damaged: |has format \d+, this lastblock"):
            lb.Fleet.load(path)


def test_a_file_of_another_format(path):
    data = bytearray(path.read_bytes())
    data[8] = 2
    refused(
        path, bytes(data), f"{path} has format 2, this lastblock reads up to 1; upgrade lastblock"
    )


# Forged files: the checksum is right.


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"layout": "0" * 16}, "its records have another layout than those of LBSDALM here"),
        ({"layout": None}, "its records have another layout"),
        ({"size": SIZE + 1}, "its records have another layout"),
        ({"policy": {"name": "Elsewhere", "parameters": {}}}, "policy 'Elsewhere' is not known"),
        ({"policy": {"name": "LBSDALM", "parameters": {"speed": 1}}}, "speed"),
        ({"policy": {"name": "GLR", "parameters": {}}}, "GLR"),
        ({"policy": None}, ""),
        ({"key": [1, 2]}, "its seed does not have 4 words"),
        ({"key": "seed"}, ""),
        ({"key": [2**70] * 4}, ""),
        ({"arms": None}, "arms=None must be a whole number"),
        ({"arms": 10**9}, ""),
        ({"size": 2**40}, "size=1099511627776 must lie between"),
        ({"size": -1}, "size=-1 must lie between"),
        ({"horizon": -1}, "horizon=-1 must be at least 1"),
    ],
)
def test_a_forged_description(fleet, path, change, message):
    file.write(path, fleet._plan.about() | change, fleet._states)
    with pytest.raises(lb.StateFileError, match=f"{path} does not fit this version") as caught:
        lb.Fleet.load(path)
    assert message in str(caught.value)


@pytest.mark.parametrize("text", [b"[1]", b"{", b"\xff\xfe", b"[" * 100_000, b'{"a":' * 50_000])
def test_a_description_that_is_none(fleet, path, text, monkeypatch):
    monkeypatch.setattr(file, "encode", lambda about: text)
    fleet.save(path)
    with pytest.raises(lb.StateFileError, match=f"{path} does not fit this version"):
        lb.Fleet.load(path)


def copied(fleet):
    """The records, with every byte between their fields."""
    return fleet._states.view(np.ndarray).view(np.uint8).copy().view(fleet._plan.dtype)


DAMAGE = [
    ("arms", 4, "arms is 4 instead of 3"),
    ("round", -1, "round is -1, not between 0 and"),
    ("round", 0, "bandit 30 has not begun, but its record is not empty"),
    ("queued", 4, "queued is 4, not between 0 and 3"),
    ("taken", 2**31, "taken is 2147483648, "),
    ("queue", [0, 1, 3], "queue[2] is 3, not between 0 and 2"),
    ("unanswered", [0, -1, 0], "unanswered[1] is -1, not between 0 and"),
    ("leader", 3, "leader is 3, not between 0 and 2"),
    ("pulls", [0, 0, -5], "pulls[2] is -5, not between 0 and"),
    ("history.kept", [1, 1, 512], "history.kept[2] is 512, not between 0 and 255"),
    ("history.written", [-1, 0, 0], "history.written[0] is -1, not between 0 and"),
]


@pytest.mark.parametrize(("field", "value", "message"), DAMAGE)
def test_a_record_that_would_lead_a_kernel_astray_is_refused(
    fleet, path, monkeypatch, field, value, message
):
    monkeypatch.setattr(plan, "CHECKED_AT_ONCE", 16)
    states = copied(fleet)
    part = states
    for name in field.split("."):
        part = part[name]
    part[71] = part[30] = value  # the first one is named
    file.write(path, fleet._plan.about(), states)
    with pytest.raises(lb.StateFileError, match="bandit 30") as caught:
        lb.Fleet.load(path)
    assert message in str(caught.value)


def test_a_bandit_that_was_never_asked_has_an_empty_record(fleet, path):
    states = copied(fleet)
    states["unanswered"][SIZE - 1, 1] = 1
    file.write(path, fleet._plan.about(), states)
    with pytest.raises(lb.StateFileError, match="bandit 99 has not begun, but its record is not"):
        lb.Fleet.load(path)


def test_noise_is_refused_or_harmless(fleet, path):
    """Whatever it is, no kernel goes astray: one that did would end the tests."""
    harmless = 0
    for seed in range(60):
        rng = np.random.default_rng(seed)
        states = copied(fleet)
        start = 5 * fleet.state_size + rng.integers(0, 600)
        size = rng.choice([1, 8, 512])
        states.view(np.ndarray).view(np.uint8)[start : start + size] = rng.integers(0, 256, size)
        file.write(path, fleet._plan.about(), states)
        try:
            again = lb.Fleet.load(path)
        except lb.StateFileError:
            continue
        ids = np.full(100, 5)
        arms = again.ask(ids)
        assert set(arms) <= {0, 1, 2}
        again.tell(ids, arms, np.ones(100))
        harmless += 1
    assert 0 < harmless < 60


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
    states = np.zeros(5, fleet_dtype(policy, ARMS, 100))
    states["round"], states["arms"], states["stream"] = 1, ARMS, 1
    if "inner" in states.dtype.names:
        states["inner"]["arms"], states["inner"]["stream"] = ARMS, 1
    assert first_fault(states, ARMS) is None
    part = states
    for name in field.split("."):
        part = part[name]
    for outside in (value, -1):
        if outside >= 0 or part.dtype.kind == "i":
            part[(3, 1)[: part.ndim]] = outside
            expected = (3, message.replace(str(value), str(outside)))
            assert first_fault(states, ARMS) == expected
    assert first_fault(states[:3], ARMS) is None


# Forks.


def in_child(work):
    """What a forked process answers."""
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        signal.alarm(60)  # so that a child which waits for a lock ends
        try:
            os.write(writing, work().encode())
        except BaseException as error:
            os.write(writing, repr(error).encode())
        finally:
            os._exit(0)
    os.close(writing)
    with os.fdopen(reading, "r") as answers:
        answer = answers.read()
    os.waitpid(child, 0)
    return answer


def test_a_forked_process_is_refused_and_may_load_the_file(fleet, path):
    def acts():
        said = []
        for act in (
            lambda: fleet.ask([1]),
            lambda: fleet.tell([1], [0], [1.0]),
            lambda: fleet.forget([1], [0]),
            lambda: fleet.pulls([1]),
            lambda: fleet.bandit(1),
            lambda: fleet.save(path),
        ):
            with pytest.raises(ValueError, match="belongs to the process that made or loaded") as e:
                act()
            said.append(str(e.value))
        (once,) = set(said)
        return f"{once}: {lb.Fleet.load(path, threads=1).pulls().sum()}"

    with fleet._lock:  # as a thread in the middle of a batch holds it
        answer = in_child(acts)
    assert answer.startswith("this fleet belongs to the process that made or loaded it")
    assert answer.endswith(
        f"load its file after the fork, or start workers by spawn: {fleet.pulls().sum()}"
    )
