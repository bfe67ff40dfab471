"""Write files completely or not at all."""

import os
import secrets
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO


def write(path: Path, data: bytes) -> None:
    """Write a file, or replace it; a crash leaves the old file or the new one, nothing between."""
    with replacing(path) as file:
        file.write(data)


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
