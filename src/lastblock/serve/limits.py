"""How many requests each caller may send."""

import math
import time
from collections.abc import Callable

from lastblock.serve.problems import ProblemError

MOST_CALLERS = 10_000


class Limits:
    """A bucket of tokens for each caller: a request takes one, and they come back at a rate.

    Parameters
    ----------
    rate
        Requests a second; 0 for no limit.
    burst
        How many requests may come at once.
    clock
        Returns seconds; for tests.
    """

    def __init__(
        self, rate: float, burst: float | None = None, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self.rate, self.burst = rate, max(1.0, 2.0 * rate if burst is None else burst)
        self._clock = clock
        self._buckets: dict[str, tuple[float, float]] = {}  # tokens, and when they were counted

    def take(self, caller: str) -> None:
        """Count a request, or raise a `ProblemError` that says when to come again."""
        if not self.rate:
            return
        now = self._clock()
        tokens, then = self._buckets.get(caller, (self.burst, now))
        tokens = min(self.burst, tokens + (now - then) * self.rate)
        if tokens < 1.0:
            seconds = math.ceil((1.0 - tokens) / self.rate)
            raise ProblemError(
                "too-many-requests",
                f"this caller may send {self.rate:g} requests a second; wait {seconds} s",
                {"Retry-After": str(seconds)},
            )
        if len(self._buckets) >= MOST_CALLERS and caller not in self._buckets:
            self._forget(now)
        self._buckets[caller] = tokens - 1.0, now

    def _forget(self, now: float) -> None:
        """Forget callers whose bucket is full again; if they are few, forget all."""
        full = self.burst / self.rate
        self._buckets = {
            name: (tokens, then)
            for name, (tokens, then) in self._buckets.items()
            if now - then < full
        }
        if len(self._buckets) >= MOST_CALLERS:
            self._buckets.clear()
