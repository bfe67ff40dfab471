"""Counters of the service, and their text for Prometheus."""

from bisect import bisect_left
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from typing import TypeAlias

BUCKETS = (0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0)
"""Seconds; Prometheus estimates quantiles from counts of these."""

Sample: TypeAlias = tuple[Mapping[str, object], float]


class Metrics:
    """Counts requests and their seconds, by operation."""

    def __init__(self) -> None:
        self._requests: dict[tuple[str, str, int], int] = {}
        self._seconds: dict[str, list[int]] = {}
        self._sums: dict[str, float] = {}
        self.in_flight = 0
        self.refused: Counter[str] = Counter()
        """How many rewards of batches were refused, by the kind of the problem."""

    def count(self, method: str, path: str, status: int, seconds: float) -> None:
        """Count a request that has been answered."""
        key = method, path, status
        self._requests[key] = self._requests.get(key, 0) + 1
        counts = self._seconds.get(path)
        if counts is None:
            counts = self._seconds[path] = [0] * (len(BUCKETS) + 1)
            self._sums[path] = 0.0
        counts[bisect_left(BUCKETS, seconds)] += 1
        self._sums[path] += seconds

    def lines(self) -> Iterator[str]:
        """Yield the lines about requests."""
        yield from family(
            "lastblock_requests_total",
            "counter",
            "Requests that were answered.",
            (
                ({"method": method, "path": path, "status": status}, number)
                for (method, path, status), number in self._requests.items()
            ),
        )
        yield from family(
            "lastblock_requests_in_flight",
            "gauge",
            "Requests that are being answered.",
            [({}, self.in_flight)],
        )
        yield from family(
            "lastblock_refused_rewards_total",
            "counter",
            "Rewards of batches that were refused: the request itself is answered with 200.",
            (({"problem": kind}, number) for kind, number in self.refused.items()),
        )
        name = "lastblock_request_seconds"
        yield f"# HELP {name} Seconds from a request to its answer."
        yield f"# TYPE {name} histogram"
        for path, counts in self._seconds.items():
            total = 0
            for bound, number in zip((*BUCKETS, "+Inf"), counts, strict=True):
                total += number
                yield f"{name}_bucket{labels({'path': path, 'le': bound})} {total}"
            yield f"{name}_sum{labels({'path': path})} {self._sums[path]:.6f}"
            yield f"{name}_count{labels({'path': path})} {total}"


def family(name: str, kind: str, text: str, samples: Iterable[Sample]) -> Iterator[str]:
    """Yield the lines of one metric."""
    yield f"# HELP {name} {text}"
    yield f"# TYPE {name} {kind}"
    for of, value in samples:
        yield f"{name}{labels(of)} {value:.17g}"


def labels(values: Mapping[str, object]) -> str:
    """Return labels as Prometheus reads them."""
    if not values:
        return ""
    return "{" + ",".join(f'{name}="{_escaped(value)}"' for name, value in values.items()) + "}"


def _escaped(value: object) -> str:
    return str(value).replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")
