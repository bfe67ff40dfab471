"""States with a right checksum over wrong contents: refused when they are loaded, by one error."""

import json

import numpy as np
import pytest

import lastblock as lb
from lastblock.live import persistence
from lastblock.live.state import to_little

POLICY = lb.LBSDALM(minimum=4, scale=0.0)


def made(**options):
    """A bandit in the middle of its life: decisions are out, an arm has left."""
    bandit = lb.Bandit(POLICY, ["red", "green", "blue", "gold"], seed=7, **options)
    for t in range(60):
        decision = bandit.ask()
        if t % 5:
            bandit.tell(decision, float(t % 3))
    bandit.retire_arm("green")
    for t in range(20):
        bandit.tell(bandit.ask(), float(t % 2))
    bandit.ask()
    return bandit


@pytest.fixture(scope="module")
def bandit():
    return made(floor=0.05)


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


def test_a_true_state_loads(bandit):
    about, record = parts_of(bandit)
    for again in (
        lb.Bandit.from_json(persistence.to_text(about, record)),
        lb.Bandit.from_bytes(persistence.pack(about, record)),
    ):
        assert again.to_bytes() == bandit.to_bytes()


RECORD = [
    ("queue", 7, "queue[0] is 7, not between 0 and 2"),
    ("queued", 9, "queued is 9, not between 0 and 4"),
    ("taken", 9, "taken is 9, "),
    ("taken", 4, "taken is 4, more than queued, "),
    ("arms", 4, "arms is 4 instead of 3"),
    ("round", 0, "its record has not been started"),
    ("round", -5, "round is -5, not between 0 and"),
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
    ("told", np.nan, "its counts of rewards are not whole numbers"),
    ("told", -1.0, "its counts of rewards are not whole numbers"),
    ("floor", np.nan, "its traffic floors do not lie between 0 and 1"),
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


ABOUT = [
    ({"active": [0, 2, 9]}, "active=9 does not lie between 0 and 3"),
    ({"active": [0, 2, -1]}, "active=-1 does not lie"),
    ({"active": [0, 0, 2]}, "its arms do not add up"),
    ({"retired": []}, "its arms do not add up"),
    ({"retired": [[1, -3, "0x1p0", "0x1p0", "0x1p0", "0x1p0"]]}, "retired=-3 does not lie"),
    ({"retired": [[1, 3, "x", "0x1p0", "0x1p0", "0x1p0"]]}, "hexadecimal"),
    ({"arms": ["red"] * 4}, "repeats a label"),
    ({"arms": 10**12}, "is too many"),
    ({"next_id": -1}, "next_id=-1 does not lie"),
    ({"next_id": 2**70}, "does not lie between"),
    ({"next_id": 3.5}, "next_id=3.5 must be a whole number"),
    ({"out": [[10**6, 0, None]]}, "out=1000000 does not lie between 0 and"),
    ({"out": [[1, 3, None]]}, "decision 1 is for arm 3, which does not exist"),
    ({"out": [[1, -1, None]]}, "decision 1 is for arm -1, which does not exist"),
    ({"out": [[1, 0, None], [1, 1, None]]}, "decision 1 is out twice"),
    ({"out": [[1, 0, 2.0]]}, "out=2.0 does not lie between 0 and 1"),
    ({"out": [[1, 0, float("nan")]]}, "must be finite"),
    ({"floor_of_all": 7}, "floor_of_all=7.0 does not lie between 0 and 1"),
    ({"floored": 1}, "floored=1 must be True or False"),
    ({"room": [10**9, None]}, "does not fit into a record"),
    ({"room": [2, None]}, "room=2 does not lie"),
    ({"room": [4, 7]}, "room=7 does not fit LBSDALM"),
    ({"room": 3}, "does not fit"),
    ({"layout": "0" * 16}, "its record has another layout"),
    ({"policy": {"name": "GLR", "parameters": {}}}, "is not a policy"),
    ({"policy": {"name": ["LBSDALM"], "parameters": {}}}, "does not fit"),
    ({"policy": {"name": "LBSDALM", "parameters": {"minimum": 10**400}}}, "must lie between"),
    ({"policy": None}, "does not fit"),
    *(({"paused": wrong}, "paused") for wrong in ([7], [-1], ["red"], [1.5])),
    ({"ledger": {"rewards": "mean"}}, "rewards='mean' must be one of"),
    ({"ledger": {"parts": [[10**6, 1, 1.0]]}}, "decision 1000000 was never asked for"),
    ({"ledger": {"parts": [[0, 1, "x"]]}}, "parts='x' must be a number"),
    ({"ledger": {"parts": [[0, 1, 1e300]]}}, "the rewards of decision 0 do not add up"),
    ({"ledger": {"parts": [[0, 1, 1.0], [0, 1, 1.0]]}}, "do not add up"),
    ({"ledger": {"activated": [[10**6, 0]]}}, "was never asked for"),
    ({"ledger": {"guarded": [[4, 1, 0.0, 0.0, 0.0, 0.0]]}}, "arm 4 does not exist"),
    ({"ledger": {"guarded": [[0, 0, 0.0, 0.0, 0.0, 0.0]]}}, "guarded=0 must be at least 1"),
    ({"ledger": {"guarded": [[0, 1, 0.0, float("inf"), 0.0, 0.0]]}}, "must be finite"),
    ({"ledger": {"remember": [1]}}, "does not fit"),
    ({"ledger": {"memory": [[1, 0, ["asked", "a", [[10**6, 0, None]]]]]}}, "nothing that a bandit"),
    ({"ledger": {"memory": [[1, 0, ["asked", "a", [[0, 0, 1]]]]]}}, "nothing that a bandit"),
    ({"ledger": {"memory": [[1, 0, ["asked", "", []]]]}}, "key='' must be"),
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
    record = parts_of(bandit)[1]
    for about in (None, [], 7, "bandit", {}):
        refused(about, record, "does not fit this version of lastblock")
    nested = {"name": "Binarized", "parameters": {"policy": 1}}
    for _ in range(300):
        nested = {"name": "Binarized", "parameters": {"policy": nested}}
    refused(parts_of(bandit)[0] | {"policy": nested}, record, "does not fit")


@pytest.mark.parametrize("text", [b"{", b"[1", b"\xff\xfe", b"[" * 100_000, b"1" * 5000])
def test_bytes_whose_description_is_not_json_are_refused(text):
    head = persistence.HEAD.pack(persistence.MAGIC, 1, len(text), 0) + text
    with pytest.raises(lb.StateFileError):
        lb.Bandit.from_bytes(head + persistence.digest(head))


@pytest.mark.parametrize("text", ["{", "[" * 100_000, '{"a":' * 100_000, "1" * 5000, "null", "7"])
def test_text_that_is_not_json_is_refused(text):
    with pytest.raises(lb.StateFileError):
        lb.Bandit.from_json(text)


def test_a_forged_number_of_digits_is_refused(bandit):
    text = json.loads(bandit.to_json())
    for checksum in (None, 7, "", [1]):
        with pytest.raises(lb.StateFileError, match="its checksum is wrong"):
            lb.Bandit.from_json(json.dumps(text | {"checksum": checksum}))


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
