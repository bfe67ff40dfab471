"""Alerts that were raised."""

from collections.abc import Iterator

from lastblock.serve.http import Request, Response
from lastblock.serve.routing import Route
from lastblock.serve.safety_messages import AlertList
from lastblock.serve.state import State


def routes(state: State) -> Iterator[Route]:
    """Yield the operations."""

    async def list_all(request: Request) -> Response:
        def is_for(name: str) -> bool:
            found = state.host.bandits.get(name)
            return bool(request.caller.reaches(name if found is None else found.family.name))

        found = [each for each in state.alerts.latest() if is_for(each.bandit)]
        return Response.json(AlertList(alerts=found))

    yield Route(
        "GET",
        "/v1/alerts",
        list_all,
        "The last alerts, latest first: changes, paused arms, rewards that no longer come.",
        needs="read",
        returns={200: AlertList},
    )
