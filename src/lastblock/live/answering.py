"""Requests that may be repeated, and decisions that have several rewards.

The callers of these functions hold the lock of the desk, and give arguments as users did.
"""

from collections.abc import Sequence
from typing import Any

from lastblock.engine.events import Event
from lastblock.kernels.exact_sums import LARGEST_REWARD
from lastblock.live.decisions import Decision
from lastblock.live.desk import Answer
from lastblock.live.eligibility import ANY, Wanted
from lastblock.live.journalled import JournalledDesk
from lastblock.live.labels import L, as_float, refused
from lastblock.live.ledger import check_guarded, combined
from lastblock.live.memory import Ended, check_key
from lastblock.support.errors import (
    ExpiredDecisionError,
    KeyReusedError,
    SettledDecisionError,
    ToldOtherwiseError,
    UnknownDecisionError,
    short,
)


def ask_again(
    desk: JournalledDesk[L], count: int, key: Any, wanted: Wanted = ANY
) -> list[Decision[L]]:
    """Take `count` decisions, or return those that were taken with this key before."""
    check_key(key)
    desk.settle()
    found = desk.ledger.memory.asked(key)
    if found is None:
        return desk.ask_each(count, key, wanted)
    desk.check_open()
    if len(found.rows) != count:
        raise KeyReusedError(
            f"key={short(key)} was for {len(found.rows)} decisions, not for {count}; "
            "take another key for another request"
        )
    return [
        desk.decision(desk.labels[arm], id, chance, found.time) for id, arm, chance in found.rows
    ]


def answer(
    desk: JournalledDesk[Any],
    decisions: Sequence[Any],
    rewards: Sequence[Any],
    key: Any,
    *,
    guarded: Sequence[float | None] | None = None,
    only_check: bool = False,
) -> None:
    """Take rewards of decisions, given in any way: all of them, or none on an error.

    `guarded` are values of a guardrail that come with them, and that are taken with them. With
    `only_check` raise the same errors, and take none.
    """
    desk.settle()
    values = [None] * len(decisions) if guarded is None else guarded
    if key is not None:
        check_key(key)
        if desk.ledger.rule is None:
            raise ValueError(
                f"key={short(key)} is for bandits that collect several rewards (rewards=…); here a "
                "decision has one, and a token may be told again without a key"
            )
    numbers = [_number(desk, decision) for decision in decisions]
    if len(set(numbers)) < len(numbers):
        raise UnknownDecisionError("a decision is given twice; tell each decision once")
    if desk.ledger.rule is not None:  # then what is told is one of several rewards
        _collect(desk, decisions, numbers, rewards, values, key, only_check)
        return
    answers: list[Answer] = []
    notes: list[Event] = []
    for decision, number, reward, more in zip(decisions, numbers, rewards, values, strict=True):
        value = desk.check_reward(reward)
        if number not in desk.out:
            _check_told(desk, decision, number, value)
            continue
        answers.append((number, desk.out[number], value))
        if type(decision) is str:
            notes.append(("remember", number, None, ["told", value, [number]]))
        notes += _guard(desk, number, more)
    if answers and only_check:
        return
    if answers:
        desk.end_each(answers, [], notes)
    else:
        desk.check_open()


def _collect(
    desk: JournalledDesk[Any],
    decisions: Sequence[Any],
    numbers: Sequence[int],
    rewards: Sequence[Any],
    guarded: Sequence[float | None],
    key: str | None,
    only_check: bool,
) -> None:
    """Add one more reward to each of some decisions."""
    ledger, notes = desk.ledger, list[Event]()
    for decision, number, reward, more in zip(decisions, numbers, rewards, guarded, strict=True):
        value = as_float(reward)
        if not abs(value) < LARGEST_REWARD:
            raise refused(reward, value, desk.live.policy)
        known = None if key is None else ledger.memory.part(number, key)
        if known is not None:
            if known != value:
                raise KeyReusedError(
                    f"key={short(key)} came with the reward {known!r} before, now with {value!r}; "
                    "take another key for another reward"
                )
            continue
        if number not in desk.out:
            raise ended_error(desk, decision, number)
        _check_total(desk, number, value)
        notes.append(("partial", number, desk.number(number), [value, key]))
        notes += _guard(desk, number, more)
    if notes and only_check:
        return
    if notes:
        desk.note_each(notes)
    else:
        desk.check_open()


