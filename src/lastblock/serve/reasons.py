"""Why decisions were taken, also those of the holdout."""

import asyncio
from collections.abc import Sequence
from typing import Any, TypeAlias

from msgspec import UNSET, UnsetType

from lastblock.live.bandit import desk_of
from lastblock.live.decisions import Decision
from lastblock.live.labels import Label
from lastblock.serve.groups import Hosted
from lastblock.serve.problems import ProblemError
from lastblock.store.store import Store
from lastblock.support.errors import UnknownDecisionError

Reason: TypeAlias = str | tuple[str, int]
"""Why a decision was taken; or the bandit in whose log that is, and the decision there."""


def reason_of(hosted: Hosted, asked: Sequence[Decision[Label]]) -> Reason:
    """Return why the last of some decisions was taken; call this before anything else is asked.

    Parameters
    ----------
    hosted
        Who took them, now or when the same request came before.
    asked
        The decisions.
    """
    if hosted.is_holdout:
        return _held_out(hosted)
    desk, last = desk_of(hosted.bandit), asked[-1].id
    if last == desk.next_id - 1:
        return hosted.bandit.explain().text
    return hosted.name, last


async def in_words(store: Store, reason: Reason) -> str | UnsetType:
    """Return a reason in words; `UNSET` if the log does not know it."""
    if isinstance(reason, str):
        return reason
    try:
        return (await asyncio.to_thread(store.explain, *reason)).text
    except UnknownDecisionError:
        return UNSET


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
    if found.is_holdout:
        return {**said, "text": _held_out(found)}
    return said


def _held_out(hosted: Hosted) -> str:
    control = hosted.family.notes["holdout"]["control"]
    return f"The unit is one of the holdout, which always gets the control arm {control!r}."
