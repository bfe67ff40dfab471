"""Decisions, and those that others have taken."""

from collections.abc import Iterable, Iterator, Sequence
from typing import Final

from msgspec import UNSET

from lastblock.live.answering import asked_otherwise
from lastblock.live.decisions import Decision
from lastblock.live.labels import Label
from lastblock.serve.groups import Hosted, check_root
from lastblock.serve.http import Body, Request, Response
from lastblock.serve.messages import (
    MOST_DECISIONS,
    DecisionMade,
    DecisionsInTurn,
    DecisionsMade,
    Key,
    KeyedDecision,
    NewDecision,
    NewDecisions,
    NewObservations,
)
from lastblock.serve.problems import ProblemError
from lastblock.serve.reasons import Reason, in_words, reason_of
from lastblock.serve.routing import Parameter, Route
from lastblock.serve.state import State

_DECISION, _DECISIONS = Body(NewDecision, is_optional=True), Body(NewDecisions)
_OBSERVATIONS = Body(NewObservations)
KEY: Final = Parameter(
    "Idempotency-Key",
    "A text of your own, so that the request can be sent again: it has its effect once.",
    Key,
    "header",
)


def key_of(request: Request) -> str | None:
    """Return the key of a request, which is separate for each API key."""
    own: str | None = request.caller.own(request.options.get(KEY.name))
    return own


class _Decisions:
    """The handlers."""

    def __init__(self, state: State) -> None:
        self._state, self._host, self._commits = state, state.host, state.host.commits

    async def _ready(self, request: Request) -> Hosted:
        """Return the bandit of a request for decisions, if it takes some now."""
        hosted = await self._state.bandit(request)
        check_root(hosted)
        if hosted.paused:
            raise ProblemError("paused", f"bandit {hosted.name!r} is paused; it takes rewards only")
        return hosted

    async def decide(self, request: Request) -> Response:
        """Decide: which arm to use now."""
        wanted = await request.read(_DECISION)
        hosted, key = await self._ready(request), key_of(request)
        check_distinct(wanted)
        hosted = await self._host.decider(hosted, wanted, key)
        since = self._commits.check()
        asked = hosted.ask(wanted, key, "" if key is None else hosted.digest_of(wanted))
        made = _made(hosted, asked, wanted)
        reason = reason_of(hosted, asked) if wanted.why else None
        await self._say_why([(made, reason)])
        await self._commits.written(since)
        return _answer(made, wanted)

    async def decide_batch(self, request: Request) -> Response:
        """Answer several requests for decisions: all of them, or none."""
        wanted = (await request.read(_DECISIONS)).requests
        if sum(each.n or 1 for each in wanted) > MOST_DECISIONS:
            raise ProblemError("invalid", f"ask for at most {MOST_DECISIONS} decisions at once")
        hosted = await self._ready(request)
        key, digests, by_key = key_of(request), list[str](), dict[str, str]()
        of_batch = "" if key is None else hosted.digest_of(*wanted)
        for place, each in enumerate(wanted):
            check_distinct(each)
            digests.append("" if each.key is None else hosted.digest_of(each))
            each.key = request.caller.own(each.key)
            if each.key is None and key is not None:  # the batch's key is for all of it
                each.key, digests[place] = f"{key}#{place}", of_batch
            if each.key and by_key.setdefault(each.key, digests[place]) != digests[place]:
                raise asked_otherwise(each.key)
        deciders = await self._deciders(hosted, wanted)
        since = self._commits.check()
        for decider, each, digest in zip(deciders, wanted, digests, strict=True):
            # All errors that `ask` could raise, before the first is asked.
            decider.check_ask(each, each.key, digest)
        answers = list[tuple[list[DecisionMade], Reason | None]]()
        for decider, each, digest in zip(deciders, wanted, digests, strict=True):
            asked = decider.ask(each, each.key, digest)
            reason = reason_of(decider, asked) if each.why else None
            answers.append((_made(decider, asked, each), reason))
        await self._say_why(answers)
        await self._commits.written(since)
        return Response.json(DecisionsInTurn(answers=[made for made, _ in answers]), 201)

    async def _say_why(self, answers: Iterable[tuple[list[DecisionMade], Reason | None]]) -> None:
        """Add to answers why the last decision was taken, where that was asked for."""
        for made, reason in answers:
            if reason is not None:
                made[-1].why = await in_words(self._host.store, reason)

    async def _deciders(self, hosted: Hosted, wanted: Sequence[KeyedDecision]) -> list[Hosted]:
        """Return who decides on each request; requests with the same key have the same one."""
        found, by_key = [], dict[str | None, Hosted]()
        for each in wanted:
            decider = None if each.key is None else by_key.get(each.key)
            found.append(decider or await self._host.decider(hosted, each, each.key))
            by_key[each.key] = found[-1]
        return found

    async def observe(self, request: Request) -> Response:
        """Learn from decisions that somebody else has taken: from all of them, or none."""
        seen = (await request.read(_OBSERVATIONS)).observations
        hosted = await self._state.bandit(request)
        if hosted.family.has_holdout:
            raise ProblemError(
                "conflict",
                f"bandit {hosted.family.name!r} has a holdout: what others have decided would "
                "count as the policy's",
            )
        since = self._commits.check()
        key = key_of(request)
        hosted.observe([each.arm for each in seen], [each.reward for each in seen], key)
        await self._commits.written(since)
        return Response(status=204)


def check_distinct(wanted: NewDecision) -> None:
    """Raise a `ProblemError` for a single decision that is to differ from others."""
    if wanted.distinct and wanted.n is None:
        raise ProblemError("invalid", "distinct needs n: how many different arms?")


def _answer(made: Sequence[DecisionMade], wanted: NewDecision) -> Response:
    answer = made[0] if wanted.n is None else DecisionsMade(decisions=list(made))
    return Response.json(answer, 201)


def _made(
    hosted: Hosted, asked: Sequence[Decision[Label]], wanted: NewDecision
) -> list[DecisionMade]:
    segment = UNSET if wanted.segment is None else hosted.segment
    held_out = hosted.is_holdout if hosted.family.has_holdout else UNSET
    return [
        DecisionMade(
            arm=decision.arm,
            token=decision.token,
            probability=decision.probability,
            payload=hosted.payload(decision.arm),
            held_out=held_out,
            segment=segment,
        )
        for decision in asked
    ]


def routes(state: State) -> Iterator[Route]:
    """Yield the operations."""
    do = _Decisions(state)
    many = "/v1/bandits/{name}/decisions"
    yield Route(
        "POST",
        many,
        do.decide,
        needs="ask",
        takes=_DECISION,
        returns={201: (DecisionMade, DecisionsMade)},
        problems=("not-found", "conflict", "paused", "key-reused"),
        parameters=(KEY,),
    )
    yield Route(
        "POST",
        f"{many}:batch",
        do.decide_batch,
        needs="ask",
        takes=_DECISIONS,
        returns={201: DecisionsInTurn},
        problems=("not-found", "conflict", "paused", "key-reused"),
        parameters=(KEY,),
    )
    yield Route(
        "POST",
        "/v1/bandits/{name}/observations",
        do.observe,
        needs="tell",
        takes=_OBSERVATIONS,
        returns={204: None},
        problems=("not-found", "conflict", "key-reused"),
        parameters=(KEY,),
    )
