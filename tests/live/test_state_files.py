"""The bytes and files of a live bandit: they continue bit for bit, or say what is wrong with them.

Also behind a right checksum: no content leads a kernel astray.
"""

import json

import numpy as np
import pytest
from colours import play

import lastblock as lb
from lastblock.live import persistence
from lastblock.live.state import to_little
from lastblock.support import files

POLICY = lb.LBSDALM(minimum=4, scale=0.0)


@pytest.fixture(scope="module")
def bandit():
    """In the middle of its life: decisions are out, an arm has left."""
    bandit = lb.Bandit(POLICY, ["red", "green", "blue", "gold"], seed=7, floor=0.05)
    for t in range(60):
        decision = bandit.ask()
        if t % 5:
            bandit.tell(decision, float(t % 3))
    bandit.retire_arm("green")
    for t in range(20):
        bandit.tell(bandit.ask(), float(t % 2))
    bandit.ask()
    return bandit


def test_files_continue_bit_for_bit(bandit, tmp_path):
    bandit, path = bandit.copy(), tmp_path / "bandit.state"
    bandit.save(path)
    copy = lb.Bandit.load(str(path))
    assert play(copy, 100) == play(bandit, 100)
    bandit.save(path)  # over the old one
    assert lb.Bandit.load(path).to_bytes() == bandit.to_bytes()
    assert list(tmp_path.iterdir()) == [path]


def test_a_failing_write_leaves_the_old_file(bandit, tmp_path, monkeypatch):
    bandit.save(path := tmp_path / "bandit.state")
    old = path.read_bytes()

    def full_disk(_):
        raise OSError("no space left on device")

    monkeypatch.setattr(files.os, "fsync", full_disk)
    with pytest.raises(OSError, match="no space left"):
        bandit.copy().save(path)
    assert path.read_bytes() == old
    assert list(tmp_path.iterdir()) == [path]


def test_saving_keeps_permissions_and_links(bandit, tmp_path):
    file, link = tmp_path / "state", tmp_path / "link"
    bandit.save(file)
    assert file.stat().st_mode & 0o600 == 0o600
    file.chmod(0o664)
    link.symlink_to(file)
    bandit.save(link)
    assert link.is_symlink()
    assert file.stat().st_mode & 0o777 == 0o664
    with pytest.raises(IsADirectoryError, match="is a folder"):
        bandit.save(tmp_path)
    with pytest.raises(FileNotFoundError, match=r"there is no folder .*none; make it first"):
        bandit.save(tmp_path / "none" / "b.lastblock")


def text(b, **changes):
    return json.dumps({**json.loads(b.to_json()), **changes})


def flipped(data, at):
    return data[:at] + bytes([data[at] ^ 1]) + data[at + 1 :]


STATES = [
    *((lambda b, n=n: flipped(b.to_bytes(), n), "corrupt: its checksum") for n in (30, 900, -17)),
    (lambda b: b.to_bytes() + b"\0", "corrupt"),
    *((lambda b, n=n: b.to_bytes()[:n], f"truncated: {n} of ") for n in (24, 100, 900)),
    (lambda b: b.to_bytes()[:-1], "bytes; restore it"),
    *((lambda b, d=d: d, "not a lastblock state: give a file") for d in (b"", b"lastblk\n")),
    (lambda b: b.to_bytes()[1:], "not a lastblock state"),
    (lambda b: flipped(b.to_bytes(), 9), r"format 257, .* reads up to 1; upgrade lastblock"),
    *((lambda b, d=d: d, "is not bytes; give what to_bytes") for d in ("x", None, 5, [1])),
]
TEXTS = [
    (lambda b: b.to_json()[:-5], "not JSON"),
    *((lambda b, t=t: t, "lastblock state") for t in ("[1]", "{}", "null", "7")),
    *((lambda b, t=t: t, "not JSON") for t in ("{", "[" * 10**5, '{"a":' * 10**5, "1" * 5000)),
    (lambda b: text(b, lastblock=2), "upgrade lastblock"),
    (lambda b: text(b, record=json.loads(b.to_json())["record"][4:]), "checksum is wrong"),
    (lambda b: text(b, bandit={}), "checksum is wrong"),
    *((lambda b, c=c: text(b, checksum=c), "checksum is wrong") for c in (None, 7, "", [1])),
    (lambda b: '{"lastblock": 1}', "corrupt"),
]


@pytest.mark.parametrize(
    ("load", "made", "message"),
    [(lb.Bandit.from_bytes, *row) for row in STATES]
    + [(lb.Bandit.from_json, *row) for row in TEXTS],
)
def test_states_with_something_wrong(bandit, load, made, message):
    with pytest.raises(lb.StateFileError, match=message):
        load(made(bandit))


