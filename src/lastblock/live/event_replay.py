"""Repeat many events of a bandit in one compiled loop; so a store restores its bandits."""

import logging
import time
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from lastblock.core.failures import explained, specialise
from lastblock.core.restarts import note_extra
from lastblock.core.rounds import hand_out
from lastblock.engine.events import (
    ASK,
    FORGET,
    KINDS,
    NO_CHANCE,
    NOT_OURS,
    NOTES,
    OBSERVE,
    TELL,
    Event,
)
from lastblock.engine.relive import relive
from lastblock.kernels.background import SoonCompiled
from lastblock.kernels.exact_sums import LARGEST_REWARD
from lastblock.kernels.jit import DISABLED, is_foreign, is_kept, plain, specialised_before
from lastblock.kernels.streams import STREAM_WORDS
from lastblock.live.decisions import never_asked
from lastblock.live.eligibility import Wanted, restricted_places
from lastblock.live.labels import Label
from lastblock.live.ledger import check_note
from lastblock.live.state import Live
from lastblock.support.errors import UNREADABLE, short

FEW = 500
"""The most events that plain Python repeats; for more of them, compiling first takes less time."""

MANY = 20_000
"""From this number of observations on, the compiled loop takes less time, even to compile."""

_repeated: dict[Any, int] = {}
"""How many events plain Python has repeated so far, by what their compiled loop would be."""

_log = logging.getLogger(__name__)

EventRows = npt.NDArray[np.float64]
Places = npt.NDArray[np.int64]


def replay_events(
    live: Live,
    run: EventRows,
    places: Places,
    next_id: int,
    out: dict[int, int] | None,
    chances: dict[int, float],
) -> int:
    """Repeat the events in the rows of `run`, and return how many decisions they asked for.

    Parameters
    ----------
    live
        The record, which changes.
    run
        The events, one a row: the kind (the place in `KINDS`), the decision, the number of the arm,
        and the reward or probability.
    places
        The place of each arm in the record, −1 for retired arms.
    next_id
        The number of the next decision.
    out, chances
        The decisions that are out, and their probabilities; both change. If `out` is None, only
        the record changes.

    Raises
    ------
    ValueError
        If the events cannot be those of this bandit.
    """
    _check_rows(run)
    asks = np.flatnonzero(run[:, 0] == ASK)
    if ((run[:, 2] < 0) | (run[:, 2] >= places.size)).any():
        raise ValueError("an event names an arm that does not exist")
    if (run[asks, 1] != next_id + np.arange(asks.size)).any():
        raise ValueError(f"decisions are missing: those asked for must count up from {next_id}")
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


def learn_each(live: Live, places: Sequence[int], values: Sequence[float]) -> None:
    """Learn rewards of decisions that were taken elsewhere, of the arms at these places."""
    if len(places) >= MANY:
        rows = np.empty((len(places), 4))
        rows[:, 0], rows[:, 1], rows[:, 2], rows[:, 3] = TELL, NOT_OURS, places, values
        _play(live, rows, np.arange(live.width))
        return
    for place, value in zip(places, values, strict=True):
        plain(hand_out)(live.s, place)
        note_extra(live.s)
        live.tell(place, value)


def _check_rows(run: EventRows) -> None:
    """Raise a ValueError unless rows are well-formed; somebody may have edited them."""
    kind, decision, arm, value = run.T
    if not ((kind == ASK) | (kind == TELL) | (kind == FORGET)).all():
        raise ValueError("the kind of an event is not ask, tell or forget")
    if (decision != np.floor(decision)).any() or (arm != np.floor(arm)).any():
        raise ValueError("decisions and arms must be whole numbers")
    if not (np.abs(value) < LARGEST_REWARD).all():  # NaN fails as well
        raise ValueError(f"rewards must be finite and below {LARGEST_REWARD:g} in size")


