"""Amounts in words, and the memory of this machine."""

import os
from contextlib import suppress
from pathlib import Path

_BYTES = ("bytes", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB")
_SECONDS = (
    ("seconds", 60.0),
    ("minutes", 60.0),
    ("hours", 24.0),
    ("days", 365.25),
    ("years", 1e3),
    ("thousand years", 1e3),
    ("million years", float("inf")),
)
FASTEST_STEP = 1e-8
"""Seconds: no policy takes less for a step, on any machine that we know."""

LONGEST_WORK = 365.25 * 86400.0
"""Seconds of one core, at `FASTEST_STEP`: nobody waits for more."""

_CGROUP_LIMITS = ("/sys/fs/cgroup/memory.max", "/sys/fs/cgroup/memory/memory.limit_in_bytes")


def in_bytes(size: float) -> str:
    """Return a number of bytes in words.

    Examples
    --------
    >>> in_bytes(999), in_bytes(3 << 30)
    ('999 bytes', '3 GiB')
    """
    for unit in _BYTES[:-1]:
        if size < 1024:
            return f"{size:.3g} {unit}"
        size /= 1024
    return f"{size:,.0f} {_BYTES[-1]}" if size >= 1000 else f"{size:.3g} {_BYTES[-1]}"


def in_time(seconds: float) -> str:
    """Return a number of seconds in words.

    Examples
    --------
    >>> in_time(90), in_time(1e12)
    ('1.5 minutes', '31.7 thousand years')
    """
    for unit, next_one in _SECONDS:
        if seconds < next_one:
            return f"{seconds:.3g} {unit}"
        seconds /= next_one
    return f"{seconds:.3g} {_SECONDS[-1][0]}"


def machine_memory() -> int | None:
    """Return the bytes of memory that this process may use at most; None if nothing says so."""
    known = []
    with suppress(AttributeError, OSError, ValueError):
        known.append(os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES"))
    for path in _CGROUP_LIMITS:  # of a container
        with suppress(OSError, ValueError):
            known.append(int(Path(path).read_text()))
    return min(known, default=None)
