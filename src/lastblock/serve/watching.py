"""Looks at all bandits now and then, and raises alerts of what has happened."""

import asyncio
import json
import logging
import time
from typing import Any, Final

from lastblock.serve.alerts import Alerts
from lastblock.serve.hosted import Hosted
from lastblock.serve.hosting import Host
from lastblock.support.errors import StoreError

_log = logging.getLogger(__name__)

LOOK: Final = 1.0
"""Seconds between two looks."""

AT_ONCE: Final = 20
"""How many bandits to look at before other requests have a turn."""


class Watcher:
    """Notices changes of the world, arms that were paused, and rewards that no longer come.

    Parameters
    ----------
    host
        The bandits.
    alerts
        Where to raise alerts.
    """

    def __init__(self, host: Host, alerts: Alerts) -> None:
        self._host, self._alerts = host, alerts
        self._marks: dict[str, dict[str, Any]] | None = None
        self._stamps: dict[str, tuple[int, int]] = {}

    async def work(self) -> None:
        """Look again and again."""
        while True:
            await asyncio.sleep(LOOK)
            if self._host.is_ready:
                try:
                    await self.look()
                except StoreError as error:
                    _log.warning("cannot look for what alerts should tell of: %s", error)

    async def look(self) -> None:
        """Look at all bandits once."""
        marks, bandits = self._marks, self._host.bandits
        if marks is None or (self._host.peers is not None and bandits.keys() - self._stamps.keys()):
            # Another server may have told of a bandit that is open here now.
            read = await asyncio.to_thread(self._alerts.marks)
            mine = {name: mark for name, mark in (marks or {}).items() if name in self._stamps}
            marks = self._marks = {**read, **mine}
        for place, hosted in enumerate(list(self._host.bandits.values())):
            if place % AT_ONCE == AT_ONCE - 1:
                await asyncio.sleep(0)
            stamp = (hosted.number, hosted.stamp)
            if self._stamps.get(hosted.name) != stamp:
                self._stamps[hosted.name] = stamp
                self._compare(hosted, marks)
            if hosted.parent is None:
                self._listen(hosted)
        for name in self._stamps.keys() - self._host.bandits.keys():
            del self._stamps[name]

    def _compare(self, hosted: Hosted, marks: dict[str, dict[str, Any]]) -> None:
        """Raise alerts of changes and of paused arms that nobody was told of."""
        if hosted.parent is not None and hosted.segment is None:
            return  # a holdout
        changes = hosted.bandit.changes
        paused = [json.dumps(arm) for arm, state in hosted.bandit.arms.items() if state == "paused"]
        found: dict[str, Any] = {
            "number": hosted.number,
            "noticed": changes[-1].noticed if changes else -1,
            "paused": paused,
        }
        mark = marks.get(hosted.name)
        if mark is None or mark["number"] != hosted.number:
            # What was there when the service first saw the bandit is no news.
            mark = marks[hosted.name] = _nothing(hosted) if hosted.is_new else found
        if found == mark:
            return
        marks[hosted.name] = found
        for change in changes:
            if change.noticed > mark["noticed"]:
                self._alerts.note("change", hosted.name, str(change), change.to_dict(), found)
        theirs = {} if hosted.parent is None else hosted.parent.bandit.arms
        for text in paused:
            arm = json.loads(text)
            if text in mark["paused"] or theirs.get(arm) == "paused":
                continue
            why = hosted.pauses.get(text, "")
            words = f"Arm {arm!r} is paused" + (f": {why}." if why else ".")
            self._alerts.note("arm-paused", hosted.name, words, {"arm": arm, "why": why}, found)

    def _listen(self, hosted: Hosted) -> None:
        """Raise an alert if decisions are taken and no reward has come for long."""
        limit = hosted.notes.get("alert_after")
        since = hosted.unanswered
        if limit is None or since is None or hosted.is_silent:
            return
        seconds = time.monotonic() - since
        if seconds > limit:
            hosted.is_silent = True
            waiting = sum(each.waiting for each in hosted.members)
            text = (
                f"No reward has come for {seconds:.0f} s, while decisions were taken; {waiting} of "
                "them wait."
            )
            data = {"seconds": round(seconds, 3), "waiting": waiting}
            self._alerts.note("rewards-stopped", hosted.name, text, data)


def _nothing(hosted: Hosted) -> dict[str, Any]:
    return {"number": hosted.number, "noticed": -1, "paused": []}
