"""Decisions and their rewards."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Final, NamedTuple

import msgspec
from msgspec import UNSET

from lastblock.live.decisions import Decision
from lastblock.live.labels import Label
from lastblock.serve.forwarding import HEADER, ElsewhereError
from lastblock.serve.groups import Hosted, check_root, reused
from lastblock.serve.guardrails import check_values, guard
from lastblock.serve.http import Body, Request, Response
from lastblock.serve.messages import (
    MOST_DECISIONS,
    Closed,
    ClosedBy,
    DecisionMade,
    DecisionsInTurn,
    DecisionsMade,
    KeyedDecision,
    NewDecision,
    NewDecisions,
    NewObservations,
    NewReward,
    NewRewards,
    RewardOf,
)
from lastblock.serve.problems import ProblemError
from lastblock.serve.reasons import Reason, in_words, reason_of
from lastblock.serve.routing import Parameter, Route
from lastblock.serve.state import State, check_reach

_CHECK: Final = b"lastblock-only-check"
"""The header of rewards that another server is to check, and not to take yet."""


class Away(NamedTuple):
    """Rewards for bandits of another server."""

    where: ElsewhereError
    rewards: list[RewardOf]


def is_only_check(request: Request) -> bool:
    """Return whether another server asks if rewards would be taken."""
    return request.header(_CHECK) is not None and request.header(HEADER) is not None


async def tell_others(
    state: State, request: Request, elsewhere: Mapping[str, Away], *, is_alone: bool
) -> Response | None:
    """Send rewards to the servers that have their bandits: to all of them, or none on an error.

    First all servers check theirs, then each takes them. If one ends in between, the client gets a
    503 and sends all of them again; those that were taken are then the same once more.

    Parameters
    ----------
    state, request
        The service, and the request that brought the rewards.
    elsewhere
        The rewards for each of the other servers.
    is_alone
        Whether this server has none of the bandits.

    Returns
    -------
    Response or None
        What to answer if a server refused; None if they were taken.
    """
    if not elsewhere:
        return None
    if is_alone and len(elsewhere) == 1:
        (only,) = elsewhere.values()
        return await state.forward(request, "tell", only.where)
    for header in ((_CHECK, b"1"), None):
        for where, rewards in elsewhere.values():
            body = msgspec.json.encode(NewRewards(rewards=rewards))
            more = [] if header is None else [header]
            answer = await state.forward(request, "tell", where, body, more)
            if answer.status != 204:
                return answer
            await answer.whole()
    return None


_DECISION, _DECISIONS = Body(NewDecision, is_optional=True), Body(NewDecisions)
_OBSERVATIONS = Body(NewObservations)
_REWARD, _REWARDS, _CLOSED = Body(NewReward), Body(NewRewards), Body(ClosedBy, is_optional=True)
_KEY = Parameter(
    "Idempotency-Key",
    "A text of your own, so that the request can be sent again: it has its effect once.",
    str,
    "header",
)


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
        hosted, key = await self._ready(request), request.header(b"idempotency-key")
        check_distinct(wanted)
        hosted = await self._host.decider(hosted, wanted, key)
        self._commits.check()
        asked = hosted.ask(wanted, key)
        made = _made(hosted, asked, wanted)
        reason = reason_of(hosted, asked) if wanted.why else None
        await self._say_why([(made, reason)])
        await self._commits.written()
        return _answer(made, wanted)

    async def decide_batch(self, request: Request) -> Response:
        """Answer several requests for decisions: all of them, or none."""
        wanted = (await request.read(_DECISIONS)).requests
        if sum(each.n or 1 for each in wanted) > MOST_DECISIONS:
            raise ProblemError("invalid", f"ask for at most {MOST_DECISIONS} decisions at once")
        hosted = await self._ready(request)
        for each in wanted:
            check_distinct(each)
        deciders = await self._deciders(hosted, wanted)
        self._commits.check()
        counts: dict[str, int] = {}
        for decider, each in zip(deciders, wanted, strict=True):
            # All errors that `ask` could raise, before the first is asked.
            decider.check_ask(each, each.key)
            if each.key is not None:
                if counts.setdefault(each.key, each.n or 1) != (each.n or 1):
                    raise reused(each.key, counts[each.key], each.n or 1)
        answers = list[tuple[list[DecisionMade], Reason | None]]()
        for decider, each in zip(deciders, wanted, strict=True):
            asked = decider.ask(each, each.key)
            reason = reason_of(decider, asked) if each.why else None
            answers.append((_made(decider, asked, each), reason))
        await self._say_why(answers)
        await self._commits.written()
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

    async def _find(self, request: Request, token: str) -> Hosted:
        number, _ = self._state.host.store.read_token(token)
        hosted = await self._state.host.numbered(number)
        if hosted is None:
            raise ProblemError("gone", "the bandit of this decision has been deleted")
        check_reach(request, hosted.family.name)
        return hosted

    async def reward(self, request: Request) -> Response:
        """Tell the reward of a decision; telling the same one again is fine."""
        told, token = await request.read(_REWARD), request.parameters[0]
        hosted = await self._find(request, token)
        check_values(hosted, [told.guardrail])
        self._commits.check()
        key = request.header(b"idempotency-key")
        arms = hosted.tell([token], [told.reward], key, [told.guardrail])
        guard(hosted, arms, [told.guardrail])
        await self._commits.written()
        return Response(status=204)

    async def rewards(self, request: Request) -> Response:
        """Tell the rewards of several decisions: all of them, or none."""
        told, key = (await request.read(_REWARDS)).rewards, request.header(b"idempotency-key")
        by_bandit: dict[int, tuple[Hosted, list[str], list[float], list[float | None]]] = {}
        elsewhere: dict[str, Away] = {}
        for each in told:
            try:
                hosted = await self._find(request, each.token)
            except ElsewhereError as error:
                elsewhere.setdefault(error.url, Away(error, [])).rewards.append(each)
                continue
            _, tokens, values, more = by_bandit.setdefault(hosted.number, (hosted, [], [], []))
            tokens.append(each.token)
            values.append(each.reward)
            more.append(each.guardrail)
        for hosted, _, _, more in by_bandit.values():
            check_values(hosted, more)
        self._commits.check()
        for hosted, tokens, values, _ in by_bandit.values():
            hosted.check_rewards(tokens, values, key)  # of all bandits, before any is told
        if refused := await tell_others(self._state, request, elsewhere, is_alone=not by_bandit):
            return refused
        if is_only_check(request):
            return Response(status=204)
        for hosted, tokens, values, more in by_bandit.values():
            guard(hosted, hosted.tell(tokens, values, key, more), more)
        await self._commits.written()
        return Response(status=204)

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
        self._commits.check()
        key = request.header(b"idempotency-key")
        hosted.observe([each.arm for each in seen], [each.reward for each in seen], key)
        await self._commits.written()
        return Response(status=204)

    async def activate(self, request: Request) -> Response:
        """Start the reward window now, for a decision that was made ahead of time."""
        token = request.parameters[0]
        hosted = await self._find(request, token)
        self._commits.check()
        hosted.bandit.activate(token)
        hosted.stamp += 1
        await self._commits.written()
        return Response(status=204)

    async def close(self, request: Request) -> Response:
        """Stop waiting for rewards: the policy is told what they come to."""
        wanted, token = await request.read(_CLOSED), request.parameters[0]
        hosted = await self._find(request, token)
        self._commits.check()
        told = hosted.bandit.close(token, reward=wanted.reward)
        hosted.stamp += 1
        await self._commits.written()
        return Response.json(Closed(reward=told))


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
    many, one = "/v1/bandits/{name}/decisions", "/v1/decisions/{token}"
    of_decision = ("not-found", "conflict", "gone")
    yield Route(
        "POST",
        many,
        do.decide,
        needs="ask",
        takes=_DECISION,
        returns={201: (DecisionMade, DecisionsMade)},
        problems=("not-found", "conflict", "paused", "key-reused"),
        parameters=(_KEY,),
    )
    yield Route(
        "POST",
        f"{many}:batch",
        do.decide_batch,
        needs="ask",
        takes=_DECISIONS,
        returns={201: DecisionsInTurn},
        problems=("not-found", "conflict", "paused", "key-reused"),
    )
    yield Route(
        "PUT",
        f"{one}/reward",
        do.reward,
        needs="tell",
        takes=_REWARD,
        returns={204: None},
        problems=(*of_decision, "key-reused"),
        parameters=(_KEY,),
    )
    yield Route(
        "POST",
        "/v1/rewards:batch",
        do.rewards,
        needs="tell",
        takes=_REWARDS,
        returns={204: None},
        problems=(*of_decision, "key-reused", "damaged"),
        parameters=(_KEY,),
    )
    yield Route(
        "POST",
        f"{one}/activate",
        do.activate,
        needs="tell",
        returns={204: None},
        problems=of_decision,
    )
    yield Route(
        "POST",
        f"{one}/close",
        do.close,
        needs="tell",
        takes=_CLOSED,
        returns={200: Closed},
        problems=of_decision,
    )
    yield Route(
        "POST",
        "/v1/bandits/{name}/observations",
        do.observe,
        needs="tell",
        takes=_OBSERVATIONS,
        returns={204: None},
        problems=("not-found", "conflict", "key-reused"),
        parameters=(_KEY,),
    )
