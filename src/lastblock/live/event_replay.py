"""Many events of a bandit's life at once, in a compiled loop: how a store gets its bandits back."""

from typing import Any

import numpy as np
import numpy.typing as npt

from lastblock.engine import relive as engine
from lastblock.engine.events import ASK, FORGET, NO_CHANCE, TELL
from lastblock.kernels.exact_sums import LARGEST_REWARD
from lastblock.kernels.jit import specialise
from lastblock.live.state import Live

Run = npt.NDArray[np.float64]
Numbers = npt.NDArray[np.int64]


def relive(
    live: Live,
    run: Run,
    places: Numbers,
    next_id: int,
    out: dict[int, int] | None,
    chances: dict[int, float],
) -> int:
    """Do what the rows of `run` say to a bandit's record, and to its decisions that are out.

    `places` says where in the record an arm is, −1 for retired ones. Without `out`, the record
    alone. Returns how many decisions were asked for, or raises a ValueError if that is not what
    happened to this bandit.
    """
    _check_rows(run)
    asks = np.flatnonzero(run[:, 0] == ASK)
    if ((run[:, 2] < 0) | (run[:, 2] >= places.size)).any():
        raise ValueError("there is no such arm")
    if (run[asks, 1] != next_id + np.arange(asks.size)).any():
        raise ValueError("decisions are missing")
    if out is None:
        _play(live, run, places)
        return int(asks.size)
    open_ids = _answered(run, asks, places, next_id, out)
    _play(live, run, places)
    for row in asks[open_ids].tolist():
        id = int(run[row, 1])
        out[id] = int(places[int(run[row, 2])])
        if live.is_floored:
            chances[id] = float(run[row, 3])
    for id in chances.keys() - out.keys():
        del chances[id]
    return int(asks.size)


def _check_rows(run: Run) -> None:
    """Rows that somebody has edited may hold anything."""
    kind, decision, arm, value = run.T
    if not ((kind == ASK) | (kind == TELL) | (kind == FORGET)).all():
        raise ValueError("there is no such kind of event")
    if (decision != np.floor(decision)).any() or (arm != np.floor(arm)).any():
        raise ValueError("decisions and arms are whole numbers")
    if not (np.abs(value) < LARGEST_REWARD).all():  # NaN fails as well
        raise ValueError(f"rewards must be finite and below {LARGEST_REWARD:g} in size")


def _answered(
    run: Run, asks: Numbers, places: Numbers, next_id: int, out: dict[int, int]
) -> npt.NDArray[np.bool_]:
    """Take out the decisions that are answered; which of those asked for here stay open?"""
    answers = np.flatnonzero(run[:, 0] != ASK)
    ids = run[answers, 1].astype(np.int64)
    is_new = ids >= next_id
    rows, asked = answers[is_new], ids[is_new] - next_id
    stays = np.ones(asks.size, np.bool_)
    if asked.size:
        if asked.max() >= asks.size or np.unique(asked).size < asked.size:
            raise ValueError("a decision is answered that was not out")
        if (asks[asked] > rows).any() or (run[asks[asked], 2] != run[rows, 2]).any():
            raise ValueError("a decision is answered for another arm, or too early")
        stays[asked] = False
    rows = answers[~is_new]
    for id, number in zip(ids[~is_new].tolist(), run[rows, 2].astype(int).tolist(), strict=True):
        place = int(places[number])
        if out.pop(id, None) != (place if place >= 0 else -1 - number):
            raise ValueError(f"decision {id} is answered, which was not out for that arm")
    return stays


def settle_out(
    late: Run, places: Numbers, next_id: int, out: dict[int, int], chances: dict[int, float]
) -> None:
    """Make the decisions that are out agree with a log in which `next_id` were asked for.

    They differ by the rows of one call at most, `late`, of which any part may have been done.
    """
    phantom = next_id
    while phantom in out:  # asked for, but not in the log
        del out[phantom]
        chances.pop(phantom, None)
        phantom += 1
    for kind, decision, number, value in late.tolist():
        id = int(decision)
        if kind == ASK:
            out[id] = int(places[int(number)])
            if value != NO_CHANCE:
                chances[id] = value
        else:
            out.pop(id, None)
            chances.pop(id, None)


def _play(live: Live, run: Run, places: Numbers) -> None:
    row = 0
    while row < run.shape[0]:
        arguments: tuple[Any, ...] = (
            live.policy,
            live.states,
            live.planned,
            live.told,
            live.notes.floor,
            live.is_floored,
            run,
            row,
            places,
        )
        row = specialise(engine.relive, *arguments)(*arguments)
        if row < run.shape[0]:
            if run[row, 0] != TELL:
                raise ValueError(f"decision {int(run[row, 1])} was for another arm")
            live.become(live.grown())
