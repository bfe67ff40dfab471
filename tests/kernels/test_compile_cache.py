"""The compile cache: named by the sources, in the user's folder, never stale."""

import os
import shutil
from pathlib import Path

import pytest

import lastblock
from lastblock.kernels import compile_cache
from processes import run_python

PACKAGE = Path(lastblock.__file__).parent


def play_own(path, cache):
    """What a process prints that finds the package and its cache there."""
    # Python's own cache looks at times and sizes, and would be stale before numba's is.
    where = {"PYTHONPATH": path, "NUMBA_CACHE_DIR": cache, "PYTHONDONTWRITEBYTECODE": 1}
    done = run_python("-c", PLAY_OWN, **where)
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


def edit(file, old, new):
    """Replace text by as much other text, and set the clock back."""
    before = file.stat()
    text = file.read_text()
    assert old in text
    assert len(old) == len(new)
    file.write_text(text.replace(old, new))
    os.utime(file, ns=(before.st_atime_ns, before.st_mtime_ns))


@pytest.fixture
def package_copy(tmp_path):
    """A copy of the package that may be edited."""
    ignored = shutil.ignore_patterns("__pycache__")
    return Path(shutil.copytree(PACKAGE, tmp_path / "copy" / "lastblock", ignore=ignored))


def hash_of(package, monkeypatch):
    monkeypatch.setattr(compile_cache, "PACKAGE", package)
    return compile_cache.source_hash.__wrapped__()


@pytest.mark.parametrize("folder", compile_cache.KERNEL_FOLDERS)
def test_the_hash_sees_every_source_that_kernels_can_see(folder, package_copy, monkeypatch):
    original = hash_of(package_copy, monkeypatch)
    assert original == hash_of(package_copy, monkeypatch)
    edited = sorted(path for path in (package_copy / folder).rglob("*.py") if path.stat().st_size)
    found = [original]
    for source in edited:
        edit(source, '"""', "'''")
        found.append(hash_of(package_copy, monkeypatch))
    assert len(set(found)) == len(found) == 1 + len(edited)
    (package_copy / folder / "new.py").write_text("")
    added = hash_of(package_copy, monkeypatch)
    (package_copy / folder / "new.py").rename(package_copy / folder / "old.py")
    assert len({original, added, hash_of(package_copy, monkeypatch)}) == 3


def test_the_hash_sees_no_source_above_the_kernels(package_copy, monkeypatch):
    """An error message that is worded better costs nobody a compilation."""
    original = hash_of(package_copy, monkeypatch)
    above = {path.name for path in package_copy.iterdir() if path.is_dir()} - {
        *compile_cache.KERNEL_FOLDERS
    }
    assert {"live", "store", "fleet", "simulation", "lab", "cli", "support"} <= above
    for folder in above:
        edit(package_copy / folder / "__init__.py", '"""', "'''")
    edit(package_copy / "__init__.py", '"""', "'''")
    assert hash_of(package_copy, monkeypatch) == original


def test_the_cache_folder_is_named_by_the_hash():
    assert compile_cache.cache_folder().name.endswith(compile_cache.source_hash())


# A live bandit: `simulate` would compile every arm family too.
PLAY_OWN = """
import numba
import lastblock as lb

setting = numba.config.CACHE_DIR
bandit = lb.Bandit(lb.PlayTheWinner(), 2, seed=1, compiled=True)
assert numba.config.CACHE_DIR == setting  # other people's functions keep theirs
arms = []
for _ in range(5):
    decision = bandit.ask()
    arms.append(decision.arm)
    bandit.tell(decision, 1.0)
print(lb.kernels.compile_cache.cache_folder() is not None, len(set(arms)))
"""


def play_the_loser(package):
    edit(package / "policies" / "playthewinner.py", "reward) == 0.0", "reward) == 1.0")


def test_an_edited_package_is_compiled_anew(package_copy, tmp_path):
    # Numba itself would only look at the file of the cached function, engine/live.py.
    path, cache = package_copy.parent, tmp_path / "cache"
    assert play_own(path, cache) == "True 1"
    play_the_loser(package_copy)
    assert play_own(path, cache) == "True 2"
    folders = list(cache.glob("lastblock-kernels-*"))
    assert len(folders) == 2
    assert all(list(folder.rglob("*tell_live*.nbc")) for folder in folders)


def test_old_cache_folders_are_pruned(tmp_path, monkeypatch):
    monkeypatch.setattr(compile_cache, "_cache_roots", lambda: iter([tmp_path]))
    for age in range(1, 8):
        folder = tmp_path / f"lastblock-kernels-{age}"
        folder.mkdir()
        (folder / "kernel.nbc").write_text("")
        os.utime(folder, (10**9 - age, 10**9 - age))
    (tmp_path / "somebody-elses").mkdir()
    current = compile_cache.cache_folder.__wrapped__()
    assert {path.name for path in tmp_path.iterdir()} == {
        current.name,
        "lastblock-kernels-1",
        "lastblock-kernels-2",
        "lastblock-kernels-3",
        "somebody-elses",
    }


def test_nowhere_to_write_means_no_cache(package_copy):
    # Numba alone would fall back to a folder beside the sources that does not know their contents.
    path, nowhere = package_copy.parent, "/dev/null/nowhere"
    assert play_own(path, nowhere) == "False 1"
    assert not list(package_copy.rglob("*.nbi"))


def test_where_nothing_can_be_kept_it_says_so_once_and_what_to_do(caplog, monkeypatch):
    monkeypatch.setattr(compile_cache, "_cache_roots", lambda: iter([Path("/dev/null/nowhere")]))
    assert compile_cache.cache_folder.__wrapped__() is None
    (said,) = caplog.messages
    assert "/dev/null/nowhere (Not a directory); set NUMBA_CACHE_DIR" in said
