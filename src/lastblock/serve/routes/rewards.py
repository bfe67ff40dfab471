"""Rewards of decisions, one by one or many at once, and the end of the wait for them."""

import asyncio
from collections.abc import Iterable, Iterator, Mapping
from typing import Final, NamedTuple

import msgspec
from msgspec.structs import replace

from lastblock.live.answering import Checked
from lastblock.serve.forwarding import HEADER, ElsewhereError
from lastblock.serve.groups import Hosted
from lastblock.serve.guardrails import check_value, guard
from lastblock.serve.http import Body, Request, Response
from lastblock.serve.messages import (
    BatchResult,
    BatchResults,
    Closed,
    ClosedBy,
    NewReward,
    NewRewards,
    RewardOf,
)
from lastblock.serve.problems import Problem, ProblemError, of_problem, unavailable
from lastblock.serve.routes.decisions import KEY, key_of
from lastblock.serve.routing import Route
from lastblock.serve.state import State, check_reach

_REWARD, _REWARDS, _CLOSED = Body(NewReward), Body(NewRewards), Body(ClosedBy, is_optional=True)
_BATCH = "POST /v1/rewards:batch"

_CHECK: Final = b"lastblock-only-check"
"""The header of rewards that another server is to check, and not to take yet."""


class _Group(NamedTuple):
    """Those rewards of a batch that are about one bandit, or about bandits of another server."""

    where: Hosted | ElsewhereError
    places: list[int]
    rewards: list[RewardOf]


Refused = dict[int, ProblemError]
"""Why rewards are refused, by their places in the batch."""


