"""Looks at a bandit: summary, explanation, changes, events, export."""

import asyncio
import contextlib
import os
import tempfile
from collections.abc import AsyncIterator, Iterator
from typing import Any
from urllib.parse import quote

from lastblock.serve.evaluating import check_policies, evaluate
from lastblock.serve.guardrails import compare
from lastblock.serve.hosted import Hosted
from lastblock.serve.http import Body, Request, Response, Streamed
from lastblock.serve.messages import ChangeList, Evaluated, NewEvaluation
from lastblock.serve.problems import ProblemError
from lastblock.serve.reasons import past
from lastblock.serve.routing import Parameter, Route
from lastblock.serve.safety_messages import Uplift
from lastblock.serve.state import State
from lastblock.serve.streams import follow
from lastblock.serve.uplift import uplift
from lastblock.store.export import DECISIONS, EVENTS

_EVALUATION = Body(NewEvaluation)
_PART = 1 << 18
_INTERVALS = (
    Parameter("confidence", "The confidence of the intervals; without it, 0.95.", float),
    Parameter("low", "The smallest possible reward.", float),
    Parameter("high", "The largest possible reward.", float),
)
_LARGEST = 1e100  # the squares of such numbers are finite


class _Looks:
    """The handlers."""

    def __init__(self, state: State) -> None:
        self._state, self._store = state, state.host.store
        self._evaluating = asyncio.Lock()

    async def summary(self, request: Request) -> Response:
        """Return the summary of a bandit."""
        hosted, options = await self._state.bandit(request), _options(request)
        found = await asyncio.to_thread(hosted.bandit.summary, **options)
        said = {**found.to_dict(), "text": str(found)}
        said["verdict"] = await asyncio.to_thread(_verdict, hosted, options)
        if hosted.holdout is not None:
            said["uplift"] = await asyncio.to_thread(uplift, hosted, **options)
        guarded = await asyncio.to_thread(compare, hosted)
        if guarded is not None:
            said["guardrail"] = guarded
        return Response.json(said)

    async def explanation(self, request: Request) -> Response:
        """Return why the last round, or a past decision, was as it was."""
        hosted, token = await self._state.bandit(request), request.query().get("decision")
        if token is None:
            return Response.json(hosted.bandit.explain().to_dict())
        return Response.json(await past(self._store, hosted, token))

    async def changes(self, request: Request) -> Response:
        """Return the changes of the world that the policy has noticed."""
        hosted = await self._state.bandit(request)
        changes = [
            {**each.to_dict(), "text": str(each)} for each in reversed(hosted.bandit.changes)
        ]
        return Response.json(ChangeList(changes=changes))

    async def events(self, request: Request) -> Response:
        """Stream the events of a bandit."""
        hosted = await self._state.bandit(request)
        last = request.header(b"last-event-id") or request.query().get("after")
        if last is not None and not (last.isascii() and last.isdigit() and len(last) < 19):
            raise ProblemError("invalid", f"{last!r} is not the number of an event")
        if last is None:
            after = await asyncio.to_thread(self._last, hosted)
        else:
            after = int(last)
        return Streamed(
            follow(self._state, hosted, request, after),
            b"text/event-stream",
            {"Cache-Control": "no-store", "X-Accel-Buffering": "no"},
        )

    def _last(self, hosted: Hosted) -> int:
        self._store.flush()
        return self._store.last_event(hosted.name)

    async def export(self, request: Request) -> Response:
        """Return the log of a bandit as a file."""
        hosted = await self._state.bandit(request)
        what = request.query().get("what", DECISIONS)
        if what not in (DECISIONS, EVENTS):
            raise ProblemError("invalid", f"what={what!r} must be {DECISIONS!r} or {EVENTS!r}")
        handle, path = tempfile.mkstemp(suffix=".parquet")
        os.close(handle)
        try:
            await asyncio.to_thread(self._store.export, hosted.name, path, what)  # type: ignore[arg-type]  # checked above
            opened = open(path, "rb")  # noqa: SIM115  # the stream closes it
        finally:
            with contextlib.suppress(OSError):  # Windows does not remove open files
                os.unlink(path)

        async def parts() -> AsyncIterator[bytes]:
            with opened:
                while part := await asyncio.to_thread(opened.read, _PART):
                    yield part

        name = quote(f"{hosted.name}-{what}.parquet")
        return Streamed(
            parts(),
            b"application/vnd.apache.parquet",
            {"Content-Disposition": f"attachment; filename*=UTF-8''{name}"},
        )

    async def uplift(self, request: Request) -> Response:
        """Return what the policy has earned beyond the control arm."""
        hosted, options = await self._state.bandit(request), _options(request)
        return Response.json(await asyncio.to_thread(uplift, hosted, **options))

    async def evaluate(self, request: Request) -> Response:
        """Replay the log to other policies."""
        wanted = await request.read(_EVALUATION)
        hosted, policies = await self._state.bandit(request), check_policies(wanted)
        async with self._evaluating:  # one after the other: each takes all cores
            found = await asyncio.to_thread(evaluate, self._store, hosted.name, policies, wanted)
        return Response.json(found)


