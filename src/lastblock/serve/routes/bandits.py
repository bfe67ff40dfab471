"""Bandits and their arms: create, list, read, change, delete."""

import asyncio
from collections.abc import Iterator
from contextlib import suppress
from urllib.parse import quote

from lastblock.live.bandit import desk_of
from lastblock.serve.groups import Hosted
from lastblock.serve.hosted_bandits import Listed, about_others, list_bandits
from lastblock.serve.http import Body, Request, Response
from lastblock.serve.messages import (
    ArmState,
    BanditLine,
    BanditList,
    BanditState,
    ChangedArm,
    ChangedBandit,
    Guardrail,
    Holdout,
    NewArm,
    NewBandit,
    PageSize,
)
from lastblock.serve.policies import written
from lastblock.serve.routing import Parameter, Route
from lastblock.serve.state import State, check_reach
from lastblock.store.reading import About
from lastblock.store.storage import DamagedError

_NEW, _CHANGED = Body(NewBandit), Body(ChangedBandit)
_NEW_ARM, _CHANGED_ARM = Body(NewArm), Body(ChangedArm)
_MATCH = Parameter("If-Match", "The ETag that you read: change only this version.", str, "header")
_AS_READ = Parameter(
    "If-None-Match", "The ETag that you read: answer 304 if it is the same.", str, "header"
)


class _Bandits:
    """The handlers."""

    def __init__(self, state: State) -> None:
        self._host, self._root = state.host, state.settings.root_path
        self._bandit = state.bandit

    def _shown(
        self, hosted: Hosted, status: int = 200, headers: dict[str, str] | None = None
    ) -> Response:
        segments = [str(each.segment) for each in hosted.segments.values()]
        body = _state(hosted, segments)
        return Response.json(body, status, {"ETag": hosted.etag, **(headers or {})})

    async def create(self, request: Request) -> Response:
        """Create a bandit."""
        new = await request.read(_NEW)
        check_reach(request, new.name)
        hosted = await self._host.create(new)
        where = f"{self._root}/v1/bandits/{quote(new.name, safe='')}"
        return self._shown(hosted, 201, {"Location": where})

    async def list_all(self, request: Request) -> Response:
        """List bandits by name."""
        after, limit = request.options.get("after", ""), request.options.get("limit", 100)
        found = await asyncio.to_thread(list_bandits, self._host, request.caller.reaches)
        rest = [each for each in found if each.name > after]
        shown = rest[:limit]
        following = shown[-1].name if len(rest) > len(shown) else None
        return await asyncio.to_thread(self._listed, shown, following)

    def _listed(self, shown: list[Listed], following: str | None) -> Response:
        """Return the list; for a thread, since a thousand lines take a tenth of a second."""
        others = about_others(self._host, shown)
        lines = [_line(each, others.get(each.name)) for each in shown]
        return Response.json(BanditList(bandits=lines, following=following))

    async def read(self, request: Request) -> Response:
        """Read a bandit; its ETag is for later changes."""
        hosted = await self._bandit(request)
        if request.options.get("If-None-Match") == hosted.etag:
            return Response(status=304, headers={"ETag": hosted.etag})
        return self._shown(hosted)

    async def change(self, request: Request) -> Response:
        """Change or pause a bandit."""
        changed = await request.read(_CHANGED)
        hosted = await self._bandit(request)
        await self._host.change(hosted, changed, request.options.get("If-Match"))
        return self._shown(hosted)

    async def delete(self, request: Request) -> Response:
        """Delete a bandit with all its events."""
        with suppress(DamagedError):  # it can be deleted all the same
            await self._bandit(request)
        await self._host.delete(request.parameters[0], request.options.get("If-Match"))
        return Response(status=204)

    async def add_arm(self, request: Request) -> Response:
        """Add an arm; it is chosen at once."""
        arm = await request.read(_NEW_ARM)
        hosted = await self._bandit(request)
        await self._host.add_arm(hosted, arm, request.options.get("If-Match"))
        return self._shown(hosted, 201)

    async def change_arm(self, request: Request) -> Response:
        """Change what an arm hands back, or its floor; pause or resume it."""
        changed = await request.read(_CHANGED_ARM)
        hosted = await self._bandit(request)
        label = hosted.find_arm(request.parameters[1])
        match = request.options.get("If-Match")
        await self._host.change_arm(hosted, label, changed, match)
        return self._shown(hosted)

    async def retire_arm(self, request: Request) -> Response:
        """Retire an arm for good; its past stays."""
        hosted = await self._bandit(request)
        label = hosted.find_arm(request.parameters[1])
        await self._host.retire_arm(hosted, label, request.options.get("If-Match"))
        return self._shown(hosted)


