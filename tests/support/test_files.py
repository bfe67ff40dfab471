"""Files that are never half written, and never open to more eyes than before."""

import os

import pytest

from lastblock.support import files


@pytest.fixture
def open_umask():
    before = os.umask(0)
    yield
    os.umask(before)


@pytest.mark.parametrize("mode", [0o600, 0o640, 0o664])
def test_a_private_file_stays_private_while_it_is_replaced(tmp_path, open_umask, mode):
    path = tmp_path / "state"
    path.write_bytes(b"old")
    path.chmod(mode)
    with files.replacing(path) as file:
        file.write(b"new")
        file.flush()
        for found in tmp_path.iterdir():
            assert found.stat().st_mode & 0o777 & ~mode == 0
        assert path.read_bytes() == b"old"
    assert path.read_bytes() == b"new"
    assert path.stat().st_mode & 0o777 == mode


def test_a_new_file_has_the_mode_of_any_other(tmp_path, open_umask):
    os.umask(0o027)
    files.write(tmp_path / "new", b"new")
    assert (tmp_path / "new").stat().st_mode & 0o777 == 0o640