def _answered(
    run: EventRows, asks: Places, places: Places, next_id: int, out: dict[int, int]
) -> npt.NDArray[np.bool_]:
    """Remove the answered decisions from `out`; return which of those asked for here stay open."""
    answers = np.flatnonzero((run[:, 0] != ASK) & (run[:, 1] >= 0.0))  # not what others decided
    ids = run[answers, 1].astype(np.int64)
    is_new = ids >= next_id
    rows, asked = answers[is_new], ids[is_new] - next_id
    stays = np.ones(asks.size, np.bool_)
    if asked.size:
        if asked.max() >= asks.size or np.unique(asked).size < asked.size:
            raise ValueError("an event answers a decision that was not out")
        if (asks[asked] > rows).any() or (run[asks[asked], 2] != run[rows, 2]).any():
            raise ValueError("an event answers a decision for another arm, or before it was taken")
        stays[asked] = False
    rows = answers[~is_new]
    for id, number in zip(ids[~is_new].tolist(), run[rows, 2].astype(int).tolist(), strict=True):
        place = int(places[number])
        if out.pop(id, None) != (place if place >= 0 else -1 - number):
            raise ValueError(f"an event answers decision {id}, which was not out for that arm")
    return stays


def settle_out(
    late: EventRows, places: Places, next_id: int, out: dict[int, int], chances: dict[int, float]
) -> None:
    """Make `out` and `chances` agree with a log in which `next_id` decisions were asked for.

    They differ from the log by the rows of at most one call, `late`; any part of these rows may
    have been applied already.
    """
    phantom = next_id
    while phantom in out:  # it was asked for, but the log does not have it
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


def repeat_soon(live: Live) -> SoonCompiled:
    """Have the loop for this bandit compiled in the background, so that nobody waits for it."""
    kernel = repeating(live)
    kernel.look()
    return kernel


def repeating(live: Live) -> SoonCompiled:
    """Return the loop for this bandit, to be compiled when somebody wants it."""
    example = _arguments(live, np.zeros((1, 4)), 0, np.zeros(1, np.int64))
    return SoonCompiled(relive, *example)


def _arguments(live: Live, run: EventRows, row: int, places: Places) -> tuple[Any, ...]:
    noted = (live.planned, live.told, live.notes.floor, live.is_floored)
    return (live.policy, live.records, *noted, run, row, places)


def _play(live: Live, run: EventRows, places: Places) -> None:
    row = 0
    while row < run.shape[0]:
        arguments = _arguments(live, run, row, places)
        row = _kernel(arguments, run.shape[0] - row)(*arguments)
        if row < run.shape[0]:
            if run[row, 0] != TELL:  # else the record is full
                raise ValueError(f"decision {int(run[row, 1])} was for another arm")
            live.become(live.grown())


def _kernel(arguments: tuple[Any, ...], events: int) -> Callable[..., Any]:
    """Return the loop to repeat this number of events with: plain Python if they are few."""
    code = specialised_before(relive, *arguments)
    if code is not None or DISABLED or (events <= FEW and not _is_due(arguments, events)):
        found: Callable[..., Any] = plain(relive) if code is None else code
        is_users = is_foreign(arguments[0])
        return explained(relive, found, undo=False) if is_users else found
    begun = time.perf_counter()
    code = specialise(relive, *arguments)
    seconds = time.perf_counter() - begun
    _log.info("compiled for %.2f s to repeat %d events", seconds, events)
    return code


def _is_due(arguments: tuple[Any, ...], events: int) -> bool:
    """Return whether to take compiled code for few events: those of many bandits are many.

    Code that was compiled before is loaded soon; to compile it must be worth the time.
    """
    known_as = type(arguments[0]), arguments[1].outline
    before = _repeated.get(known_as, 0)
    _repeated[known_as] = total = before + events
    return total > MANY or (before <= FEW < total and is_kept(relive, *arguments))


EVERY, ARMS = "every", "arms"
"""The entries of an event: a share of every arm, or pairs of an arm and its share."""


def floors_event(
    shares: Sequence[float] | None, of_all: float | None, numbers: Sequence[int]
) -> Event:
    """Return the event that gives the arms with these numbers their shares; None for none."""
    value: dict[str, Any] | None = None
    if of_all is not None:
        value = {EVERY: of_all}
    elif shares is not None:
        pairs = zip(numbers, shares, strict=True)
        value = {ARMS: [[number, share] for number, share in pairs if share > 0.0]}
    return "set_floors", None, None, value


def read_floors_event(
    value: Any, numbers: Sequence[int]
) -> tuple[dict[int, float | None], float | None]:
    """Return the floors of arms by number after an event, and the floor of arms that come later.

    A floor is None if the bandit has none at all from then on.

    Parameters
    ----------
    value
        The value of a "set_floors".
    numbers
        The numbers of the active arms.

    Raises
    ------
    ValueError
        If the event is not one that a bandit writes.
    """
    if value is None:
        return dict.fromkeys(numbers, None), None
    try:
        if EVERY in value:
            share = float(value[EVERY])
            return dict.fromkeys(numbers, share), share
        given = {int(number): float(share) for number, share in value[ARMS]}
    except UNREADABLE:
        given = {-1: 0.0}
    if not given.keys() <= set(numbers):
        raise ValueError(f"an event with {short(value)} does not fit the arms of the bandit")
    return {number: given.get(number, 0.0) for number in numbers}, 0.0


