"""Reports on a bandit: summary, explanation, changes, events, export, evaluation; and alerts."""

import asyncio
import contextlib
import math
import os
import tempfile
from collections.abc import AsyncIterator, Iterator, Mapping
from pathlib import Path
from typing import Any
from urllib.parse import quote

from lastblock.core.protocol import Policy
from lastblock.core.registry import as_written
from lastblock.replay.own_log import COLUMNS, evaluate_own_log
from lastblock.serve.groups import Hosted
from lastblock.serve.guardrails import compare
from lastblock.serve.http import Body, Request, Response, Streamed
from lastblock.serve.keys import Key
from lastblock.serve.messages import (
    Alert,
    AlertList,
    Bound,
    ChangeList,
    Confidence,
    Estimated,
    Evaluated,
    EventNumber,
    NewEvaluation,
    Uplift,
)
from lastblock.serve.policies import read_policy
from lastblock.serve.problems import ProblemError
from lastblock.serve.reasons import past
from lastblock.serve.routing import Parameter, Route
from lastblock.serve.state import State
from lastblock.serve.streams import as_stream, follow, last_seen
from lastblock.serve.uplift import mean_reward, shown, uplift
from lastblock.store.export import DECISIONS, What
from lastblock.store.export_formats import Format
from lastblock.store.store import Store
from lastblock.support.columns import CHOICES, read_columns


def check_policies(wanted: NewEvaluation) -> dict[str, Policy]:
    """Return the policies to evaluate by their names, or raise a ValueError."""
    made = [read_policy(each) for each in wanted.policies]
    return {as_written(policy): policy for policy in made}


