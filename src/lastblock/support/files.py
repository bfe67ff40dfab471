"""Files that are never half written."""

import os
import secrets
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO


def write(path: Path, data: bytes) -> None:
    """Replace a file, all or nothing: a crash leaves the old one or the new one."""
    with replacing(path) as file:
        file.write(data)


@contextmanager
def replacing(path: Path) -> Iterator[BinaryIO]:
    """A file to write that replaces another one at the end, if there was no error."""
    path = path.resolve()  # a link stays a link
    if path.is_dir():
        raise IsADirectoryError(f"{path} is a folder; give the name of a file")
    if not path.parent.is_dir():
        raise FileNotFoundError(f"there is no folder {path.parent}; make it first")
    temporary = path.with_name(f".{path.name}.{secrets.token_hex(8)}")
    mode = path.stat().st_mode & 0o777 if path.exists() else None

    def create(name: str, flags: int) -> int:
        # From the beginning nobody may read it who may not read the file that it replaces.
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
