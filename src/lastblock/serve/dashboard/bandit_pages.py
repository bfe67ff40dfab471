"""All bandits at a glance, one bandit, and the forms that change it."""

import asyncio
import json
import math
from collections.abc import Iterator
from typing import Any, Final
from urllib.parse import quote

import msgspec

from lastblock.core.support import support_of
from lastblock.live.bandit import desk_of
from lastblock.live.labels import Label
from lastblock.live.summary import Summary
from lastblock.serve.dashboard.charts import Timelines, chart
from lastblock.serve.dashboard.glance import (
    DAMAGED,
    ELSEWHERE,
    Glance,
    Health,
    Traffic,
    glance,
    glance_from_outside,
    health,
    safety,
    uplift_of,
)
from lastblock.serve.dashboard.sign_in import Guard, Visit
from lastblock.serve.groups import Hosted
from lastblock.serve.hosted_bandits import Listed, about_others, list_bandits
from lastblock.serve.http import Response
from lastblock.serve.messages import ChangedArm, ChangedBandit, NewArm
from lastblock.serve.problems import ProblemError, explained
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
        self.traffic = Traffic(state.host.store)
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
                if each.damage is not None:
                    seen = seen._replace(description=each.damage)
                rows.append((seen, [], DAMAGED if each.damage else ELSEWHERE, None))
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
        taken = [arm.pulls + arm.out + arm.deferred for arm in summary.arms]
        return {
            "glance": seen,
            "traffic": await asyncio.to_thread(self.traffic.of, hosted),
            "health": self._health(hosted, seen),
            "uplift": about.uplift,
            "safety": about,
            "alerts": [each for each in self._state.alerts.latest() if each.bandit in names][:8],
            "floor_of_all": desk_of(hosted.bandit).floor_of_all,
            "summary": summary,
            "arms": list(summary.arms),
            "forgets": summary.forgets,
            "rail": _rail(summary),
            "shares": [each / max(1, sum(taken)) for each in taken],
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
        return health(seen, is_silent=hosted.family.is_silent, problem=problem)

    async def history(self, visit: Visit) -> Response:
        """Return what the charts draw."""
        hosted = await self.find(visit)
        bandit, timeline = hosted.bandit, self._timelines.of(hosted.name, hosted.number)
        counted = await asyncio.to_thread(timeline.look)
        data = chart(counted, bandit.changes, bandit.asked, support_of(bandit.policy))
        return Response.json(data, headers={"Cache-Control": "no-store"})

    def routes(self) -> Iterator[Route]:
        """Yield the pages."""
        guard, one = self._guard, "/dashboard/bandits/{name}"
        yield Route("GET", "/dashboard", guard(self.all))
        yield Route("GET", one, guard(self.one))
        yield Route("GET", f"{one}/part", guard(self.part))
        yield Route("GET", f"{one}/history", guard(self.history))


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
    """Return a scale for the means and their intervals, as far as they are finite."""
    ends = [
        value
        for arm in summary.arms
        for value in (arm.mean, arm.low, arm.high)
        if value is not None and math.isfinite(value) and arm.pulls
    ]
    return _Rail(min(ends, default=0.0), max(ends, default=1.0))


class ChangePages:
    """The forms about a bandit.

    Parameters
    ----------
    state
        The service.
    guard
        Who may send them.
    bandits
        Finds the bandit of a form.
    """

    def __init__(self, state: State, guard: Guard, bandits: BanditPages) -> None:
        self._state, self._guard, self._find = state, guard, bandits.find

    async def add_arm(self, visit: Visit) -> Response:
        """Add an arm."""
        hosted, text = await self._find(visit), visit.form.get("label", "").strip()
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
        hosted = await self._find(visit)
        label = _chosen(hosted, visit.form.get("arm", ""))
        await self._state.host.retire_arm(hosted, label, None)
        return self._back(hosted, "retired")

    async def pause_arm(self, visit: Visit) -> Response:
        """Pause or resume an arm."""
        hosted = await self._find(visit)
        label = _chosen(hosted, visit.form.get("arm", ""))
        paused = visit.form.get("paused") == "yes"
        await self._state.host.change_arm(hosted, label, ChangedArm(paused=paused), None)
        return self._back(hosted, "arm-paused" if paused else "arm-resumed")

    async def pause(self, visit: Visit) -> Response:
        """Pause or resume a bandit."""
        hosted = await self._find(visit)
        paused = visit.form.get("paused") == "yes"
        await self._state.host.change(hosted, ChangedBandit(paused=paused), None)
        return self._back(hosted, "paused" if paused else "resumed")

    def _back(self, hosted: Hosted, done: str) -> Response:
        return self._guard.pages.go(f"/bandits/{quote(hosted.name, safe='')}?done={done}#change")

    async def set_floors(self, visit: Visit) -> Response:
        """Set the floors of all arms, or of single ones."""
        hosted, form = await self._find(visit), visit.form
        every = _share(form.get("every", ""), "every arm")
        floors = {
            str(label): share
            for label, state in hosted.bandit.arms.items()
            if state != "retired"
            and (share := _share(form.get(f"floor {json.dumps(label)}", ""), repr(label)))
        }
        if every and floors:
            raise ProblemError("invalid", "give a floor for every arm or for single ones, not both")
        change = ChangedBandit(floor=every or floors or None)
        await self._state.host.change(hosted, change, None)
        return self._back(hosted, "floors")

    def routes(self) -> Iterator[Route]:
        """Yield the forms."""
        for path, page in (
            ("arms", self.add_arm),
            ("arms/pause", self.pause_arm),
            ("arms/retire", self.retire_arm),
            ("floors", self.set_floors),
            ("pause", self.pause),
        ):
            where = f"/dashboard/bandits/{{name}}/{path}"
            yield Route("POST", where, self._guard(page, "admin"))


def _share(text: str, name: str) -> float | None:
    """Return a share that a form gives in percent; None for none."""
    written = text.strip().removesuffix("%").strip()
    if not written:
        return None
    try:
        share = float(written.replace(",", ".")) / 100.0
    except ValueError:
        share = math.nan
    if not 0.0 <= share <= 1.0:
        raise ProblemError(
            "invalid", f"the floor of {name} is {text.strip()[:40]!r}; give 0 to 100 percent"
        )
    return round(share, 12)


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
