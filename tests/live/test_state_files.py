"""The bytes and files of a live bandit: they continue bit for bit, or say what is wrong."""

import re
import struct

import pytest
from colours import new_bandit, play

import lastblock as lb
from lastblock.live import persistence as snapshot
from lastblock.support import files


def test_bytes_continue_bit_for_bit(bandit):
    copy = lb.Bandit.from_bytes(bandit.to_bytes())
    assert copy.policy == bandit.policy
    assert copy.pending == bandit.pending
    assert copy.pulls == bandit.pulls
    for pending in copy.pending:
        copy.tell(pending, 2.5)
        bandit.tell(pending, 2.5)
    assert play(copy, 300) == play(bandit, 300)
    assert copy.to_bytes() == bandit.to_bytes()


def test_a_state_may_lie_in_any_buffer(bandit):
    state = bandit.to_bytes()
    for data in (bytearray(state), memoryview(state)):
        assert lb.Bandit.from_bytes(data).to_bytes() == state


@pytest.mark.parametrize("data", ["hello", None, 5, [1, 2]])
def test_what_is_not_bytes_is_no_state(data):
    told = "is not bytes; give what to_bytes"
    with pytest.raises(lb.StateFileError, match=rf"^{re.escape(repr(data))} {told}"):
        lb.Bandit.from_bytes(data)


def test_files_continue_bit_for_bit(bandit, tmp_path):
    path = tmp_path / "bandit.state"
    bandit.save(path)
    copy = lb.Bandit.load(str(path))
    assert play(copy, 100) == play(bandit, 100)
    bandit.save(path)  # over the old one
    assert lb.Bandit.load(path).to_bytes() == bandit.to_bytes()
    assert [file.name for file in tmp_path.iterdir()] == ["bandit.state"]


def test_a_failing_write_leaves_the_old_file(bandit, tmp_path, monkeypatch):
    path = tmp_path / "bandit.state"
    bandit.save(path)
    old = path.read_bytes()
    play(bandit, 10)

    def full_disk(_):
        raise OSError("no space left on device")

    monkeypatch.setattr(files.os, "fsync", full_disk)
    with pytest.raises(OSError, match="no space left"):
        bandit.save(path)
    assert path.read_bytes() == old
    assert list(tmp_path.iterdir()) == [path]


def repacked(bandit, **changes):
    about, record = snapshot.unpack(bandit.to_bytes())
    return snapshot.pack({**about, **changes}, record)


def refuses(data, message):
    with pytest.raises(lb.StateFileError, match=message):
        lb.Bandit.from_bytes(data)


def test_corrupt_states(bandit):
    data = bandit.to_bytes()
    for at in (30, len(data) // 2, len(data) - 1):
        flipped = bytearray(data)
        flipped[at] ^= 1
        refuses(bytes(flipped), "corrupt: its checksum is wrong; restore it from a copy")
    refuses(data + b"\0", "corrupt")


def test_truncated_states(bandit):
    data = bandit.to_bytes()
    for size in (24, 100, len(data) // 2, len(data) - 1):
        refuses(data[:size], f"truncated: {size} of {len(data)} bytes; restore it")


def test_foreign_states(bandit):
    for data in (b"", b"lastblk\n", b"PK\x03\x04" + bytes(100), bandit.to_bytes()[1:]):
        refuses(data, "not a lastblock state: give a file that save")


def test_newer_states(bandit):
    data = bytearray(bandit.to_bytes())
    struct.pack_into("<I", data, 8, snapshot.VERSION + 1)
    refuses(bytes(data), "upgrade lastblock to load it")


def test_unknown_policies(bandit):
    unknown = {"name": "Mine", "parameters": {}}
    refuses(repacked(bandit, policy=unknown), "'Mine' is not known; import the module that defines")


def test_states_that_do_not_fit(bandit):
    fits_not = "does not fit this version of lastblock"
    refuses(repacked(bandit, layout="0" * 16), f"{fits_not}.*another layout")
    other = {"name": "LBSDALM", "parameters": {"minimum": 4, "scale": 0.5}}
    refuses(repacked(bandit, policy=other), f"{fits_not}.*another layout")
    refuses(repacked(bandit, policy={"name": "LBSDALM", "parameters": {"m": 1}}), fits_not)
    refuses(repacked(bandit, arms=["one"]), fits_not)
    about, record = snapshot.unpack(bandit.to_bytes())
    del about["next_id"]
    refuses(snapshot.pack(about, record), fits_not)


def test_saving_where_there_is_no_folder(tmp_path):
    with pytest.raises(FileNotFoundError, match=r"there is no folder .*none; make it first"):
        new_bandit().save(tmp_path / "none" / "b.lastblock")
    assert not list(tmp_path.iterdir())


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
