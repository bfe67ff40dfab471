"""A client that sends the same requests over and over: ``python -m benchmarks.serve_load``.

It speaks just enough HTTP, on raw connections, so that it costs less than the server it measures.
Give it a JSON object on standard input; it prints one on standard output.

With a rate, each connection sends at fixed moments that do not depend on the answers, and the
connections take turns. A request that is due before the answer to its connection's last one waits
for it, and this wait counts.
"""

import asyncio
import json
import sys
import time
from functools import partial
from typing import Any

from benchmarks.options import Parser


class Connection(asyncio.Protocol):
    """One connection: a request, its response, the next request.

    Parameters
    ----------
    requests
        What to send, in turn.
    seconds
        Where to note how long each request took.
    first
        When to send the first request.
    pause
        Seconds between the beginnings of two requests; 0 to send the next one at once.
    """

    def __init__(
        self, requests: list[bytes], seconds: list[float], first: float, pause: float
    ) -> None:
        self._requests, self._seconds, self._pause = requests, seconds, pause
        self._buffer = b""
        self._turn = 0
        self._due = first
        self.failed: str | None = None

    def connection_made(self, transport: Any) -> None:
        self._transport = transport
        self._next()

    def _next(self) -> None:
        """Send the next request when it is due."""
        now = time.perf_counter()
        if not self._pause:
            self._send(now)
        elif self._due > now:
            asyncio.get_running_loop().call_later(self._due - now, self._send)
        else:
            self._send(self._due)

    def _send(self, began: float | None = None) -> None:
        # A late timer is our own fault, an answer that comes after the next request is due is not.
        self._began = time.perf_counter() if began is None else began
        self._transport.write(self._requests[self._turn % len(self._requests)])
        self._turn += 1

    def data_received(self, data: bytes) -> None:
        self._buffer += data
        head, found, rest = self._buffer.partition(b"\r\n\r\n")
        if not found:
            return
        size = 0
        for line in head.split(b"\r\n")[1:]:
            name, _, value = line.partition(b":")
            if name.lower() == b"content-length":
                size = int(value)
        if len(rest) < size:
            return
        if not head.startswith(b"HTTP/1.1 20"):
            self.failed = (head.partition(b"\r\n")[0] + b" " + rest[:200]).decode()
        self._buffer = rest[size:]
        self._seconds.append(time.perf_counter() - self._began)
        self._due += self._pause
        self._next()


async def load(job: dict[str, Any]) -> dict[str, Any]:
    """Return how many requests a second were answered, and how long they took."""
    seconds: list[float] = []
    requests = [text.encode() for text in job["requests"]]
    loop = asyncio.get_running_loop()
    pause = job["connections"] / job["rate"] if job.get("rate") else 0.0
    made = []
    first = time.perf_counter() + 0.1  # when all are connected
    for place in range(job["connections"]):
        turn = first + pause * place / job["connections"]
        _, connection = await loop.create_connection(
            partial(Connection, requests, seconds, turn, pause), "127.0.0.1", job["port"]
        )
        made.append(connection)
    await asyncio.sleep(job["warm_up"])
    seconds.clear()
    began = time.perf_counter()
    await asyncio.sleep(job["seconds"])
    taken, passed = sorted(seconds), time.perf_counter() - began
    failures = [connection.failed for connection in made if connection.failed]
    if failures:
        raise SystemExit(f"a request failed: {failures[0]}")
    return {
        "count": len(taken),
        "rate": len(taken) / passed,
        "p50": taken[len(taken) // 2],
        "p99": taken[int(0.99 * len(taken))],
    }


if __name__ == "__main__":
    Parser("serve_load", __doc__, "as many seconds as the object says").parse_args()
    import uvloop

    with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
        print(json.dumps(runner.run(load(json.load(sys.stdin)))))
