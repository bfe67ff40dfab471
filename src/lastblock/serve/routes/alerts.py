"""Alerts that were raised."""

from collections.abc import Iterator

from lastblock.serve.http import Request, Response
from lastblock.serve.keys import Key
from lastblock.serve.routing import Route
from lastblock.serve.safety_messages import Alert, AlertList
from lastblock.serve.state import State


def alerts_for(state: State, key: Key) -> list[Alert]:
    """Return the last alerts about bandits that a key reaches, latest first."""

    def is_for(name: str) -> bool:
        found = state.host.bandits.get(name)
        return key.reaches(name if found is None else found.family.name)

    return [each for each in state.alerts.latest() if is_for(each.bandit)]


def routes(state: State) -> Iterator[Route]:
    """Yield the operations."""

    async def list_all(request: Request) -> Response:
        return Response.json(AlertList(alerts=alerts_for(state, request.caller)))

    yield Route(
        "GET",
        "/v1/alerts",
        list_all,
        "The last alerts, latest first: changes, paused arms, rewards that no longer come.",
        needs="read",
        returns={200: AlertList},
    )
