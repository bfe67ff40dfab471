"""The errors for a bandit that is not in the store, or that somebody else has open."""

import os
from collections.abc import Mapping

from lastblock.support.errors import StoreError
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


def open_elsewhere(label: str, name: str, owner: int) -> StoreError:
    """Return the error for a bandit that process `owner` has open (0 if unknown)."""
    where = f"process {owner}" if owner else "another process"
    if owner == os.getpid():
        where = "another Store of this process"
    return StoreError(f"bandit {name!r} in {label} is open in {where}; close it there first")
