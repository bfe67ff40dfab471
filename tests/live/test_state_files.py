"""The bytes and files of a live bandit: they continue bit for bit, or say what is wrong."""

import json

import pytest
from colours import new_bandit, play

import lastblock as lb
from lastblock.live import persistence as snapshot
from lastblock.support import files


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


def without(bandit, name):
    about, record = snapshot.unpack(bandit.to_bytes())
    return snapshot.pack({key: about[key] for key in about if key != name}, record)


def text(b, **changes):
    return json.dumps({**json.loads(b.to_json()), **changes})


def flipped(data, at):
    return data[:at] + bytes([data[at] ^ 1]) + data[at + 1 :]


FITS_NOT = "does not fit this version of lastblock"
OTHER = {"name": "LBSDALM", "parameters": {"minimum": 4, "scale": 0.5}}
STATES = [
    *(
        (lambda b, n=n: flipped(b.to_bytes(), n), "corrupt: its checksum is")
        for n in (30, 900, -17)
    ),
    (lambda b: b.to_bytes() + b"\0", "corrupt"),
    *((lambda b, n=n: b.to_bytes()[:n], f"truncated: {n} of ") for n in (24, 100, 900)),
    (lambda b: b.to_bytes()[:-1], "bytes; restore it"),
    *(
        (lambda b, data=data: data, "not a lastblock state: give a file")
        for data in (b"", b"lastblk\n")
    ),
    (lambda b: b.to_bytes()[1:], "not a lastblock state"),
    (lambda b: flipped(flipped(b.to_bytes(), 8), 9), "upgrade lastblock to load it"),
    (
        lambda b: repacked(b, policy={"name": "Mine", "parameters": {}}),
        "'Mine' is not known; import",
    ),
    (lambda b: repacked(b, layout="0" * 16), f"{FITS_NOT}.*another layout"),
    (lambda b: repacked(b, policy=OTHER), f"{FITS_NOT}.*another layout"),
    (lambda b: repacked(b, policy={"name": "LBSDALM", "parameters": {"m": 1}}), FITS_NOT),
    (lambda b: repacked(b, arms=["one"]), FITS_NOT),
    (lambda b: without(b, "next_id"), FITS_NOT),
    *(
        (lambda b, data=data: data, "is not bytes; give what to_bytes")
        for data in ("x", None, 5, [1])
    ),
]


@pytest.mark.parametrize(("made", "message"), STATES)
def test_states_with_something_wrong(bandit, made, message):
    with pytest.raises(lb.StateFileError, match=message):
        lb.Bandit.from_bytes(made(bandit))


TEXTS = [
    (lambda b: b.to_json()[:-5], "not JSON"),
    (lambda b: "[1]", "not a lastblock state"),
    (lambda b: "{}", "not a lastblock state"),
    (lambda b: text(b, lastblock=2), "upgrade lastblock"),
    (lambda b: text(b, record=json.loads(b.to_json())["record"][4:]), "checksum is wrong"),
    (lambda b: text(b, bandit={}), "checksum is wrong"),
    (lambda b: '{"lastblock": 1}', "corrupt"),
]


@pytest.mark.parametrize(("made", "message"), TEXTS)
def test_texts_with_something_wrong(bandit, made, message):
    with pytest.raises(lb.StateFileError, match=message):
        lb.Bandit.from_json(made(bandit))


def test_the_order_of_a_text_does_not_matter(bandit):
    reordered = json.dumps(dict(sorted(json.loads(bandit.to_json()).items())), indent=2)
    assert lb.Bandit.from_json(reordered).to_bytes() == bandit.to_bytes()


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
