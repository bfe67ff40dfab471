"""Alerts: what has happened, kept in the store, and sent to a webhook."""

import asyncio
import contextlib
import json
import logging
import time
import urllib.error
import urllib.request
from collections import deque
from collections.abc import Mapping
from datetime import UTC, datetime
from http.client import HTTPException
from secrets import token_hex
from typing import Any, Final

import msgspec

from lastblock.serve.groups import Hosted
from lastblock.serve.hosted_bandits import Host
from lastblock.serve.messages import Alert
from lastblock.store.documents import Documents
from lastblock.support.errors import StoreError
from lastblock.support.signatures import HEADER, sign

_log = logging.getLogger(__name__)

COLLECTION: Final = "alerts"
MARKS: Final = "alert_marks"
"""For each bandit, what alerts have told of already."""

MOST: Final = 200
"""How many alerts are kept; the oldest go, sent or not."""

ATTEMPTS: Final = 20
LONGEST: Final = 600.0
"""Seconds between two attempts, at most; so the last comes after about two hours."""

TIMEOUT: Final = 5.0
AGAIN: Final = 5.0

IDLE: Final = 3600.0
"""Seconds until the next look if no alert waits to be sent; a new one wakes the sender."""


class Alerts:
    """The alerts of a service.

    Nothing here waits in the event loop for the store or the network, except `step` and `work`,
    which are a task of their own.

    Parameters
    ----------
    documents
        Where alerts are kept, so that a restart loses none.
    url
        Where to send them; empty to keep them only.
    secret
        With what to sign them.
    """

    def __init__(self, documents: Documents, url: str = "", secret: str = "") -> None:
        self._documents, self._url, self._secret = documents, url, secret
        self._new: deque[tuple[Alert, str, dict[str, Any] | None]] = deque(maxlen=MOST)
        self._kept: dict[str, Alert] = {}  # by id, oldest first
        self._due: dict[str, float] = {}  # when to try again
        self._wake = asyncio.Event()
        self._opener = urllib.request.build_opener(_NoRedirects())
        self.is_loaded = False

    def load(self) -> None:
        """Read what is in the store; those that were not sent are sent now."""
        found = self._documents.all(COLLECTION)
        for name in sorted(found):
            self._kept[name] = msgspec.convert(found[name].value, Alert)
            if self._kept[name].state == "waiting" and self._url:
                self._due[name] = 0.0
        self.is_loaded = True

    def marks(self) -> dict[str, dict[str, Any]]:
        """Return what alerts have told of already, for each bandit by name."""
        return {name: found.value for name, found in self._documents.all(MARKS).items()}

    def note(
        self,
        kind: str,
        bandit: str,
        text: str,
        data: Mapping[str, Any],
        mark: dict[str, Any] | None = None,
    ) -> None:
        """Raise an alert; it is kept and sent later.

        Parameters
        ----------
        kind
            "change", "rewards-stopped" or "arm-paused".
        bandit
            The name of the bandit.
        text
            What happened, in words.
        data
            The same for programs.
        mark
            What alerts about this bandit have told of with this one; None if that stays.
        """
        now = datetime.now(UTC)
        alert = Alert(
            id=f"{now:%Y%m%dT%H%M%S%f}{token_hex(3)}",
            time=now.isoformat(timespec="milliseconds"),
            kind=kind,
            bandit=bandit,
            text=text,
            data=dict(data),
            state="waiting" if self._url else "kept",
        )
        _log.warning("alert: %s: %s", bandit, text)
        self._new.append((alert, bandit, mark))
        self._wake.set()

    def latest(self) -> list[Alert]:
        """Return the alerts that are kept, latest first."""
        return [each for each, _, _ in reversed(self._new)] + list(reversed(self._kept.values()))

    @property
    def waiting(self) -> int:
        """How many alerts wait to be sent."""
        return sum(each.state == "waiting" for each in self.latest())

    async def work(self) -> None:
        """Keep and send alerts, again and again."""
        while True:
            self._wake.clear()
            try:
                seconds = await self.step()
            except StoreError as error:
                _log.warning("alerts could not be kept yet: %s", error)
                seconds = AGAIN
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(self._wake.wait(), seconds)

    async def step(self) -> float:
        """Keep new alerts and send those that are due; return the seconds until the next is."""
        await self.keep()
        for id, due in list(self._due.items()):
            if due <= time.monotonic():
                await asyncio.to_thread(self._try, self._kept[id])
        now = time.monotonic()
        return max(0.0, min(self._due.values(), default=now + IDLE) - now)

    async def keep(self) -> None:
        """Write new alerts to the store, so that they are sent even after a restart."""
        if not self.is_loaded:
            await asyncio.to_thread(self.load)
        while self._new:
            alert, bandit, mark = self._new[0]
            await asyncio.to_thread(self._keep, alert)
            if mark is not None:
                await asyncio.to_thread(self._documents.put, MARKS, bandit, mark)
            if self._new and self._new[0][0] is alert:  # the queue may have dropped it meanwhile
                self._new.popleft()
            if alert.state == "waiting":
                self._due[alert.id] = 0.0

    def _keep(self, alert: Alert) -> None:
        self._documents.put(COLLECTION, alert.id, msgspec.to_builtins(alert))
        self._kept[alert.id] = alert
        for old in list(self._kept)[:-MOST]:
            self._documents.drop(COLLECTION, old)
            del self._kept[old]
            self._due.pop(old, None)

    def _try(self, alert: Alert) -> None:
        """Send an alert, and note how that went."""
        problem = self._send(alert)
        alert.attempts += 1
        alert.problem = problem
        if problem is None:
            alert.state = "sent"
        elif alert.attempts >= ATTEMPTS:
            alert.state = "failed"
            _log.error("alert %s could not be sent: %s", alert.id, problem)
        if alert.state == "waiting":
            self._due[alert.id] = time.monotonic() + min(LONGEST, 2.0 ** (alert.attempts - 1))
        else:
            del self._due[alert.id]
        self._documents.put(COLLECTION, alert.id, msgspec.to_builtins(alert))

    def _send(self, alert: Alert) -> str | None:
        """Send an alert; return what went wrong, if anything."""
        names = ("id", "time", "kind", "bandit", "text", "data")
        body = msgspec.json.encode({name: getattr(alert, name) for name in names})
        headers = {
            "Content-Type": "application/json",
            "User-Agent": "lastblock",
            HEADER: sign(self._secret, body, int(time.time())),
        }
        try:
            request = urllib.request.Request(self._url, body, headers)
            with self._opener.open(request, timeout=TIMEOUT) as answer:
                answer.read(1024)
        except urllib.error.HTTPError as error:
            with error:
                return f"the webhook answered {error.code}"
        except (OSError, HTTPException, ValueError) as error:
            reason = getattr(error, "reason", error)  # what `urllib` wraps
            return str(reason)[:200] or type(error).__name__
        return None


class _NoRedirects(urllib.request.HTTPRedirectHandler):
    """Alerts go to the address that the operator has given, and to no other."""

    def redirect_request(self, *_: Any) -> None:
        """Follow no redirect; it counts as a failure."""


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
        """Raise an alert if decisions go on and rewards no longer come."""
        silence = hosted.silence
        if hosted.notes.get("alert_after") is None or silence.is_told or not hosted.is_silent:
            return
        silence.is_told = True
        waiting = sum(each.waiting for each in hosted.members)
        text = (
            f"No reward has come for {silence.seconds:.3g} s of traffic, while {silence.decisions} "
            f"decisions were taken. Rewards usually take {silence.delay:.3g} s; {waiting} "
            "decisions wait for theirs."
        )
        data = {
            "seconds": round(silence.seconds, 3),
            "decisions": silence.decisions,
            "delay": round(silence.delay, 3),
            "waiting": waiting,
        }
        self._alerts.note("rewards-stopped", hosted.name, text, data)


def _nothing(hosted: Hosted) -> dict[str, Any]:
    return {"number": hosted.number, "noticed": -1, "paused": []}