@pytest.mark.parametrize("text", [b"{", b"[1", b"\xff\xfe", b"[" * 100_000, b"1" * 5000])
def test_bytes_whose_description_is_not_json_are_refused(text):
    head = persistence.HEAD.pack(persistence.MAGIC, 1, len(text), 0) + text
    with pytest.raises(lb.StateFileError, match="the description of the state is not JSON"):
        lb.Bandit.from_bytes(head + persistence.digest(head))


def test_the_order_of_a_text_does_not_matter(bandit):
    reordered = json.dumps(dict(sorted(json.loads(bandit.to_json()).items())), indent=2)
    assert lb.Bandit.from_json(reordered).to_bytes() == bandit.to_bytes()


# Wrong contents with a right checksum.


def parts_of(bandit):
    """Return the description and the record of a state."""
    return persistence.unpack(bandit.to_bytes())


def refused(about, record, message):
    """Both forms of the state."""
    for load in (
        lambda: lb.Bandit.from_json(persistence.to_text(about, record)),
        lambda: lb.Bandit.from_bytes(persistence.pack(about, record)),
    ):
        with pytest.raises(lb.StateFileError) as caught:
            load()
        assert message in str(caught.value)


RECORD = [
    ("queue", 7, "queue[0] is 7, not between 0 and 2"),
    ("taken", 9, "taken is 9, "),
    ("taken", 4, "taken is 4, more than queued, "),
    ("arms", 4, "arms is 4 instead of 3"),
    ("round", 0, "its record has not been started"),
    ("leader", 5, "leader is 5, not between 0 and 2"),
    ("out", -1, "out[0] is -1, not between 0 and"),
    ("stream", 0, "stream is all zeros, which is not a random stream"),
    ("end", 1, "end is 1 instead of 0"),
    ("history.kept", 10**6, "history.kept[0] is 1000000, not between 0 and 63"),
    ("history.written", -1, "history.written[0] is -1, not between 0 and"),
]


@pytest.mark.parametrize(("field", "value", "message"), RECORD)
def test_a_record_that_would_lead_a_kernel_astray_is_refused(bandit, field, value, message):
    states = bandit._desk.live.states.copy()
    part = states
    for name in field.split("."):
        part = part[name]
    part[...] = value
    record = to_little(states) + bandit._desk.live.to_bytes()[states.nbytes :]
    refused(parts_of(bandit)[0], record, message)


NOTES = [
    ("told", -1.0, "its counts of rewards are not whole numbers"),
    ("floor", 0.5, "its traffic floors do not lie between 0 and 1"),
    ("planned", 2**63, "its last round names an arm that does not exist"),
]


@pytest.mark.parametrize(("name", "value", "message"), NOTES)
def test_notes_that_cannot_be_are_refused(bandit, name, value, message):
    live = bandit._desk.live.copy()
    getattr(live.notes, name)[...] = value
    refused(parts_of(bandit)[0], live.to_bytes(), message)


