"""Why decisions were taken, also where it was not the policy that chose what was served."""

import asyncio
from collections.abc import Sequence
from typing import Any, NamedTuple

from msgspec import UNSET, UnsetType

from lastblock.live.decisions import Decision
from lastblock.live.labels import Label
from lastblock.live.view import desk_of
from lastblock.serve.hosted import Hosted
from lastblock.serve.problems import ProblemError
from lastblock.serve.shadows import Shadow
from lastblock.store.store import Store
from lastblock.support.errors import UnknownDecisionError


class Reason(NamedTuple):
    """Why a decision was taken, as far as that is known without the log."""

    text: str
    name: str = ""
    """The bandit in whose log the rest is; empty if there is no rest."""
    id: int = 0
    """The decision there."""


def reason_of(hosted: Hosted, asked: Sequence[Decision[Label]]) -> Reason:
    """Return why the last of some decisions was taken; call this before anything else is asked.

    Parameters
    ----------
    hosted
        Who took them, now or when the same request came before.
    asked
        The decisions.
    """
    if is_holdout(hosted):
        return Reason(_held_out(hosted))
    if isinstance(hosted, Shadow):
        if hosted.decider is None or not hosted.chosen:
            return Reason(_SERVED)
        found = reason_of(hosted.decider, hosted.chosen)
        return found._replace(text=f"{found.text}\n{_SERVED}".lstrip())
    desk, last = desk_of(hosted.bandit), asked[-1].id
    if desk.generations.number_of(last) == desk.next_id - 1:
        return Reason(hosted.bandit.explain().text)
    return Reason("", hosted.name, last)


async def in_words(store: Store, reason: Reason) -> str | UnsetType:
    """Return a reason in words, with what is in the log; `UNSET` if that does not know it."""
    if not reason.name:
        return reason.text
    try:
        found = await asyncio.to_thread(store.explain, reason.name, reason.id)
    except UnknownDecisionError:
        return reason.text or UNSET
    return f"{found.text}\n{reason.text}".rstrip()


async def past(store: Store, hosted: Hosted, token: str) -> dict[str, Any]:
    """Return why a past decision of a bandit, or of what belongs to it, was taken.

    Parameters
    ----------
    store
        The store, which has the log.
    hosted
        The bandit.
    token
        The token of the decision.
    """
    number, id = store.read_token(token)
    found = next((each for each in hosted.members if each.number == number), None)
    if found is None:
        raise ProblemError("not-found", f"it is not a decision of bandit {hosted.name!r}")
    said = (await asyncio.to_thread(store.explain, found.name, id)).to_dict()
    if is_holdout(found):
        return {**said, "text": _held_out(found)}
    return {**said, "text": _SERVED} if isinstance(found, Shadow) else said


def is_holdout(hosted: Hosted) -> bool:
    """Return whether a bandit notes the decisions of units in a holdout."""
    return hosted.parent is not None and hosted.parent.holdout is hosted


_SERVED = "The policy is a shadow: another arm is served in place of the one that it chooses."


def _held_out(hosted: Hosted) -> str:
    control = hosted.family.notes["holdout"]["control"]
    return f"The unit is one of the holdout, which always gets the control arm {control!r}."
