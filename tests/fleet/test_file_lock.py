"""The lock of a fleet's file, as it is here and as it would be on Windows."""

import fcntl
import importlib.util
import os
import struct
import sys
from types import SimpleNamespace

import pytest

from lastblock.fleet import file_lock


def locking(handle, mode, nbytes):
    """What `msvcrt.locking` does, by locks of this system that belong to a handle."""
    kind = fcntl.F_WRLCK if mode == 2 else fcntl.F_UNLCK
    first = os.lseek(handle, 0, os.SEEK_CUR)
    wanted = struct.pack("@hhqqi", kind, os.SEEK_SET, first, nbytes, 0)
    fcntl.fcntl(handle, fcntl.F_OFD_SETLK, wanted)


@pytest.fixture(params=["here", "win32"])
def kind(request, monkeypatch):
    """The class of locks: this system's, and that of Windows."""
    if request.param == "here":
        return file_lock.FileLock
    if not hasattr(fcntl, "F_OFD_SETLK"):
        pytest.skip("this system has no locks like those of Windows")
    monkeypatch.setattr(sys, "platform", "win32")
    fake = SimpleNamespace(locking=locking, LK_NBLCK=2, LK_UNLCK=0)
    monkeypatch.setitem(sys.modules, "msvcrt", fake)
    spec = importlib.util.spec_from_file_location("windows_lock", file_lock.__file__)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    module.FAR = 1 << 32  # file systems of Linux do not go as far
    return module.FileLock


def test_one_lock_at_a_time(kind, tmp_path):
    path = tmp_path / "fleet"
    path.write_bytes(b"records")
    lock = kind(path)
    for _ in range(2):
        with pytest.raises(BlockingIOError, match="fleet is locked"):
            kind(path)
    assert path.read_bytes() == b"records"  # others can read the file
    lock.release()
    lock.release()
    again = kind(path)
    del again  # lets go of it, too
    kind(path).release()
    assert path.stat().st_size == 7
