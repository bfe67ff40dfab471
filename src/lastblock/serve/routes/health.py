"""Whether the server runs and is ready, and its counters."""

from collections.abc import Iterator
from contextlib import suppress

from lastblock.serve.http import Request, Response
from lastblock.serve.keys import Key
from lastblock.serve.messages import Alive, Ready
from lastblock.serve.metrics import Sample, family
from lastblock.serve.problems import ProblemError
from lastblock.serve.routing import Route
from lastblock.serve.state import State


def routes(state: State) -> Iterator[Route]:
    """Yield the operations."""

    async def live(request: Request) -> Response:
        """Whether the server runs."""
        return Response.json(Alive(status="alive"))

    async def ready(request: Request) -> Response:
        """Whether the bandits are open and the store can be written, and which are damaged."""
        host = state.host
        problem = host.store.backlog.problem if host.is_ready else None
        is_ready = host.is_ready and problem is None and not state.is_stopping
        detail = problem or ("stopping" if state.is_stopping else host.why_not)
        losses = host.store.losses
        found = [f"damaged bandits: {len(host.damaged)}"] if host.damaged else []
        found += [f"losses of events: {len(losses)}"] if losses else []
        if is_ready and found:
            detail = f"{'; '.join(found)}; a key with the scope 'read' sees which"
        body = Ready(
            status="ready" if is_ready else "not ready",
            detail=detail,
            bandits=len(host.bandits),
            damaged=damage(request),
            losses=list(losses) if losses and reaches_all(request) else [],
        )
        if is_ready:
            return Response.json(body)
        return Response.json(body, 503, {"Retry-After": "1"})

    def damage(request: Request) -> dict[str, str]:
        """Return why bandits are damaged, as far as a request has a key that reaches them."""
        with suppress(ProblemError):
            if state.host.damaged:
                state.authorize(request, "read")
                return state.host.damage(request.caller.reaches)
        return {}

    def reaches_all(request: Request) -> bool:
        """Return whether a request has a key that may read of all bandits."""
        with suppress(ProblemError):
            state.authorize(request, "read")
            return request.caller.bandits is None
        return False

    async def metrics(request: Request) -> Response:
        """Counters for Prometheus."""
        lines = [*state.metrics.lines(), *_of_bandits(state, request.caller), ""]
        text = "\n".join(lines)
        return Response(text.encode(), 200, b"text/plain; version=0.0.4; charset=utf-8")

    yield Route("GET", "/livez", live, returns={200: Alive})
    yield Route("GET", "/readyz", ready, returns={200: Ready, 503: Ready})
    yield Route(
        "GET", "/metrics", metrics, needs="read", returns={200: str}, media_type="text/plain"
    )


def _of_bandits(state: State, key: Key) -> Iterator[str]:
    hosted = [each for each in state.host.bandits.values() if key.reaches(each.family.name)]

    def by_arm(name: str) -> Iterator[Sample]:
        for each in hosted:
            for arm, value in getattr(each, name).items():
                yield {"bandit": each.name, "arm": arm}, value

    for name, attribute, text in (
        ("decisions", "decisions", "Decisions since the server started."),
        ("rewards", "rewards", "Rewards since the server started."),
        ("reward_sum", "reward_sums", "The sum of the rewards since the server started."),
    ):
        suffix = "" if name == "reward_sum" else "_total"
        kind = "gauge" if name == "reward_sum" else "counter"  # rewards may be negative
        yield from family(f"lastblock_{name}{suffix}", kind, text, by_arm(attribute))
    for name, text, values in (
        (
            "waiting_rewards",
            "Decisions that wait for their reward.",
            [({"bandit": each.name}, each.waiting) for each in hosted],
        ),
        (
            "observations",
            "Decisions of others that the bandit has learnt from, since the server started.",
            [({"bandit": each.name}, each.observed) for each in hosted],
        ),
        (
            "expired_decisions",
            "Decisions that waited longer than the reward window, since the server started.",
            [({"bandit": each.name}, each.expired) for each in hosted],
        ),
        (
            "noticed_changes",
            "Changes of the world that the policy has noticed: the last eight at most.",
            [({"bandit": each.name}, len(each.bandit.changes)) for each in hosted],
        ),
        ("bandits", "Bandits that are open.", [({}, len(hosted))]),
        (
            "damaged_bandits",
            "Bandits that cannot be opened, and why.",
            [
                ({"bandit": name, "reason": reason}, 1)
                for name, reason in state.host.damage(key.reaches).items()
            ],
        ),
        ("waiting_alerts", "Alerts that wait to be sent.", [({}, state.alerts.waiting)]),
        (
            "event_streams",
            "Streams of events that are open.",
            [({}, len(state.streams))],
        ),
        (
            "late_event_streams",
            "Streams of events that are behind the log.",
            [({}, sum(lag[0] for lag in state.streams.values()))],
        ),
        (
            "unwritten_events",
            "Events that wait to be written.",
            [({}, state.host.store.backlog.events)],
        ),
    ):
        yield from family(f"lastblock_{name}", "gauge", text, values)
