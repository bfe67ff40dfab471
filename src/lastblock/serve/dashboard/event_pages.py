"""What happens: a pulse that tells pages when to look again, the log as it grows, and alerts."""

import asyncio
import time
from collections.abc import AsyncGenerator, AsyncIterator, Iterator

from lastblock.engine.events import KINDS
from lastblock.serve.dashboard.bandit_pages import BanditPages
from lastblock.serve.dashboard.glance import webhook
from lastblock.serve.dashboard.sign_in import Guard, Visit, cookie_of
from lastblock.serve.groups import Hosted
from lastblock.serve.http import Response
from lastblock.serve.routes.reports import alerts_for
from lastblock.serve.routing import Route
from lastblock.serve.state import State
from lastblock.serve.streams import QUIET, as_stream, follow, last_seen
from lastblock.store.event_logs import LoggedEvent

BEAT = 2.0
"""Seconds between two looks at a bandit; a page is told at most this often to look again."""

SHOWN = 100
"""How many of the last events the page of events shows at once."""

MOST_NAMES = 1000


async def pulse(state: State, hosted: Hosted, visit: Visit) -> AsyncIterator[bytes]:
    """Yield a server-sent event whenever a bandit has changed, until the browser leaves."""
    left = asyncio.ensure_future(visit.request.until_left())
    seen, heard = _stamp(hosted), time.monotonic()
    yield b"retry: 3000\n\n"
    try:
        while not (left.done() or state.is_over(visit.request, hosted)):
            await asyncio.wait([left], timeout=BEAT)
            stamp = _stamp(hosted)
            if stamp != seen:
                seen, heard = stamp, time.monotonic()
                yield b"event: changed\ndata: {}\n\n"
            elif time.monotonic() - heard > QUIET:
                heard = time.monotonic()
                yield b": nothing new\n\n"
    finally:
        left.cancel()


def _stamp(hosted: Hosted) -> tuple[int, int]:
    return sum(each.stamp for each in hosted.members), hosted.version


def routes(state: State, guard: Guard, bandits: BanditPages) -> Iterator[Route]:
    """Yield the streams, and the pages of events and alerts."""
    store = state.host.store

    async def while_signed_in(visit: Visit, parts: AsyncIterator[bytes]) -> AsyncIterator[bytes]:
        try:
            async for part in parts:
                if guard.sessions.read(cookie_of(visit.request)) is None:
                    return
                yield part
        finally:
            if isinstance(parts, AsyncGenerator):
                await parts.aclose()

    async def beats(visit: Visit) -> Response:
        hosted = await bandits.find(visit)
        return as_stream(while_signed_in(visit, pulse(state, hosted, visit)))

    async def stream(visit: Visit) -> Response:
        hosted, request = await bandits.find(visit), visit.request
        parts = follow(state, hosted, request, last_seen(request) or 0)
        return as_stream(while_signed_in(visit, parts))

    async def events(visit: Visit) -> Response:
        name = visit.request.query().get("bandit", "").strip()
        names = sorted(each for each in state.host.bandits if visit.session.key.reaches(each))
        found: list[LoggedEvent] = []
        if name:
            hosted = await state.named(visit.request, name)
            found = await asyncio.to_thread(latest, hosted.name)
        return visit.page(
            "events.html",
            name=name,
            names=names[:MOST_NAMES],
            events=found,
            kinds=KINDS,
            last=found[0].event if found else 0,
        )

    async def alerts(visit: Visit) -> Response:
        key = visit.session.key
        found = alerts_for(state, key)
        return visit.page(
            "alerts.html",
            alerts=found,
            webhook=webhook(state.settings.alert_url),
            waiting=sum(each.state == "waiting" for each in found),
            failed=sum(each.state == "failed" for each in found),
            listeners=sorted(
                name
                for name, hosted in list(state.host.bandits.items())
                if hosted.notes.get("alert_after") is not None and key.reaches(name)
            ),
        )

    def latest(name: str) -> list[LoggedEvent]:
        last = store.last_event(name)
        found = store.events(name, after=max(0, last - SHOWN), limit=SHOWN)
        return list(reversed(found))

    one = "/dashboard/bandits/{name}"
    yield Route("GET", f"{one}/pulse", guard(beats))
    yield Route("GET", f"{one}/events", guard(stream))
    yield Route("GET", "/dashboard/events", guard(events))
    yield Route("GET", "/dashboard/alerts", guard(alerts))
