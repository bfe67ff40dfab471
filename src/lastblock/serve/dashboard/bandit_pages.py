"""All bandits at a glance, and one bandit."""

import asyncio
import json
import math
from collections.abc import Iterator
from typing import Any, Final

from lastblock.live.bandit import desk_of
from lastblock.live.summary import Summary
from lastblock.serve.dashboard.access import Guard, Visit
from lastblock.serve.dashboard.charts import chart
from lastblock.serve.dashboard.glance import (
    ELSEWHERE,
    Glance,
    Health,
    Traffic,
    glance,
    glance_from_outside,
    health,
)
from lastblock.serve.dashboard.safety import safety, uplift_of
from lastblock.serve.dashboard.timelines import Timelines
from lastblock.serve.hosted import Hosted
from lastblock.serve.http import Response
from lastblock.serve.listing import Listed, about_others, list_bandits
from lastblock.serve.routing import Route
from lastblock.serve.state import State

PAGE = 50
DONE: Final = {
    "added": "The arm has been added. It is chosen at once.",
    "retired": "The arm has been retired.",
    "arm-paused": "The arm is paused: it is not chosen until you resume it.",
    "arm-resumed": "The arm is chosen again.",
    "paused": "The bandit is paused: it takes rewards, but no decisions.",
    "resumed": "The bandit decides again.",
    "floors": "The floors hold from the next decision on.",
}


class BanditPages:
    """The pages about bandits.

    Parameters
    ----------
    state
        The service.
    guard
        Who may see them.
    """

    def __init__(self, state: State, guard: Guard) -> None:
        self._state, self._guard = state, guard
        self.traffic = Traffic()
        self._timelines = Timelines(state.host.store)

    async def find(self, visit: Visit) -> Hosted:
        """Return the bandit of a page."""
        return await self._state.bandit(visit.request)

    async def all(self, visit: Visit) -> Response:
        """Return a page of the list of bandits."""
        query, host = visit.request.query(), self._state.host
        wanted = query.get("q", "").strip()
        # Segments and holdouts are found by name, and do not crowd the list.
        there = await asyncio.to_thread(
            list_bandits, host, visit.session.key.reaches, with_members=bool(wanted)
        )
        found = [each for each in there if wanted.casefold() in each.name.casefold()]
        last = max(1, math.ceil(len(found) / PAGE))
        text = query.get("page", "1")[:9]
        page = min(last, max(1, int(text) if text.isascii() and text.isdigit() else 1))
        shown = found[(page - 1) * PAGE : page * PAGE]
        return await visit.page_in_thread(
            "bandits.html",
            rows=await asyncio.to_thread(self._rows, shown),
            wanted=wanted,
            found=len(found),
            there=len(there),
            number=page,
            last=last,
            problem=host.store.backlog.problem,
        )

    def _rows(self, shown: list[Listed]) -> list[tuple[Any, ...]]:
        """Return what the list shows of each bandit."""
        others = about_others(self._state.host, shown)
        rows: list[tuple[Any, ...]] = []
        for each in shown:
            if each.hosted is None:
                seen = glance_from_outside(each.name, each.notes, others.get(each.name))
                rows.append((seen, [], ELSEWHERE, None))
            else:
                seen = glance(each.hosted)
                traffic, health = self.traffic.of(each.hosted), self._health(each.hosted, seen)
                rows.append((seen, traffic, health, uplift_of(each.hosted)))
        return rows

    async def one(self, visit: Visit) -> Response:
        """Return the page of a bandit."""
        hosted = await self.find(visit)
        done = DONE.get(visit.request.query().get("done", ""), "")
        values = await self._values(hosted)
        return await visit.page_in_thread("bandit.html", done=done, **values)

    async def part(self, visit: Visit) -> Response:
        """Return the part of a bandit's page that changes all the time."""
        values = await self._values(await self.find(visit))
        return await visit.page_in_thread("bandit_live.html", **values)

    async def _values(self, hosted: Hosted) -> dict[str, Any]:
        summary = await asyncio.to_thread(hosted.bandit.summary)
        seen, about = glance(hosted), await asyncio.to_thread(safety, hosted)
        names = {hosted.name, *hosted.segments}
        asked = max(1, sum(arm.pulls + arm.out for arm in summary.arms))
        return {
            "glance": seen,
            "traffic": self.traffic.of(hosted),
            "health": self._health(hosted, seen),
            "uplift": about.uplift,
            "safety": about,
            "alerts": [each for each in self._state.alerts.latest() if each.bandit in names][:8],
            "floor_of_all": desk_of(hosted.bandit).floor_of_all,
            "summary": summary,
            "arms": list(summary.arms),
            "rail": _rail(summary),
            "shares": [(arm.pulls + arm.out) / asked for arm in summary.arms],
            "floors": hosted.bandit.floor,
            "changes": list(reversed(hosted.bandit.changes)),
            "places": {str(arm.arm): place for place, arm in enumerate(summary.arms)},
            "explanation": hosted.bandit.explain().text.split("\n"),
            "payloads": {
                label: bytes(payload).decode() for label, payload in hosted.payloads.items()
            },
            "created": hosted.notes.get("created"),
            "percents": lambda share: "" if share is None else f"{100.0 * share:.12g}",
            "written": lambda label: json.dumps(label, ensure_ascii=False),
        }

    def _health(self, hosted: Hosted, seen: Glance) -> Health:
        problem = self._state.host.store.backlog.problem
        return health(
            seen, is_silent=hosted.is_silent or self.traffic.is_silent(hosted), problem=problem
        )

    async def history(self, visit: Visit) -> Response:
        """Return what the charts draw."""
        hosted = await self.find(visit)
        bandit, timeline = hosted.bandit, self._timelines.of(hosted.name, hosted.number)
        counted = await asyncio.to_thread(timeline.look)
        data = chart(counted, bandit.changes, bandit.asked)
        return Response.json(data, headers={"Cache-Control": "no-store"})

    def routes(self) -> Iterator[Route]:
        """Yield the pages."""
        guard, one = self._guard, "/dashboard/bandits/{name}"
        yield Route("GET", "/dashboard", guard(self.all), "All bandits.")
        yield Route("GET", one, guard(self.one), "One bandit.")
        yield Route("GET", f"{one}/part", guard(self.part), "What changes of its page.")
        yield Route("GET", f"{one}/history", guard(self.history), "What the charts draw.")


class _Rail:
    """The scale that the intervals of all arms share."""

    def __init__(self, low: float, high: float) -> None:
        self.low, self.span = low, max(high - low, 1e-300)

    def at(self, value: float | None) -> float:
        """Return where a value lies in a drawing of 160 pixels."""
        if value is None or math.isnan(value):
            return 80.0
        return round(4.0 + 152.0 * min(1.0, max(0.0, (value - self.low) / self.span)), 1)


def _rail(summary: Summary[Any]) -> _Rail:
    """Return a scale for the held means and their intervals, as far as they are finite."""
    ends = [
        value
        for arm in summary.arms
        for value in (arm.held_mean, arm.held_low, arm.held_high)
        if value is not None and math.isfinite(value) and arm.state == "active"
    ]
    return _Rail(min(ends, default=0.0), max(ends, default=1.0))