def floors_by_label(
    value: Any, numbers: Sequence[int], labels: Sequence[Label]
) -> "float | dict[Any, float] | None":
    """Return what `set_floors` was called with, by the event that it has written."""
    floors, of_all = read_floors_event(value, numbers)
    if value is None:
        return None
    if of_all:
        return of_all
    return {label: floors[number] or 0.0 for number, label in zip(numbers, labels, strict=True)}


_OF_AN_ARM = ("retire_arm", "pause_arm", "resume_arm", OBSERVE)


def apply_event(bandit: Any, desk: Any, event: Event) -> None:
    """Make the change that another bandit has written to its journal, or raise a ValueError."""
    if len(event) != 4 or event[0] not in (*KINDS, OBSERVE):
        raise ValueError(f"event {event!r} is not known; give one of the kinds {(*KINDS, OBSERVE)}")
    kind, id, place, value = event
    if kind in ("ask", "ask_among"):
        _apply_ask(bandit, desk, event)
    elif kind in ("tell", "forget"):
        if id not in desk.out:
            raise never_asked(id) if id is None else desk.unknown(id)
        if desk.number(id) != place:
            raise ValueError(f"event {event!r} does not fit: the decision was for another arm")
        desk.settle()
        arm = desk.out[id]
        if kind == "forget":
            desk.end_each([], [(id, arm)], [])
        else:  # it may be what several rewards came to, or one that has waited
            desk.end_each([(id, arm, desk.check_reward(value))], [], [])
    elif kind == "add_arm":
        bandit.add_arm(value)
    elif kind in _OF_AN_ARM and place in desk.numbers:
        label = desk.active[desk.numbers.index(place)]
        if kind == OBSERVE:
            bandit.observe(label, value)
        else:
            getattr(bandit, kind)(label)
    elif kind == "set_floors":
        bandit.set_floors(floors_by_label(value, desk.numbers, desk.active))
    elif kind == "reseed" and len(value) == STREAM_WORDS:
        desk.settle()
        desk.reseed(np.array(value, np.uint64))
    elif kind == "skip" and value > desk.next_id:
        desk.settle()
        desk.skip_to(value)
    elif kind in NOTES:
        desk.settle()
        try:
            _check_note(desk, event)
        except UNREADABLE as error:
            raise ValueError(f"event {short(event)} does not fit the bandit: {error}") from None
        desk.note_each([event])
    else:
        raise ValueError(f"event {event!r} does not fit the bandit")


def _apply_ask(bandit: Any, desk: Any, event: Event) -> None:
    """Take a decision again; raise a ValueError if it is not the same one."""
    kind, id, number, value = event
    among, chance = None, value
    if kind == "ask_among":
        among = [desk.active[k] for k in restricted_places(desk.numbers, value)]
        chance = value["probability"]
    elif desk.paused:
        raise ValueError(f"event {event!r} does not fit: some arms are paused")
    trial = desk.copy()
    (asked,), _ = trial.take_each(1, trial.kept_for(1, Wanted(among)), False)
    last = trial.next_id - 1
    if (last, trial.number(last), asked.probability) != (id, number, chance):
        raise ValueError(f"event {event!r} does not fit: the bandit decided {asked}")
    bandit.ask(among=among)


def _check_note(desk: Any, event: Event) -> None:
    """Raise a ValueError if an event that changes the ledger only does not fit the bandit."""
    _, id, arm, _ = event
    check_note(event, desk.next_id, len(desk.labels))
    if id is not None and arm is not None and (id not in desk.out or desk.number(id) != arm):
        raise ValueError("the decision is not out for that arm")


def repeat_among(desk: Any, id: int, number: int | None, value: Any) -> None:
    """Repeat a decision among some arms, from a log; after a ValueError, do not use the desk."""
    asked = desk.ask_arm_among(restricted_places(desk.numbers, value))
    last = desk.next_id - 1
    if (last, desk.number(last), asked.probability) != (id, number, value["probability"]):
        raise ValueError(f"decision {id} was for another arm")