def _options(request: Request) -> dict[str, Any]:
    """Return the confidence of intervals and the bounds of rewards, as far as they are given."""
    query, options = request.query(), dict[str, Any]()
    if "confidence" in query:
        options["confidence"] = _number(query, "confidence")
    if ("low" in query) != ("high" in query):
        raise ProblemError("invalid", "give both low and high, or neither")
    if "low" in query:
        options["bounds"] = (_number(query, "low"), _number(query, "high"))
    return options


def _number(query: dict[str, str], name: str) -> float:
    try:
        value = float(query[name])
    except ValueError:
        raise ProblemError("invalid", f"{name}={query[name]!r} must be a number") from None
    if not abs(value) <= _LARGEST:  # NaN fails as well
        raise ProblemError("invalid", f"{name}={value} must lie between ±{_LARGEST:g}")
    return value


def _verdict(hosted: Hosted, options: dict[str, Any]) -> dict[str, object] | None:
    """Return the verdict; None if a fleet took the rewards and did not keep enough of them."""
    try:
        return hosted.bandit.verdict(**options).to_dict()
    except ValueError:  # `summary` has accepted the options
        return None


def routes(state: State) -> Iterator[Route]:
    """Yield the operations."""
    do, one = _Looks(state), "/v1/bandits/{name}"
    yield Route(
        "GET",
        f"{one}/summary",
        do.summary,
        "Which arm is best, how sure that is, the means of all arms, the uplift over a holdout.",
        needs="read",
        returns={200: dict},
        problems=("not-found",),
        parameters=_INTERVALS,
    )
    yield Route(
        "GET",
        f"{one}/explanation",
        do.explanation,
        "Why the last round, or a past decision, was as it was.",
        needs="read",
        returns={200: dict},
        problems=("not-found", "conflict"),
        parameters=(Parameter("decision", "The token of a past decision."),),
    )
    yield Route(
        "GET",
        f"{one}/changes",
        do.changes,
        "The last changes of the world that the policy has noticed, latest first.",
        needs="read",
        returns={200: ChangeList},
        problems=("not-found",),
    )
    yield Route(
        "GET",
        f"{one}/events",
        do.events,
        "The events of the bandit as they are logged: server-sent events.",
        needs="read",
        returns={200: str},
        problems=("not-found",),
        parameters=(
            Parameter("after", "Begin after the event with this number; without it, now.", int),
            Parameter("Last-Event-ID", "The same; browsers send it by themselves.", str, "header"),
        ),
        media_type="text/event-stream",
    )
    yield Route(
        "GET",
        f"{one}/export",
        do.export,
        "The log as a Parquet file: decisions with their rewards, or all events.",
        needs="read",
        returns={200: bytes},
        problems=("not-found",),
        parameters=(Parameter("what", "`decisions`, the default, or `events`."),),
        media_type="application/vnd.apache.parquet",
    )
    yield Route(
        "POST",
        f"{one}/evaluate",
        do.evaluate,
        "What other policies would have earned: a replay of the bandit's own log.",
        needs="read",
        takes=_EVALUATION,
        returns={200: Evaluated},
        problems=("not-found", "conflict"),
    )
    yield Route(
        "GET",
        f"{one}/uplift",
        do.uplift,
        "How much more the policy has earned for each decision than the control arm.",
        needs="read",
        returns={200: Uplift},
        problems=("not-found", "conflict"),
        parameters=_INTERVALS,
    )