def test_a_planned_round_of_other_arms_is_refused(bandit):
    live = bandit._desk.live.copy()
    live.ask(bandit.asked)
    while live.s.taken != 1:  # a round has just been planned, and is noted
        live.ask(bandit.asked)
    fields = live.states.dtype.fields
    live.planned[5 + fields["queue"][1] // 8] = 2**63
    refused(parts_of(bandit)[0], live.to_bytes(), "in its record, queue[")


NESTED = {"name": "Binarized", "parameters": {"policy": 1}}
for _ in range(300):
    NESTED = {"name": "Binarized", "parameters": {"policy": NESTED}}
ABOUT = [
    ({"active": [0, 2, 9]}, "active=9 does not lie between 0 and 3"),
    ({"active": [0, 0, 2]}, "its arms do not add up"),
    ({"retired": [[1, -3, "0x1p0", "0x1p0", "0x1p0", "0x1p0"]]}, "retired=-3 does not lie"),
    ({"retired": [[1, 3, "x", "0x1p0", "0x1p0", "0x1p0"]]}, "hexadecimal"),
    ({"arms": ["red"] * 4}, "repeats a label"),
    ({"arms": 10**12}, "is too many"),
    ({"next_id": -1}, "next_id=-1 does not lie"),
    ({"next_id": 3.5}, "next_id=3.5 must be a whole number"),
    ({"out": [[10**6, 0, None]]}, "out=1000000 does not lie between 0 and"),
    ({"out": [[1, 3, None]]}, "decision 1 is for arm 3, which does not exist"),
    ({"out": [[1, 0, None], [1, 1, None]]}, "decision 1 is out twice"),
    ({"out": [[1, 0, 2.0]]}, "out=2.0 does not lie between 0 and 1"),
    ({"floor_of_all": 7}, "floor_of_all=7.0 does not lie between 0 and 1"),
    ({"floored": 1}, "floored=1 must be True or False"),
    ({"room": [10**9, None]}, "does not fit into a record"),
    ({"room": [2, None]}, "room=2 does not lie"),
    ({"room": [4, 7]}, "room=7 does not fit LBSDALM"),
    ({"layout": "0" * 16}, "its record has another layout"),
    ({"policy": {"name": "GLR", "parameters": {}}}, "is not a policy"),
    ({"policy": {"name": "LBSDALM", "parameters": {"minimum": 10**400}}}, "must lie between"),
    ({"policy": {"name": "LBSDALM", "parameters": {"m": 1}}}, "does not fit"),
    ({"policy": {"name": "LBSDALM", "parameters": {"minimum": 9}}}, "another layout"),
    ({"policy": {"name": "Mine", "parameters": {}}}, "'Mine' is not known; import"),
    ({"policy": NESTED}, "does not fit"),
    *(({"paused": wrong}, "paused") for wrong in ([7], [-1], ["red"], [1.5])),
    ({"ledger": {"rewards": "mean"}}, "rewards='mean' must be one of"),
    ({"ledger": {"parts": [[10**6, 1.0]]}}, "decision 1000000 was never asked for"),
    ({"ledger": {"parts": [[0, "x"]]}}, "reward='x' must be a number"),
    ({"ledger": {"parts": [[0, 1e300]]}}, "reward=1e+300 is too large"),
    ({"ledger": {"parts": [[0, 1.0], [0, 1.0]]}}, "the rewards of decision 0 do not add up"),
    ({"ledger": {"deferred": [[0, "lost", 1.0]]}}, "'lost' is no way to get a reward"),
    ({"ledger": {"deferred": [[0, "told", float("inf")]]}}, "reward=inf must be finite"),
    ({"ledger": {"activated": [[10**6, 0]]}}, "was never asked for"),
    ({"ledger": {"guarded": [[4, 1, 0.0, 0.0, 0.0, 0.0]]}}, "arm 4 does not exist"),
    ({"ledger": {"guarded": [[0, 0, 0.0, 0.0, 0.0, 0.0]]}}, "guarded=0 must be at least 1"),
    ({"ledger": {"remember": [1]}}, "does not fit"),
    (
        {"ledger": {"memory": [[1, 0, ["asked", ["a", ""], [[10**6, 0, None]]]]]}},
        "nothing that a bandit",
    ),
    ({"ledger": {"memory": [[1, 0, ["asked", ["a", ""], [[0, 0, 1]]]]]}}, "nothing that a bandit"),
    ({"ledger": {"memory": [[1, 0, ["asked", ["", ""], []]]]}}, "key='' must be"),
    ({"ledger": {"memory": [[1, 0, ["observed", ["a", 7], []]]]}}, "nothing that a bandit"),
    ({"ledger": {"memory": [[1, 0, ["part", [1.0, ""], [0]]]]}}, "key='' must be"),
    ({"ledger": {"memory": [[1, 0, ["told", "x", [0]]]]}}, "reward='x' must be a number"),
    ({"ledger": {"memory": [[1, 0, ["lost", None, [0]]]]}}, "nothing that a bandit remembers"),
    ({"ledger": {"memory": [["1", 0, ["told", 1.0, [0]]]]}}, "must be whole numbers"),
    ({"ledger": []}, "the ledger is [], not a description"),
]


@pytest.mark.parametrize(("change", "message"), ABOUT)
def test_a_description_that_cannot_be_is_refused(bandit, change, message):
    about, record = parts_of(bandit)
    refused(about | change, record, message)


def test_a_description_that_is_none_is_refused(bandit):
    about, record = parts_of(bandit)
    del about["next_id"]
    for wrong in (None, [], 7, "bandit", {}, about):
        refused(wrong, record, "does not fit this version of lastblock")


@pytest.mark.parametrize("seed", range(30))
def test_noise_is_refused_or_harmless(bandit, seed):
    """Whatever it is, no kernel goes astray: one that did would end the tests."""
    rng = np.random.default_rng(seed)
    record = bytearray(parts_of(bandit)[1])
    start, size = rng.integers(0, 900), rng.choice([1, 4, 8, 64])
    record[start : start + size] = rng.bytes(size)
    try:
        again = lb.Bandit.from_bytes(persistence.pack(parts_of(bandit)[0], bytes(record)))
    except lb.StateFileError:
        return
    for _ in range(100):
        again.tell(again.ask(), 1.0)
    again.summary()