def routes(state: State) -> Iterator[Route]:
    """Yield the operations."""
    do = _Bandits(state)
    yield Route(
        "POST",
        "/v1/bandits",
        do.create,
        needs="admin",
        takes=_NEW,
        returns={201: BanditState},
        problems=("conflict",),
    )
    yield Route(
        "GET",
        "/v1/bandits",
        do.list_all,
        needs="read",
        returns={200: BanditList},
        parameters=(
            Parameter("after", "Begin after this name."),
            Parameter("limit", "How many to list; without it, 100.", PageSize),
        ),
    )
    one = "/v1/bandits/{name}"
    yield Route(
        "GET",
        one,
        do.read,
        needs="read",
        returns={200: BanditState, 304: None},
        problems=("not-found",),
        parameters=(_AS_READ,),
    )
    yield Route(
        "PATCH",
        one,
        do.change,
        needs="admin",
        takes=_CHANGED,
        returns={200: BanditState},
        problems=("not-found", "conflict", "changed-meanwhile"),
        parameters=(_MATCH,),
    )
    yield Route(
        "DELETE",
        one,
        do.delete,
        needs="admin",
        returns={204: None},
        problems=("not-found", "conflict", "changed-meanwhile"),
        parameters=(_MATCH,),
    )
    yield Route(
        "POST",
        f"{one}/arms",
        do.add_arm,
        needs="admin",
        takes=_NEW_ARM,
        returns={201: BanditState},
        problems=("not-found", "conflict", "changed-meanwhile"),
        parameters=(_MATCH,),
    )
    yield Route(
        "PATCH",
        f"{one}/arms/{{label}}",
        do.change_arm,
        needs="admin",
        takes=_CHANGED_ARM,
        returns={200: BanditState},
        problems=("not-found", "conflict", "changed-meanwhile"),
        parameters=(_MATCH,),
    )
    yield Route(
        "DELETE",
        f"{one}/arms/{{label}}",
        do.retire_arm,
        needs="admin",
        returns={200: BanditState},
        problems=("not-found", "conflict", "changed-meanwhile"),
        parameters=(_MATCH,),
    )


def _state(hosted: Hosted, segments: list[str]) -> BanditState:
    bandit, notes = hosted.bandit, hosted.notes
    pulls, floors = bandit.pulls, bandit.floor
    return BanditState(
        name=hosted.name,
        description=notes.get("description", ""),
        policy=written(bandit.policy),
        arms=[
            ArmState(
                label=label,
                state=state,
                pulls=pulls[label],
                floor=floors.get(label),
                payload=hosted.payload(label),
            )
            for label, state in bandit.arms.items()
        ],
        paused=hosted.paused,
        floor=desk_of(bandit).floor_of_all,
        reward_window=notes.get("reward_window"),
        default_reward=notes.get("default_reward"),
        aggregation=bandit.rewards,
        holdout=Holdout(**notes["holdout"]) if isinstance(notes.get("holdout"), dict) else None,
        segments=notes.get("segments"),
        guardrail=Guardrail(**notes["guardrail"]) if notes.get("guardrail") else None,
        alert_after=notes.get("alert_after"),
        seen_segments=sorted(segments),
        decisions=bandit.asked,
        waiting=hosted.waiting,
        created=notes.get("created"),
        version=hosted.version,
    )


def _line(listed: Listed, about: About | None) -> BanditLine:
    hosted = listed.hosted
    if hosted is None:
        return BanditLine(
            name=listed.name,
            description=listed.notes.get("description", ""),
            policy="?" if about is None else about.policy,
            arms=0 if about is None else about.arms,
            paused=bool(listed.notes.get("paused")),
            decisions=0 if about is None else about.decisions,
            waiting=None,
            damage=listed.damage,
        )
    bandit = hosted.bandit
    return BanditLine(
        name=hosted.name,
        description=hosted.notes.get("description", ""),
        policy=str(bandit.policy),
        arms=sum(state != "retired" for state in bandit.arms.values()),
        paused=hosted.paused,
        decisions=bandit.asked,
        waiting=hosted.waiting,
        damage=None,
    )
