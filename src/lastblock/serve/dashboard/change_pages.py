"""Forms that change a bandit: its arms, its floors, whether it is paused."""

import json
import math
from collections.abc import Iterator
from urllib.parse import quote

import msgspec

from lastblock.live.labels import Label
from lastblock.serve.dashboard.access import Guard, Visit
from lastblock.serve.dashboard.bandit_pages import BanditPages
from lastblock.serve.hosted import Hosted
from lastblock.serve.http import Response
from lastblock.serve.messages import ChangedArm, ChangedBandit, NewArm
from lastblock.serve.problems import ProblemError, explained
from lastblock.serve.routing import Route
from lastblock.serve.state import State


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
            yield Route("POST", where, self._guard(page, "admin"), "Change a bandit.")


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
