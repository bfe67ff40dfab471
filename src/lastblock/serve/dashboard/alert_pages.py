"""Alerts: what happened, and whether the webhook has heard of it."""

from collections.abc import Iterator

from lastblock.serve.dashboard.access import Guard, Visit
from lastblock.serve.dashboard.safety import webhook
from lastblock.serve.http import Response
from lastblock.serve.routes.alerts import alerts_for
from lastblock.serve.routing import Route
from lastblock.serve.state import State


def routes(state: State, guard: Guard) -> Iterator[Route]:
    """Yield the page."""

    async def list_all(visit: Visit) -> Response:
        found = alerts_for(state, visit.session.key)
        return visit.page(
            "alerts.html",
            alerts=found,
            webhook=webhook(state.settings.alert_url),
            waiting=sum(each.state == "waiting" for each in found),
            failed=sum(each.state == "failed" for each in found),
            listeners=sorted(
                name
                for name, hosted in list(state.host.bandits.items())
                if hosted.notes.get("alert_after") is not None and visit.session.key.reaches(name)
            ),
        )

    yield Route("GET", "/dashboard/alerts", guard(list_all), "Alerts.")