class _Rewards:
    """The handlers."""

    def __init__(self, state: State) -> None:
        self._state, self._commits = state, state.host.commits

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
        check_value(hosted, told.guardrail)
        since = self._commits.check()
        key, more = key_of(request), told.guardrail
        one = RewardOf(token=token, reward=told.reward, guardrail=more, key=key)
        for error in _tell(hosted, [one]).refused.values():
            raise error
        await self._commits.written(since)
        return Response(status=204)

    async def rewards(self, request: Request) -> Response:
        """Tell the rewards of several decisions: each has a result, or all are taken or none."""
        sent = await request.read(_REWARDS)
        groups, refused = await self._sorted(request, sent.rewards)
        if not refused and len(groups) == 1 and isinstance(groups[0].where, ElsewhereError):
            raise groups[0].where  # that server answers
        since = self._commits.check()
        only_check = request.header(_CHECK) is not None and request.header(HEADER) is not None
        if sent.atomic or only_check:
            refused |= await self._tell_groups(request, groups, only_check=True)
        if sent.atomic:
            for place, problem in sorted(refused.items()):
                raise problem.about(place, sent.rewards[place].token)
        if not only_check:
            refused |= await self._tell_groups(request, groups)
            if sent.atomic and refused:
                raise unavailable("a bandit has changed meanwhile; send these rewards again")
            await self._commits.written(since)
        self._state.metrics.refused.update(problem.kind for problem in refused.values())
        return Response.json(
            BatchResults(
                taken=len(sent.rewards) - len(refused),
                refused=len(refused),
                results=[
                    BatchResult(token=each.token, taken=True)
                    if place not in refused
                    else BatchResult(token=each.token, taken=False, problem=refused[place].body())
                    for place, each in enumerate(sent.rewards)
                ],
            )
        )

    async def _sorted(
        self, request: Request, rewards: Iterable[RewardOf]
    ) -> tuple[list[_Group], Refused]:
        """Return rewards by who takes them, and those of decisions that cannot be found."""
        groups, refused = dict[int | str, _Group](), Refused()
        key = request.options.get(KEY.name)
        for place, sent in enumerate(rewards):
            each = sent if sent.key or not key else replace(sent, key=key)
            try:
                hosted = await self._find(request, each.token)
                check_value(hosted, each.guardrail)
                group = groups.setdefault(hosted.number, _Group(hosted, [], []))
            except ElsewhereError as error:
                group = groups.setdefault(error.url, _Group(error, [], []))
            except Exception as error:
                refused[place] = self._state.problem_of(error, _BATCH)
                continue
            if isinstance(group.where, Hosted):  # another server does the same
                each.key = request.caller.own(each.key)
            group.places.append(place)
            group.rewards.append(each)
        return list(groups.values()), refused

    async def _tell_groups(
        self, request: Request, groups: Iterable[_Group], *, only_check: bool = False
    ) -> Refused:
        """Have those rewards taken that can be; or `only_check` whether they can be."""
        refused, sending = Refused(), []
        for group in groups:
            if isinstance(group.where, ElsewhereError):
                sending.append(self._send(request, group.where, group, only_check=only_check))
                continue
            try:
                tell = Hosted.check_rewards if only_check else _tell
                found: Mapping[int, Exception] = tell(group.where, group.rewards).refused
            except Exception as error:  # of the store, which has taken none of them
                found = dict.fromkeys(range(len(group.places)), error)
            for place, why in found.items():
                refused[group.places[place]] = self._state.problem_of(why, _BATCH)
        for each in await asyncio.gather(*sending):
            refused |= each
        return refused

    async def _send(
        self, request: Request, where: ElsewhereError, group: _Group, *, only_check: bool
    ) -> Refused:
        """Have another server take the rewards of its bandits."""
        body = msgspec.json.encode(NewRewards(rewards=group.rewards))
        more = [(_CHECK, b"1")] if only_check else []
        try:
            answer = await self._state.forward(request, "tell", where, body, more)
            data = await answer.whole()
            if answer.status == 200:
                results = msgspec.json.decode(data, type=BatchResults).results
                return {
                    place: of_problem(each.problem)
                    for place, each in zip(group.places, results, strict=True)
                    if isinstance(each.problem, Problem)
                }
            problem = of_problem(msgspec.json.decode(data, type=Problem))
        except ProblemError as error:
            problem = error
        except (msgspec.DecodeError, ValueError) as error:
            problem = unavailable(f"another server answers something else: {error}")
        return dict.fromkeys(group.places, problem)

    async def activate(self, request: Request) -> Response:
        """Start the reward window now, for a decision that was made ahead of time."""
        token = request.parameters[0]
        hosted = await self._find(request, token)
        since = self._commits.check()
        hosted.bandit.activate(token)
        hosted.stamp += 1
        await self._commits.written(since)
        return Response(status=204)

    async def close(self, request: Request) -> Response:
        """Stop waiting for rewards: the policy is told what they come to."""
        wanted, token = await request.read(_CLOSED), request.parameters[0]
        hosted = await self._find(request, token)
        since = self._commits.check()
        told = hosted.close(token, wanted.reward)
        await self._commits.written(since)
        return Response.json(Closed(reward=told))


def _tell(hosted: Hosted, told: list[RewardOf]) -> Checked:
    """Take those rewards that can be taken, and look whether the guardrail pauses an arm."""
    checked = hosted.tell(told)
    guard(hosted, [arm for place, arm in checked.new.items() if told[place].guardrail is not None])
    return checked


def routes(state: State) -> Iterator[Route]:
    """Yield the operations."""
    do, one = _Rewards(state), "/v1/decisions/{token}"
    of_decision = ("not-found", "conflict", "gone")
    yield Route(
        "PUT",
        f"{one}/reward",
        do.reward,
        needs="tell",
        takes=_REWARD,
        returns={204: None},
        problems=(*of_decision, "key-reused"),
        parameters=(KEY,),
    )
    yield Route(
        "POST",
        "/v1/rewards:batch",
        do.rewards,
        needs="tell",
        takes=_REWARDS,
        returns={200: BatchResults},
        problems=(*of_decision, "key-reused", "damaged"),
        parameters=(KEY,),
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