def evaluate(
    store: Store, name: str, policies: dict[str, Policy], wanted: NewEvaluation
) -> Evaluated:
    """What other policies would have earned: a replay of the bandit's own log."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "log.jsonl"
        if not store.export(name, path):
            raise ProblemError(
                "conflict", f"bandit {name!r} has no decisions with a reward in its log yet"
            )
        log = read_columns(path, list(COLUMNS[:-1]), CHOICES)
    try:
        found = evaluate_own_log(
            store.bandit(name),
            log,
            policies,
            replications=wanted.replications,
            bootstrap=wanted.bootstrap,
            seed=wanted.seed,
        )
    except ValueError as error:
        raise ProblemError("conflict", f"bandit {name!r}: {error}") from None
    return Evaluated(
        decisions=found.decisions,
        logged=shown(found.logged),
        used=found.used,
        policies=[
            Estimated(policy, float(each.matched[:, -1].mean()), *map(_known, numbers))
            for policy, each in found.policies.items()
            for numbers in [(each.estimate, each.standard_error, *each.interval())]
        ],
    )


def _known(value: float) -> float | None:
    return None if math.isnan(value) else float(value)


_EVALUATION = Body(NewEvaluation)
_PART = 1 << 18
_INTERVALS = (
    Parameter("confidence", "The confidence of the intervals; without it, 0.95.", Confidence),
    Parameter("low", "The smallest possible reward; give both or neither.", Bound),
    Parameter("high", "The largest possible reward.", Bound),
)
_MEDIA_TYPES: Mapping[Format, str] = {
    "csv": "text/csv",
    "jsonl": "application/jsonl",
    "parquet": "application/vnd.apache.parquet",
}


class _Reports:
    """The handlers."""

    def __init__(self, state: State) -> None:
        self._state, self._store = state, state.host.store
        self._evaluating = asyncio.Lock()

    async def summary(self, request: Request) -> Response:
        """Which arm is best, how sure that is, mean rewards, the uplift over a holdout."""
        hosted, options = await self._state.bandit(request), _options(request)
        found = await asyncio.to_thread(hosted.bandit.summary, **options)
        said = {**found.to_dict(), "text": str(found)}
        earned = await asyncio.to_thread(mean_reward, hosted, **options)
        said["mean_reward"] = shown(earned)
        said["verdict"] = await asyncio.to_thread(_verdict, hosted, options)
        if hosted.holdout is not None:
            said["uplift"] = await asyncio.to_thread(uplift, hosted, **options)
        guarded = await asyncio.to_thread(compare, hosted)
        if guarded is not None:
            said["guardrail"] = guarded
        return Response.json(said)

    async def explanation(self, request: Request) -> Response:
        """Why the last round, or a past decision, was as it was."""
        hosted, token = await self._state.bandit(request), request.options.get("decision")
        if token is None:
            return Response.json(hosted.bandit.explain().to_dict())
        return Response.json(await past(self._store, hosted, token))

    async def changes(self, request: Request) -> Response:
        """The last changes of the world that the policy has noticed, latest first."""
        hosted = await self._state.bandit(request)
        changes = [
            {**each.to_dict(), "text": str(each)} for each in reversed(hosted.bandit.changes)
        ]
        return Response.json(ChangeList(changes=changes))

    async def events(self, request: Request) -> Response:
        """The events of the bandit as they are logged: server-sent events."""
        hosted = await self._state.bandit(request)
        after = last_seen(request)
        if after is None:
            after = await asyncio.to_thread(self._last, hosted)
        return as_stream(follow(self._state, hosted, request, after))

    def _last(self, hosted: Hosted) -> int:
        self._store.flush()
        return self._store.last_event(hosted.name)

    async def export(self, request: Request) -> Response:
        """The log as CSV, JSON lines or Parquet: decisions with their rewards, or all events."""
        hosted, options = await self._state.bandit(request), request.options
        what, format = options.get("what", DECISIONS), options.get("format", "csv")
        handle, path = tempfile.mkstemp()
        os.close(handle)
        try:
            await asyncio.to_thread(self._store.export, hosted.name, path, what, format=format)
            opened = open(path, "rb")  # noqa: SIM115  # the stream closes it
        finally:
            with contextlib.suppress(OSError):  # Windows does not remove open files
                os.unlink(path)

        async def parts() -> AsyncIterator[bytes]:
            with opened:
                while part := await asyncio.to_thread(opened.read, _PART):
                    yield part

        name = quote(f"{hosted.name}-{what}.{format}", safe="")
        return Streamed(
            parts(),
            _MEDIA_TYPES[format].encode(),
            {"Content-Disposition": f"attachment; filename*=UTF-8''{name}"},
        )

    async def uplift(self, request: Request) -> Response:
        """How much more the policy has earned for each decision than the control arm."""
        hosted, options = await self._state.bandit(request), _options(request)
        return Response.json(await asyncio.to_thread(uplift, hosted, **options))

    async def evaluate(self, request: Request) -> Response:
        """Replay the log to other policies."""
        wanted = await request.read(_EVALUATION)
        hosted, policies = await self._state.bandit(request), check_policies(wanted)
        async with self._evaluating:  # one after the other: each takes all cores
            found = await asyncio.to_thread(evaluate, self._store, hosted.name, policies, wanted)
        return Response.json(found)

    async def alerts(self, request: Request) -> Response:
        """The last alerts, latest first: changes, paused arms, rewards that no longer come."""
        return Response.json(AlertList(alerts=alerts_for(self._state, request.caller)))


def _options(request: Request) -> dict[str, Any]:
    """Return the confidence of intervals and the bounds of rewards, as far as they are given."""
    given, options = request.options, dict[str, Any]()
    if "confidence" in given:
        options["confidence"] = given["confidence"]
    if ("low" in given) != ("high" in given):
        raise ProblemError("invalid", "give both low and high, or neither")
    if "low" in given:
        options["bounds"] = (given["low"], given["high"])
    return options


def _verdict(hosted: Hosted, options: dict[str, Any]) -> dict[str, object] | None:
    """Return the verdict; None if a fleet took the rewards and did not keep enough of them."""
    try:
        return hosted.bandit.verdict(**options).to_dict()
    except ValueError:  # `summary` has accepted the options
        return None


def alerts_for(state: State, key: Key) -> list[Alert]:
    """Return the last alerts about bandits that a key reaches, latest first."""

    def is_for(name: str) -> bool:
        found = state.host.bandits.get(name)
        return key.reaches(name if found is None else found.family.name)

    return [each for each in state.alerts.latest() if is_for(each.bandit)]


def routes(state: State) -> Iterator[Route]:
    """Yield the operations."""
    do, one = _Reports(state), "/v1/bandits/{name}"
    yield Route(
        "GET",
        f"{one}/summary",
        do.summary,
        needs="read",
        returns={200: dict},
        problems=("not-found",),
        parameters=_INTERVALS,
    )
    yield Route(
        "GET",
        f"{one}/explanation",
        do.explanation,
        needs="read",
        returns={200: dict},
        problems=("not-found", "conflict"),
        parameters=(Parameter("decision", "The token of a past decision."),),
    )
    yield Route(
        "GET",
        f"{one}/changes",
        do.changes,
        needs="read",
        returns={200: ChangeList},
        problems=("not-found",),
    )
    yield Route(
        "GET",
        f"{one}/events",
        do.events,
        needs="read",
        returns={200: str},
        problems=("not-found",),
        parameters=(
            Parameter(
                "after", "Begin after the event with this number; without it, now.", EventNumber
            ),
            Parameter(
                "Last-Event-ID", "The same; browsers send it automatically.", EventNumber, "header"
            ),
        ),
        media_type="text/event-stream",
    )
    yield Route(
        "GET",
        f"{one}/export",
        do.export,
        needs="read",
        returns={200: bytes},
        problems=("not-found",),
        parameters=(
            Parameter("what", "`decisions`, the default, or `events`.", What),
            Parameter(
                "format", "Without it, `csv`; `parquet` needs pyarrow on the server.", Format
            ),
        ),
        media_type=tuple(_MEDIA_TYPES.values()),
    )
    yield Route(
        "POST",
        f"{one}/evaluate",
        do.evaluate,
        needs="read",
        takes=_EVALUATION,
        returns={200: Evaluated},
        problems=("not-found", "conflict"),
    )
    yield Route(
        "GET",
        f"{one}/uplift",
        do.uplift,
        needs="read",
        returns={200: Uplift},
        problems=("not-found", "conflict"),
        parameters=_INTERVALS,
    )
    yield Route("GET", "/v1/alerts", do.alerts, needs="read", returns={200: AlertList})
