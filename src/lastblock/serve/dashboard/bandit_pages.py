"""All bandits at a glance, one bandit, and its arms to change."""

import asyncio
import json
import math
from collections.abc import Iterator
from typing import Any
from urllib.parse import quote

import msgspec

from lastblock.live.labels import Label
from lastblock.live.summary import Summary
from lastblock.serve.dashboard.access import Guard, Visit
from lastblock.serve.dashboard.charts import chart
from lastblock.serve.dashboard.glance import Glance, Health, Traffic, glance, health
from lastblock.serve.dashboard.timelines import Timelines
from lastblock.serve.hosted import Hosted
from lastblock.serve.http import Response
from lastblock.serve.messages import ChangedArm, ChangedBandit, NewArm
from lastblock.serve.problems import ProblemError, explained
from lastblock.serve.routing import Route
from lastblock.serve.safety_messages import Uplift
from lastblock.serve.state import State, check_reach
from lastblock.serve.uplift import uplift

PAGE = 50
_DONE = {
    "added": "The arm has been added. It is chosen at once.",
    "retired": "The arm has been retired.",
    "arm-paused": "The arm is paused: it is not chosen until you resume it.",
    "arm-resumed": "The arm is chosen again.",
    "paused": "The bandit is paused: it takes rewards, but no decisions.",
    "resumed": "The bandit decides again.",
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
        name = visit.request.parameters[0]
        check_reach(visit.request, name)
        return await self._state.host.get(name)

    async def all(self, visit: Visit) -> Response:
        """Return a page of the list of bandits."""
        query = visit.request.query()
        wanted = query.get("q", "").strip()
        here = self._state.host.bandits
        names = sorted(
            name
            for name, hosted in here.items()
            # Segments and holdouts are found by name, and do not crowd the list.
            if (hosted.parent is None or wanted) and visit.session.key.reaches(name)
        )
        found = [name for name in names if wanted.casefold() in name.casefold()]
        last = max(1, math.ceil(len(found) / PAGE))
        text = query.get("page", "1")
        page = min(last, max(1, int(text) if text.isascii() and text.isdigit() else 1))
        shown = [here[name] for name in found[(page - 1) * PAGE : page * PAGE] if name in here]
        rows = await asyncio.to_thread(lambda: [glance(hosted) for hosted in shown])
        problem = self._state.host.store.backlog.problem
        return visit.page(
            "bandits.html",
            rows=[
                (row, self.traffic.of(hosted), self._health(hosted, row), _uplift(hosted))
                for row, hosted in zip(rows, shown, strict=True)
            ],
            wanted=wanted,
            found=len(found),
            there=len(names),
            number=page,
            last=last,
            problem=problem,
        )

    async def one(self, visit: Visit) -> Response:
        """Return the page of a bandit."""
        hosted = await self.find(visit)
        done = _DONE.get(visit.request.query().get("done", ""), "")
        return visit.page("bandit.html", done=done, **await self._values(hosted))

    async def part(self, visit: Visit) -> Response:
        """Return the part of a bandit's page that changes all the time."""
        return visit.page("bandit_live.html", **await self._values(await self.find(visit)))

    async def _values(self, hosted: Hosted) -> dict[str, Any]:
        summary = await asyncio.to_thread(hosted.bandit.summary)
        seen = glance(hosted)
        asked = max(1, sum(arm.pulls + arm.out for arm in summary.arms))
        return {
            "glance": seen,
            "traffic": self.traffic.of(hosted),
            "health": self._health(hosted, seen),
            "uplift": _uplift(hosted),
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
            "written": lambda label: json.dumps(label, ensure_ascii=False),
        }

    def _health(self, hosted: Hosted, seen: Glance) -> Health:
        problem = self._state.host.store.backlog.problem
        return health(seen, is_silent=self.traffic.is_silent(hosted), problem=problem)

    async def history(self, visit: Visit) -> Response:
        """Return what the charts draw."""
        hosted = await self.find(visit)
        bandit, timeline = hosted.bandit, self._timelines.of(hosted.name, hosted.number)
        course = await asyncio.to_thread(timeline.look)
        data = chart(course, bandit.changes, bandit.asked)
        return Response.json(data, headers={"Cache-Control": "no-store"})

    async def add_arm(self, visit: Visit) -> Response:
        """Add an arm."""
        hosted, text = await self.find(visit), visit.form.get("label", "").strip()
        label: Label = text
        if not text:
            raise ProblemError("invalid", "give the new arm a label")
        if all(isinstance(each, int) for each in hosted.bandit.arms):
            try:
                label = int(text)
            except ValueError:
                raise ProblemError(
                    "invalid", f"the arms of this bandit are numbers, and {text!r} is not one"
                ) from None
        written = visit.form.get("payload", "").strip()
        try:
            payload = msgspec.json.decode(written) if written else None
        except msgspec.DecodeError as error:
            raise ProblemError("invalid", f"the payload is not JSON: {error}") from None
        try:
            arm = msgspec.convert({"label": label, "payload": payload}, NewArm)
        except msgspec.ValidationError as error:
            raise ProblemError("invalid", explained(error)) from None
        await self._state.host.add_arm(hosted, arm, None)
        return self._back(hosted, "added")

    async def retire_arm(self, visit: Visit) -> Response:
        """Retire an arm."""
        hosted = await self.find(visit)
        label = _chosen(hosted, visit.form.get("arm", ""))
        await self._state.host.retire_arm(hosted, label, None)
        return self._back(hosted, "retired")

    async def pause_arm(self, visit: Visit) -> Response:
        """Pause or resume an arm."""
        hosted = await self.find(visit)
        label = _chosen(hosted, visit.form.get("arm", ""))
        paused = visit.form.get("paused") == "yes"
        await self._state.host.change_arm(hosted, label, ChangedArm(paused=paused), None)
        return self._back(hosted, "arm-paused" if paused else "arm-resumed")

    async def pause(self, visit: Visit) -> Response:
        """Pause or resume a bandit."""
        hosted = await self.find(visit)
        paused = visit.form.get("paused") == "yes"
        await self._state.host.change(hosted, ChangedBandit(paused=paused), None)
        return self._back(hosted, "paused" if paused else "resumed")

    def _back(self, hosted: Hosted, done: str) -> Response:
        return self._guard.pages.go(f"/bandits/{quote(hosted.name, safe='')}?done={done}#change")

    def routes(self) -> Iterator[Route]:
        """Yield the pages."""
        guard, one = self._guard, "/dashboard/bandits/{name}"
        yield Route("GET", "/dashboard", guard(self.all), "All bandits.")
        yield Route("GET", one, guard(self.one), "One bandit.")
        yield Route("GET", f"{one}/part", guard(self.part), "What changes of its page.")
        yield Route("GET", f"{one}/history", guard(self.history), "What the charts draw.")
        for path, page in (
            ("arms", self.add_arm),
            ("arms/pause", self.pause_arm),
            ("arms/retire", self.retire_arm),
            ("pause", self.pause),
        ):
            yield Route("POST", f"{one}/{path}", guard(page, "admin"), "Change a bandit.")


def _uplift(hosted: Hosted) -> Uplift | None:
    """Return what the policy has earned beyond the holdout; None if there is none."""
    return None if hosted.holdout is None else uplift(hosted)


def _chosen(hosted: Hosted, text: str) -> Label:
    """Return the arm that a form names, as JSON."""
    arms = hosted.bandit.arms
    try:
        label = json.loads(text)
    except ValueError:
        label = None
    if not isinstance(label, str | int) or label not in arms:
        raise ProblemError("not-found", f"bandit {hosted.name!r} has no such arm")
    found: Label = label
    return found


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
