"""Processes that save compiled code at the same time find their own."""

from types import SimpleNamespace

import pytest
from numba import njit
from numba.core.caching import IndexDataCacheFile

from lastblock.kernels.cache_files import keep_apart


def files_in(folder, stamp="a stamp of the source"):
    """The files of a function, as one process sees them."""
    files = IndexDataCacheFile(str(folder), "play-7.py", stamp)
    keep_apart(SimpleNamespace(_cache=SimpleNamespace(_cache_file=files)))
    return files


def saved_at_the_same_time(one, other):
    """Let two processes save, both having read the index if they have one; what each finds."""
    index = one._load_index()
    one._load_index = other._load_index = lambda: dict(index)
    one.save("A", "code of A")
    other.save("B", "code of B")
    del one._load_index, other._load_index
    return [one.load("A"), one.load("B")]


def test_saving_at_the_same_time_mixes_nothing_up(tmp_path):
    found = saved_at_the_same_time(files_in(tmp_path), files_in(tmp_path))
    assert found == ["code of A", "code of B"]


def test_numbered_files_would_be_mixed_up(tmp_path):
    one, other = (IndexDataCacheFile(str(tmp_path), "play-7.py", "a stamp") for _ in range(2))
    assert saved_at_the_same_time(one, other) != ["code of A", "code of B"]


def test_code_of_another_source_is_not_found(tmp_path):
    files_in(tmp_path).save("A", "code of A")
    assert files_in(tmp_path, "another stamp").load("A") is None


class Spelt:
    """A key that is spelt like others."""

    def __init__(self, number):
        self.number = number

    def __repr__(self):
        return "spelt alike"

    def __eq__(self, other):
        return self.number == other.number

    __hash__ = None


def test_keys_that_are_spelt_alike_are_told_apart(tmp_path):
    files = files_in(tmp_path)
    files.save(Spelt(1), "code of 1")
    assert files.load(Spelt(1)) == "code of 1"
    assert files.load(Spelt(2)) is None


@pytest.mark.parametrize("content", [b"", b"\x80\x05damaged", None])
def test_new_code_takes_the_place_of_what_is_damaged_or_gone(tmp_path, content):
    files = files_in(tmp_path)
    files.save("A", "code of A")
    (file,) = tmp_path.iterdir()
    if content is None:
        file.unlink()
    else:
        file.write_bytes(content)
    assert files.load("A") is None
    files.save("A", "code of A")
    assert files.load("A") == "code of A"


@pytest.mark.parametrize("number", [3, 3.0])
def test_a_dispatcher_finds_what_it_has_kept(tmp_path, monkeypatch, number):
    monkeypatch.setattr("numba.core.config.CACHE_DIR", str(tmp_path))

    def twice(x):
        return 2 * x

    assert keep_apart(njit(cache=True)(twice))(number) == 6
    again = keep_apart(njit(cache=True)(twice))
    assert again(number) == 6
    assert sum(again.stats.cache_hits.values()) == 1
