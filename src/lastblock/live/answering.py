"""Requests that may be repeated, and decisions that have several rewards.

The callers of these functions hold the lock of the desk, and give arguments as users did.
"""

from collections.abc import Sequence
from typing import Any, NamedTuple

from lastblock.engine.events import Event
from lastblock.kernels.exact_sums import LARGEST_REWARD
from lastblock.live.decisions import Decision
from lastblock.live.desk import Answer
from lastblock.live.eligibility import ANY, Wanted
from lastblock.live.journalled import JournalledDesk
from lastblock.live.labels import L, as_float, refused
from lastblock.live.ledger import Rewards, check_guarded, combined
from lastblock.live.memory import Ended, check_key, digest_of
from lastblock.support.errors import (
    ExpiredDecisionError,
    KeyReusedError,
    SettledDecisionError,
    ToldOtherwiseError,
    UnknownDecisionError,
    short,
)


def ask_again(
    desk: JournalledDesk[L],
    count: int,
    key: Any,
    wanted: Wanted = ANY,
    digest: str | None = None,
) -> list[Decision[L]]:
    """Take `count` decisions, or return those that were taken with this key before.

    `digest` tells the request from others; None for what `count` and `wanted` say.
    """
    check_key(key)
    desk.settle()
    if digest is None:
        digest = digest_of(count, *(repr(each) for each in wanted))
    found = desk.ledger.memory.asked(key)
    if found is None:
        return desk.ask_each(count, key, wanted, digest)
    desk.check_open()
    if found.digest != digest:
        raise asked_otherwise(key)
    return [
        desk.decision(desk.labels[arm], id, chance, found.time) for id, arm, chance in found.rows
    ]


def asked_otherwise(key: str) -> KeyReusedError:
    """Return the error for a key with which something else was asked for."""
    return KeyReusedError(
        f"key={short(key)} came with another request before; take another key for another request"
    )


class Checked(NamedTuple):
    """Rewards that were checked, as a desk takes them."""

    answers: list[Answer]
    notes: list[Event]
    new: dict[int, Any]
    """The labels of the arms, by the place of each reward that has not come before."""
    refused: dict[int, ValueError]
    """The errors, by the place of each reward that the desk does not take."""


def answer(
    desk: JournalledDesk[Any],
    decisions: Sequence[Any],
    rewards: Sequence[Any],
    key: Any,
    *,
    defer: bool = False,
) -> None:
    """Take rewards of decisions, given in any way: all of them, or none on an error.

    With `defer` the policy learns them when the decisions expire. An error about one of several
    names its place and, if it was given by one, its token.
    """
    if key is not None:
        check_key(key)
        if desk.ledger.rule is None:
            raise ValueError(
                f"key={short(key)} is for bandits that collect several rewards (rewards=…); here a "
                "decision has one, and a token may be told again without a key"
            )
    checked = check_answers(desk, decisions, rewards, [key] * len(decisions), defer=defer)
    for place, error in checked.refused.items():
        if len(decisions) > 1:
            token = f", token {short(decisions[place])}" if type(decisions[place]) is str else ""
            error.args = (f"rewards[{place}]{token}: {error}",)
        raise error
    take_checked(desk, checked)


def check_answers(
    desk: JournalledDesk[Any],
    decisions: Sequence[Any],
    rewards: Sequence[Any],
    keys: Sequence[str | None],
    guarded: Sequence[float | None] | None = None,
    *,
    defer: bool = False,
) -> Checked:
    """Check rewards of decisions, and change nothing.

    With `defer` the policy is to learn them when the decisions expire. `guarded` are values of a
    guardrail that come with them, and that are taken with them.
    """
    desk.settle()
    rule, checked = desk.ledger.rule, Checked([], [], {}, {})
    values = [None] * len(decisions) if guarded is None else guarded
    seen, collected = set[tuple[int, str | None]](), dict[int, float]()
    for place, (decision, reward, key, more) in enumerate(
        zip(decisions, rewards, keys, values, strict=True)
    ):
        try:
            number = _number(desk, decision)
            if (number, key) in seen:
                instead = "" if rule is None else ", or give each of its rewards a key of its own"
                raise SettledDecisionError(
                    f"decision {number} is given twice; tell each decision once{instead}"
                )
            if more is not None:
                check_guarded(more)
            if rule is None:
                value = _new_reward(desk, decision, number, reward)
            else:
                value = _new_part(desk, decision, number, reward, key, rule, collected)
            seen.add((number, key))
        except ValueError as error:
            checked.refused[place] = error
            continue
        if value is None:
            continue
        arm = desk.out[number]
        checked.new[place] = desk.label(arm)
        if rule is not None:
            checked.notes.append(("partial", number, desk.number(number), [value, key]))
        elif defer:
            checked.notes.append(("close", number, desk.number(number), ["told", value]))
        else:
            checked.answers.append((number, arm, value))
            if type(decision) is str:
                checked.notes.append(("remember", number, None, ["told", value, [number]]))
        if more is not None and arm >= 0:  # its arm has not been retired
            checked.notes.append(("guard", None, desk.number(number), [more]))
    return checked


