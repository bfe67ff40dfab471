"""Decisions and their rewards."""

from collections.abc import Iterator
from typing import TypeAlias

from msgspec import UNSET, UnsetType

from lastblock.live.decisions import Decision
from lastblock.live.labels import Label
from lastblock.serve.hosting import Hosted
from lastblock.serve.http import Body, Request, Response
from lastblock.serve.messages import (
    DecisionMade,
    DecisionsMade,
    NewDecision,
    NewReward,
    NewRewards,
)
from lastblock.serve.problems import ProblemError
from lastblock.serve.routing import Route
from lastblock.serve.state import State, check_reach

_DECISION = Body(NewDecision, is_optional=True)
_REWARD, _REWARDS = Body(NewReward), Body(NewRewards)

Why: TypeAlias = str | UnsetType


class _Decisions:
    """The handlers."""

    def __init__(self, state: State) -> None:
        self._state, self._commits, self._tokens = state, state.host.commits, state.tokens

    def _made(
        self, hosted: Hosted, decision: Decision[Label], why: str | UnsetType
    ) -> DecisionMade:
        arm = decision.arm
        hosted.count_decision(arm)
        return DecisionMade(
            arm=arm,
            token=self._tokens.make(hosted.born, decision.id),
            probability=decision.probability,
            payload=hosted.payload(arm),
            why=why,
        )

    async def decide(self, request: Request) -> Response:
        """Take decisions."""
        wanted = await request.read(_DECISION)
        hosted = self._state.bandit(request)
        if hosted.paused:
            raise ProblemError("paused", f"bandit {hosted.name!r} is paused; it takes rewards only")
        self._commits.check()
        body: DecisionMade | DecisionsMade
        if wanted.n is None:
            decision = hosted.bandit.ask()
            why = hosted.bandit.explain().text if wanted.why else UNSET
            body = self._made(hosted, decision, why)
        else:
            asked = hosted.bandit.ask(wanted.n)
            why = hosted.bandit.explain().text if wanted.why else UNSET
            body = DecisionsMade(decisions=[self._made(hosted, each, why) for each in asked])
        await self._commits.written()
        return Response.json(body, 201)

    def _find(self, request: Request, token: str) -> tuple[Hosted, int]:
        born, id = self._tokens.read(token)
        hosted = self._state.host.born(born)
        if hosted is None:
            raise ProblemError("gone", "the bandit of this decision has been deleted")
        check_reach(request, hosted.name)
        return hosted, id

    async def reward(self, request: Request) -> Response:
        """Take a reward."""
        told = await request.read(_REWARD)
        hosted, id = self._find(request, request.parameters[0])
        self._commits.check()
        arm = hosted.arm_of(id)
        hosted.bandit.tell(id, told.reward)
        hosted.count_reward(arm, told.reward)
        await self._commits.written()
        return Response(status=204)

    async def rewards(self, request: Request) -> Response:
        """Take several rewards."""
        told = (await request.read(_REWARDS)).rewards
        found = [(*self._find(request, each.token), each.reward) for each in told]
        self._commits.check()
        by_bandit: dict[str, tuple[Hosted, list[int], list[float]]] = {}
        for hosted, id, value in found:
            _, ids, values = by_bandit.setdefault(hosted.name, (hosted, [], []))
            ids.append(id)
            values.append(value)
        for hosted, ids, values in by_bandit.values():
            hosted.check_rewards(ids, values)  # of all bandits, before any is told
        for hosted, ids, values in by_bandit.values():
            arms = [hosted.arm_of(id) for id in ids]
            hosted.bandit.tell_many(ids, values)
            for arm, value in zip(arms, values, strict=True):
                hosted.count_reward(arm, value)
        await self._commits.written()
        return Response(status=204)


def routes(state: State) -> Iterator[Route]:
    """Yield the operations."""
    do = _Decisions(state)
    yield Route(
        "POST",
        "/v1/bandits/{name}/decisions",
        do.decide,
        "Decide: which arm to use now.",
        needs="ask",
        takes=_DECISION,
        returns={201: (DecisionMade, DecisionsMade)},
        problems=("not-found", "paused"),
    )
    yield Route(
        "PUT",
        "/v1/decisions/{token}/reward",
        do.reward,
        "Tell the reward of a decision.",
        needs="tell",
        takes=_REWARD,
        returns={204: None},
        problems=("not-found", "conflict", "gone"),
    )
    yield Route(
        "POST",
        "/v1/rewards:batch",
        do.rewards,
        "Tell the rewards of several decisions: all of them, or none.",
        needs="tell",
        takes=_REWARDS,
        returns={204: None},
        problems=("not-found", "conflict", "gone"),
    )
