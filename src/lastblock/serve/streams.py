"""Server-sent events: the log of a bandit as it grows, from any event on."""

import asyncio
import time
from collections.abc import AsyncIterator, Sequence
from datetime import UTC, datetime

import msgspec

from lastblock.serve.groups import Hosted
from lastblock.serve.http import Request, Streamed
from lastblock.serve.state import State
from lastblock.store.event_logs import LoggedEvent
from lastblock.support.errors import StoreError

LOOK = 0.2
"""Seconds between two looks at whether something has happened."""

QUIET = 15.0
"""Seconds after which a stream sends a comment, so that proxies do not take it for dead."""

PART = 1000

_OURS = ("remember",)
"""Kinds of events that say nothing of a bandit: the store's memory of answered requests."""

_encode = msgspec.json.encode


def as_stream(parts: AsyncIterator[bytes]) -> Streamed:
    """Return the answer that sends events as they come."""
    headers = {"Cache-Control": "no-store", "X-Accel-Buffering": "no"}
    return Streamed(parts, b"text/event-stream", headers)


def last_seen(request: Request) -> int | None:
    """Return the number of the last event that a client has seen; None if it does not say."""
    last: int | None = request.options.get("Last-Event-ID", request.options.get("after"))
    return last


async def follow(
    state: State, hosted: Hosted, request: Request, after: int
) -> AsyncIterator[bytes]:
    """Yield the events of a bandit after event `after`, and those that come later.

    Only events that are on the disk are sent, so that nobody hears of what a crash takes back. It
    ends when the client leaves, its key ends, the bandit is deleted, or the server stops.
    """
    left = asyncio.ensure_future(request.until_left())
    state.streams[id(request)] = lag = [0]
    seen, heard = -1, time.monotonic()
    yield b"retry: 2000\n\n"
    try:
        while not (left.done() or state.is_over(request, hosted)):
            if seen != hosted.stamp or lag[0]:
                stamp = hosted.stamp
                try:
                    found = await asyncio.to_thread(
                        state.host.store.events, hosted.name, after=after, limit=PART
                    )
                except StoreError:  # deleted meanwhile, or the database is gone for a while
                    found = []
                    stamp = seen
                if found:
                    if sent := _all_sent(after, found):
                        yield sent
                        heard = time.monotonic()
                    after = found[-1].event
                lag[0] = len(found) == PART
                is_whole = len(found) < PART and not state.host.store.backlog.events
                seen = stamp if is_whole else -1  # the rest is on its way to the disk
                if lag[0]:
                    continue
            if time.monotonic() - heard > QUIET:
                heard = time.monotonic()
                yield b": nothing new\n\n"
            await asyncio.wait([left], timeout=LOOK)
    finally:
        left.cancel()
        del state.streams[id(request)]


def _all_sent(after: int, events: Sequence[LoggedEvent]) -> bytes:
    """Return events as a stream has them, with word of those that the store does not keep."""
    parts, missing, before = [], None, after
    for event in events:
        if event.event > before + 1 and missing is None:
            missing = before
        before = event.event
        if event.kind in _OURS:
            continue
        if missing is not None:
            parts.append(_gap(missing, event.event))
            missing = None
        parts.append(_sent(event))
    return b"".join(parts)


def _sent(event: LoggedEvent) -> bytes:
    data = event.to_dict()
    moment = datetime.fromtimestamp(event.time / 1e6, UTC)
    data["time"] = moment.isoformat(timespec="microseconds")
    return b"id: %d\nevent: %s\ndata: %s\n\n" % (
        event.event,
        event.kind.encode(),
        _encode(data),
    )


def _gap(after: int, following: int) -> bytes:
    """Return word that events are missing: the store does not keep them."""
    data = _encode({"after": after, "before": following})
    return b"event: gap\ndata: %s\n\n" % data