def take_checked(desk: JournalledDesk[Any], checked: Checked) -> None:
    """Take rewards that were checked; the desk must not have changed since."""
    if checked.answers:
        desk.end_each(checked.answers, [], checked.notes)
    elif checked.notes:
        desk.note_each(checked.notes)
    else:
        desk.check_open()


def _new_reward(desk: JournalledDesk[Any], decision: Any, number: int, reward: Any) -> float | None:
    """Return the reward of a decision as a float; None if it has come before. Or raise an error."""
    value = desk.check_reward(reward)
    if desk.is_open(number):
        return value
    ended = desk.ledger.ended(number)
    if type(decision) is not str or ended is None or ended.outcome != "told":
        raise ended_error(desk, decision, number)
    if ended.reward != value:
        raise ToldOtherwiseError(
            f"decision {number} was told the reward {ended.reward!r} "
            f"before, and now {value!r}; a decision has one reward",
            outcome=ended.outcome,
            reward=ended.reward,
        )
    return None


def _new_part(
    desk: JournalledDesk[Any],
    decision: Any,
    number: int,
    reward: Any,
    key: str | None,
    rule: Rewards,
    collected: dict[int, float],
) -> float | None:
    """Return one of several rewards as a float; None if it has come before. Or raise an error.

    `collected` is what decisions have collected by the rewards that are checked before this one.
    """
    value = as_float(reward)
    if not abs(value) < LARGEST_REWARD:
        raise refused(reward, value, desk.live.policy)
    known = None if key is None else desk.ledger.memory.part(number, key)
    if known is not None:
        if known != value:
            raise KeyReusedError(
                f"key={short(key)} came with the reward {known!r} before, now with {value!r}; "
                "take another key for another reward"
            )
        return None
    if not desk.is_open(number):
        raise ended_error(desk, decision, number)
    before = collected.get(number, desk.ledger.parts.get(number))
    total = combined(rule, before, value)
    try:
        desk.check_reward(total)
    except ValueError as error:
        if total == value:
            raise
        raise ValueError(
            f"with reward={value!r} the {rule} of decision {number} would be refused: {error}"
        ) from None
    collected[number] = total
    return value


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
    """Return the number of a decision that waits for a reward; of a token also how it ended, if so.

    Raises
    ------
    UnknownDecisionError
        If the decision does not wait, and is not a token whose decision is remembered to have had
        this outcome.
    """
    is_token = type(decision) is str and desk.tokens is not None
    number = number_of_token(desk, decision) if is_token else desk.find(decision)[0]
    if desk.is_open(number):
        return number, None
    ended = desk.ledger.ended(number)
    if not is_token or ended is None or ended.outcome != outcome:
        raise ended_error(desk, decision, number)
    desk.check_open()
    return number, ended


def ended_error(desk: JournalledDesk[Any], decision: Any, number: int) -> UnknownDecisionError:
    """Return the error for a decision that waits no more, with what is remembered of it."""
    ended = desk.ledger.ended(number)
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
    """End decisions that are out: tell what was collected, else `reward`; forget without either.

    If they have tokens, which may come again, what was deferred is remembered from now on.
    """
    parts, deferred = desk.ledger.parts, desk.ledger.deferred
    told = {id: deferred[id].reward if id in deferred else parts.get(id, reward) for id in numbers}
    answers = [(id, desk.out[id], value) for id, value in told.items() if value is not None]
    dropped = [(id, desk.out[id]) for id, value in told.items() if value is None]
    if desk.tokens is not None:
        ended = [id for id in numbers if id in deferred]
        notes = [*notes, *(("remember", id, None, [*deferred[id], [id]]) for id in ended)]
    desk.end_each(answers, dropped, notes)


def tell_deferred(desk: JournalledDesk[Any]) -> list[int]:
    """Tell the policy the rewards that were to wait until their decisions expire; return those."""
    desk.settle()
    numbers = desk.ledger.by_age(desk.ledger.deferred)
    if numbers:
        end(desk, numbers, None, [])
    return numbers
