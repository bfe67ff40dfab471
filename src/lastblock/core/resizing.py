"""Add an arm to a record, or remove one.

Policies need not know. The layout itself shows which fields have an entry for each arm: those that
are longer where there is room for one more arm. Fields that hold arms say so by
their type (`ARM`, `LINE`). So the entries of an arm that leaves are cut out, the arms after it move
up and are renumbered wherever they stand, and what held the arm itself holds NOBODY. An arm that
enters gets the entries of a policy that has just started, and a place in the round that is being
handed out: it is pulled before the next round is planned. A policy that derives anything else from
the number of arms has a method `resized`.

Nothing here is compiled, because it happens rarely.
"""

from typing import Any

import numpy as np
import numpy.typing as npt

from lastblock.core.layout import ARM, LINE, NOBODY
from lastblock.core.protocol import Record


def keep(old: Record, new: Record, wider: np.dtype[Any], kept: list[int]) -> None:
    """Fill the record `new` from `old`, so that arm j of `new` is arm `kept[j]` of `old`.

    `wider` is the layout of `old` with room for one more arm. `new` holds zeros, and may have room
    for more arms.
    """
    number = np.full(_room(old.dtype, wider) + 1, NOBODY)
    number[kept] = np.arange(len(kept))
    _keep(old, new, wider, np.array(kept), number)


def _keep(
    old: Record,
    new: Record,
    wider: np.dtype[Any],
    kept: npt.NDArray[np.int64],
    number: npt.NDArray[np.uint32],
) -> None:
    for name in old.dtype.names or ():
        kind = old.dtype[name]
        if kind.names:
            _keep(old[name], new[name], wider[name], kept, number)
        elif not kind.shape:
            new[name] = number[_known(old[name], number)] if _holds(kind, ARM) else old[name]
        elif new.dtype[name].shape != (0,):  # a fleet's counts are not kept
            values = old[name]
            if _holds(kind, ARM) or _holds(kind, LINE):
                values = number[_known(values, number)]
            if _holds(kind, LINE):
                line = values[: old["arms"]]
                new[name][: kept.size] = line[line != NOBODY]
            elif kind.shape != wider[name].shape:
                part = tuple(slice(n) for n in (kept.size, *kind.shape[1:]))
                new[name][part] = values[kept]
            else:
                new[name][tuple(slice(n) for n in kind.shape)] = values
    if "queue" in (old.dtype.names or ()):
        taken, queued = int(old["taken"]), int(old["queued"])
        gone = number[_known(old["queue"], number)]
        handed_out = [arm for arm in gone[:taken].tolist() if arm != NOBODY]
        waiting = [arm for arm in gone[taken:queued].tolist() if arm != NOBODY]
        new["queue"] = 0
        new["queue"][: len(handed_out) + len(waiting)] = handed_out + waiting
        new["taken"] = len(handed_out)
        new["queued"] = len(handed_out) + len(waiting)
        new["arms"] = kept.size


def enter(new: Record, started: Record, wider: np.dtype[Any]) -> None:
    """Add an arm, with the entries of the last arm in a record that has just started."""
    _enter(new, started, wider, int(started["arms"]) - 1)


def _enter(new: Record, started: Record, wider: np.dtype[Any], arm: int) -> None:
    for name in new.dtype.names or ():
        kind = new.dtype[name]
        if kind.names:
            _enter(new[name], started[name], wider[name], arm)
        elif _holds(kind, LINE):
            new[name][arm] = arm
        elif kind.shape and kind.shape != wider[name].shape:
            new[name][arm] = started[name][arm]
    if "queue" in (new.dtype.names or ()):
        new["queue"][new["queued"]] = arm
        new["queued"] += 1
        new["arms"] += 1


def copy_streams(old: Record, new: Record) -> None:
    """Copy the random streams of a record, including those of wrapped policies."""
    for name in old.dtype.names or ():
        if old.dtype[name].names:
            copy_streams(old[name], new[name])
        elif name == "stream":
            new[name] = old[name]


def copy(old: Record, new: Record) -> None:
    """Copy a record into one that has the same fields with more room."""
    for name in old.dtype.names or ():
        if old.dtype[name].names:
            copy(old[name], new[name])
        elif old.dtype[name].shape:
            new[name][tuple(slice(n) for n in old.dtype[name].shape)] = old[name]
        else:
            new[name] = old[name]


def _room(dtype: np.dtype[Any], wider: np.dtype[Any]) -> int:
    """Return the number of arms that fit: the length of the first field that `wider` extends."""
    for name in dtype.names or ():
        if dtype[name].shape != wider[name].shape:
            return int(dtype[name].shape[0])
    raise ValueError("the record has no field with an entry for each arm")


def _holds(kind: np.dtype[Any], marker: np.dtype[Any]) -> bool:
    return kind.base.metadata is not None and kind.base.metadata == marker.metadata


def _known(values: Any, number: npt.NDArray[np.uint32]) -> Any:
    """Return arms as indices into `number`, whose last entry is for NOBODY."""
    return np.minimum(np.asarray(values, np.int64), number.size - 1)
