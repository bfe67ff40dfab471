"""Many events of a bandit's life at once, in a compiled loop: how a store gets its bandits back."""

from typing import Any

import numpy as np
import numpy.typing as npt

from lastblock.engine import relive as engine
from lastblock.engine.events import ASK, TELL
from lastblock.kernels.jit import specialise
from lastblock.live.state import Live

Run = npt.NDArray[np.float64]
Numbers = npt.NDArray[np.int64]


def relive(
    live: Live,
    run: Run,
    places: Numbers,
    next_id: int,
    out: dict[int, int],
    chances: dict[int, float],
) -> int:
    """Do what the rows of `run` say to a bandit's record, and to its decisions that are out.

    `places` says where in the record an arm is, −1 for retired ones. Returns how many decisions
    were asked for, or raises a ValueError if that is not what happened to this bandit.
    """
    asks = np.flatnonzero(run[:, 0] == ASK)
    if ((run[:, 2] < 0) | (run[:, 2] >= places.size)).any():
        raise ValueError("there is no such arm")
    if (run[asks, 1] != next_id + np.arange(asks.size)).any():
        raise ValueError("decisions are missing")
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
