"""The errors for a bandit that is not in the store, or that somebody else has open."""

import os
from collections.abc import Mapping

from lastblock.support.errors import BanditInUseError, StoreError
from lastblock.support.spelling import nearest

_LISTED = 12  # the number of names that a message lists


def number_of(label: str, name: str, names: Mapping[str, int]) -> int:
    """Return the number of a bandit, or raise a `StoreError` that lists the names there are."""
    if name in names:
        return names[name]
    near = nearest(str(name), names)
    hint = f"did you mean {near!r}? It has" if near else "it has"
    listed = ", ".join(list(names)[:_LISTED]) + (", …" if len(names) > _LISTED else "")
    raise StoreError(f"{label} has no bandit {name!r}; {hint}: {listed or 'none; create one'}")


def place_of(process: int) -> str:
    """Return words for the process that has a bandit open; 0 stands for an unknown one."""
    if process == os.getpid():
        return "another Store of this process"
    return f"process {process}" if process else "another process"


def open_elsewhere(label: str, name: str, where: str) -> StoreError:
    """Return the error for a bandit that is open somewhere else."""
    advice = "; close it there first"
    if "Store" not in where:
        advice += ", or run one worker process with threads (gunicorn: -w 1 --threads 8)"
    return BanditInUseError(f"bandit {name!r} in {label} is open in {where}{advice}")