def _guard(desk: JournalledDesk[Any], number: int, value: float | None) -> list[Event]:
    """Return the event for a guardrail's value; none for an arm that was retired."""
    if value is None or desk.out[number] < 0:
        return []
    return [("guard", None, desk.number(number), [check_guarded(value)])]


def _check_total(desk: JournalledDesk[Any], number: int, value: float) -> None:
    """Raise a ValueError if the policy would not take what a decision's rewards come to."""
    rule = desk.ledger.rule
    if rule is None:
        return
    total = combined(rule, desk.ledger.parts.get(number), value).value
    try:
        desk.check_reward(total)
    except ValueError as error:
        if total == value:
            raise
        raise ValueError(
            f"with reward={value!r} the {rule} of decision {number} would be refused: {error}"
        ) from None


def _number(desk: JournalledDesk[Any], decision: Any) -> int:
    """Return the number of a decision, which may have ended if its reward may come again."""
    if type(decision) is str and desk.tokens is not None:
        return number_of_token(desk, decision)
    try:
        return desk.find(decision)[0]
    except SettledDecisionError:
        if desk.ledger.rule is None:
            raise
        return int(getattr(decision, "id", decision))


def number_of_token(desk: JournalledDesk[Any], token: str) -> int:
    """Return the number of a token's decision, which may have ended."""
    id = -1 if desk.tokens is None else desk.tokens.read(token)
    if id not in desk.out and not isinstance(error := desk.unknown(id), SettledDecisionError):
        raise error
    return id


def number_out(
    desk: JournalledDesk[Any], decision: Any, outcome: str | None
) -> tuple[int, Ended | None]:
    """Return the number of a decision that is out; of a token also how it ended, if so.

    Raises
    ------
    UnknownDecisionError
        If the decision is not out, and is not a token whose decision is remembered to have had this
        outcome.
    """
    if type(decision) is not str or desk.tokens is None:
        return desk.find(decision)[0], None
    number = number_of_token(desk, decision)
    if number in desk.out:
        return number, None
    ended = desk.ledger.memory.ended(number)
    if ended is None or ended.outcome != outcome:
        raise ended_error(desk, decision, number)
    desk.check_open()
    return number, ended


def _check_told(desk: JournalledDesk[Any], decision: Any, number: int, value: float) -> None:
    """Do nothing if a decision was told this reward; otherwise raise an error."""
    ended = desk.ledger.memory.ended(number)
    if ended is None or ended.outcome != "told":
        raise ended_error(desk, decision, number)
    if ended.reward != value:
        raise ToldOtherwiseError(
            f"decision {number} was told the reward {ended.reward!r} "
            f"before, and now {value!r}; a decision has one reward",
            outcome=ended.outcome,
            reward=ended.reward,
        )


def ended_error(desk: JournalledDesk[Any], decision: Any, number: int) -> UnknownDecisionError:
    """Return the error for a decision that is not out, with what is remembered of it."""
    ended = desk.ledger.memory.ended(number)
    if ended is None:
        if type(decision) is not str:
            return desk.unknown(number)
        return ExpiredDecisionError(
            f"decision {number} waits for no reward any more: it has expired, or was told or "
            "forgotten too long ago or without its token; drop the reward"
        )
    outcome, reward = ended
    if outcome == "told":
        return SettledDecisionError(
            f"decision {number} has been told already; tell each decision once",
            outcome=outcome,
            reward=reward,
        )
    return ExpiredDecisionError(
        f"decision {number} was {outcome}, so it waits for no reward any more; drop the reward",
        outcome=outcome,
        reward=reward,
    )


def end(
    desk: JournalledDesk[Any], numbers: Sequence[int], reward: float | None, notes: list[Event]
) -> None:
    """End decisions that are out: tell what was collected, else `reward`; forget without either."""
    parts = desk.ledger.parts
    told = {id: parts[id].value if id in parts else reward for id in numbers}
    answers = [(id, desk.out[id], value) for id, value in told.items() if value is not None]
    dropped = [(id, desk.out[id]) for id, value in told.items() if value is None]
    desk.end_each(answers, dropped, notes)
