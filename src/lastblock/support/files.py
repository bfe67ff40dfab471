"""Write files completely or not at all."""

import os
import secrets
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import BinaryIO

from lastblock.support.spelling import nearest


def open_handles() -> list[int] | None:
    """Return the numbers of all files and sockets that this process has open; None if unknown."""
    for folder in ("/proc/self/fd", "/dev/fd"):
        with suppress(OSError):
            return [int(name) for name in os.listdir(folder)]
    return None


def write(path: Path, data: bytes) -> None:
    """Write a file, or replace it; a crash leaves the old file or the new one, nothing between."""
    with replacing(path) as file:
        file.write(data)


def read(path: str | os.PathLike[str], remedy: str) -> bytes:
    """Return the contents of a file that the user named; errors are those of `opened`."""
    with opened(path, remedy) as file:
        return file.read()


@contextmanager
def opened(path: str | os.PathLike[str], remedy: str) -> Iterator[BinaryIO]:
    """Open a file that the user named, to read it.

    Raises
    ------
    OSError
        If it cannot be read. The message says why and, if there is no such file, which name in its
        folder is near, or else the `remedy`.
    """
    file = Path(path)
    try:
        with file.open("rb") as handle:
            yield handle
    except FileNotFoundError:
        near = _near(file)
        hint = remedy if near is None else f"did you mean {str(near)!r}?"
        raise FileNotFoundError(f"there is no file {str(file)!r}; {hint}") from None
    except IsADirectoryError:
        raise IsADirectoryError(f"{str(file)!r} is a folder; give the name of a file") from None
    except OSError as error:
        raise type(error)(f"{str(file)!r} cannot be read: {error.strerror or error}") from None


def _near(path: Path) -> Path | None:
    """Return a file in the folder of `path` whose name is near."""
    try:
        names = [other.name for other in path.parent.iterdir() if other.is_file()]
    except OSError:
        return None
    name = nearest(path.name, names)
    return None if name is None else path.with_name(name)


@contextmanager
def creating(path: Path) -> Iterator[BinaryIO]:
    """Create a file that only its owner may read, and write it to the disk; never replace one.

    Raises
    ------
    FileExistsError
        If there is a file of this name.
    """
    try:
        number = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    except FileExistsError:
        raise FileExistsError(f"{str(path)!r} exists; give the name of a new file") from None
    except OSError as error:
        raise type(error)(f"{str(path)!r} cannot be written: {error.strerror or error}") from None
    try:
        with open(number, "wb") as file:
            yield file
            file.flush()
            os.fsync(file.fileno())
    except BaseException:
        path.unlink(missing_ok=True)
        raise


@contextmanager
def replacing(path: Path) -> Iterator[BinaryIO]:
    """Open a new file for writing; at the end, if there was no error, it takes the place of `path`.

    Raises
    ------
    IsADirectoryError
        If `path` is a folder.
    FileNotFoundError
        If the folder of `path` does not exist.
    """
    path = path.resolve()  # so that a symbolic link stays, and its target is replaced
    if path.is_dir():
        raise IsADirectoryError(f"{path} is a folder; give the name of a file")
    if not path.parent.is_dir():
        raise FileNotFoundError(f"there is no folder {path.parent}; make it first")
    temporary = path.with_name(f".{path.name}.{secrets.token_hex(8)}")
    mode = path.stat().st_mode & 0o777 if path.exists() else None

    def create(name: str, flags: int) -> int:
        # From the start, nobody can read it who cannot read the file that it replaces.
        return os.open(name, flags, 0o666 if mode is None else mode & 0o700)

    try:
        with open(temporary, "xb", opener=create) as file:
            yield file
            file.flush()
            if mode is not None:
                temporary.chmod(mode)
            os.fsync(file.fileno())
        temporary.replace(path)
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise
