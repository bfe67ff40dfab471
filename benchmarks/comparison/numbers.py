"""What was measured of each policy, as it stands in docs/comparison.csv."""

import csv
import io
import json
import math
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from benchmarks.comparison.playing import address, policy_sources, size_of, timed
from benchmarks.comparison.rows import Row, case_of
from benchmarks.comparison.worlds import World
from benchmarks.suite.problems import KINDS
from benchmarks.suite.statistics import log_regret_ratio
from lastblock.core.registry import describe
from lastblock.support import files


class Store:
    """A folder of results: for each policy a file with its regrets in each world, and its time.

    Parameters
    ----------
    folder
        It is made if it does not exist. A result is used again only if neither the policy, nor the
        sources it is made of, nor the world, nor the replications have changed.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        folder.mkdir(parents=True, exist_ok=True)
        self._rows: dict[str, dict[str, Any]] = {}

    def regrets(self, row: Row, world: World) -> list[float] | None:
        """Return the kept regrets of a policy in a world; None if there are none that hold."""
        policy = row.policy(case_of(world.problem))
        if policy is None:
            return None
        kept = self._row(row).get(world.name, {})
        valid = kept.get("address") == address(policy, world, world.replications_for(row.slowness))
        return list(kept["regrets"]) if valid else None

    def put(self, row: Row, worlds: Sequence[World], regrets: Mapping[str, list[float]]) -> None:
        """Keep regrets of a policy."""
        for world in worlds:
            policy = row.policy(case_of(world.problem))
            where = address(policy, world, world.replications_for(row.slowness))
            self._row(row)[world.name] = {"address": where, "regrets": regrets[world.name]}
        self._write(row)

    def time(self, row: Row) -> dict[str, Any] | None:
        """Return the kept times of a policy and of the unit, and the machine; None if missing."""
        kept = self._row(row).get("time")
        return kept if kept is not None and kept["address"] == self._time_address(row) else None

    def put_time(self, row: Row, own: float, unit: float, machine: str) -> None:
        """Keep the nanoseconds a step of a policy and of the unit, from one run on a machine."""
        where = self._time_address(row)
        self._row(row)["time"] = {"address": where, "ns": own, "unit": unit, "machine": machine}
        self._write(row)

    def _time_address(self, row: Row) -> str:
        policy, _ = timed(row)
        return f"{json.dumps(describe(policy), default=repr)} {policy_sources(policy)}"

    def _path(self, row: Row) -> Path:
        name = "".join(letter if letter.isalnum() else "-" for letter in row.name)
        return self.folder / f"{name}.json"

    def _row(self, row: Row) -> dict[str, Any]:
        if row.name not in self._rows:
            path = self._path(row)
            text = path.read_text(encoding="utf-8") if path.exists() else "{}"
            self._rows[row.name] = json.loads(text)
        return self._rows[row.name]

    def _write(self, row: Row) -> None:
        text = json.dumps(self._row(row), ensure_ascii=False)
        files.write(self._path(row), text.encode())


class Cell(NamedTuple):
    """A mean of regrets, its standard error, and the number of replications."""

    mean: float
    error: float
    replications: int


class Suite(NamedTuple):
    """Ratios of regrets to those of the tuned window."""

    ratio: float
    """Their geometric mean."""
    error: float
    """The standard error of its logarithm."""
    problems: int
    """How many problems the policy can play."""
    worst: float
    worst_problem: str
    kinds: dict[str, float]
    """The same for the problems of each kind of change."""


class Line(NamedTuple):
    """A row of the tables."""

    table: str
    name: str
    page: str
    """The name of the policy's page."""
    told: str
    cells: dict[str, Cell]
    """By world; those that the policy cannot play are missing."""
    suite: Suite
    which: str
    """Which problems the suite had; ratios to others cannot stand in one table."""
    slower: float
    """The time a step, in units of that of the unit in the same run."""
    ns: float
    """The nanoseconds a step in that run, and its machine."""
    machine: str
    size: int
    grows: bool


def line_of(
    row: Row, store: Store, base: Row, alone: Sequence[World], suite: Sequence[World]
) -> Line:
    """Return the row of a policy from what the store holds of it.

    Parameters
    ----------
    base
        The policy to whose regret that on the suite is compared.
    alone, suite
        The worlds that have a column of their own, and the problems of the suite.
    """
    cells = {}
    for world in alone:
        found = store.regrets(row, world)
        if found is not None:
            sample = np.array(found)
            error = float(sample.std(ddof=1) / math.sqrt(sample.size))
            cells[world.name] = Cell(float(sample.mean()), error, sample.size)
    kept = store.time(row) or {"ns": math.nan, "unit": math.nan, "machine": ""}
    policy, _ = timed(row)
    return Line(
        row.table,
        row.name,
        type(policy).__name__.lower(),
        row.told,
        cells,
        suite_of(row, store, base, suite),
        which_suite(suite),
        kept["ns"] / kept["unit"],
        kept["ns"],
        kept["machine"],
        *size_of(row),
    )


def suite_of(row: Row, store: Store, base: Row, suite: Sequence[World]) -> Suite:
    """Return the ratios on the problems that a policy can play, paired by replication."""
    ratios = []
    for world in suite:
        ours, theirs = store.regrets(row, world), store.regrets(base, world)
        if ours is not None and theirs is not None:
            n = min(len(ours), len(theirs))
            found = log_regret_ratio(np.array(ours[:n]), np.array(theirs[:n]))
            ratios.append((found.log, found.se, world.problem.title, world.problem.kind))
    if not ratios:
        return Suite(math.nan, math.nan, 0, math.nan, "", {})
    error = math.sqrt(sum(se * se for _, se, _, _ in ratios)) / len(ratios)
    kinds: dict[str, list[float]] = {}
    for log, _, _, kind in ratios:
        kinds.setdefault(kind, []).append(log)
    worst = max(ratios)
    return Suite(
        _geometric([log for log, *_ in ratios]),
        error,
        len(ratios),
        math.exp(worst[0]),
        worst[2],
        {kind: _geometric(logs) for kind, logs in kinds.items()},
    )


def _geometric(logs: Sequence[float]) -> float:
    return math.exp(float(np.mean(logs)))


def which_suite(suite: Sequence[World]) -> str:
    """Return a name of the problems that changes when they do."""
    seeds = sorted({world.problem.seed // 1000 for world in suite})
    return f"{len(suite)} problems, seeds {' '.join(f'{seed}xxx' for seed in seeds)}"


# As a file.

_FIXED = ("table", "name", "page", "told")
_SUITE = ("ratio", "error", "problems", "worst", "worst_problem")
_LAST = ("which", "slower", "ns", "machine", "size", "grows")


def as_csv(lines: Sequence[Line], alone: Sequence[World]) -> str:
    """Return the rows as CSV, with all digits."""
    columns = [
        *_FIXED,
        *(f"{world.name} {part}" for world in alone for part in Cell._fields),
        *(f"suite {part}" for part in (*_SUITE, *KINDS)),
        *_LAST,
    ]
    out = io.StringIO()
    writer = csv.DictWriter(out, columns, lineterminator="\n")
    writer.writeheader()
    for line in lines:
        found = line._asdict()
        record = {name: found[name] for name in (*_FIXED, *_LAST)}
        record |= {
            f"{world} {part}": value
            for world, cell in line.cells.items()
            for part, value in cell._asdict().items()
        }
        suite = line.suite
        record |= {f"suite {part}": getattr(suite, part) for part in _SUITE}
        record |= {f"suite {kind}": ratio for kind, ratio in suite.kinds.items()}
        writer.writerow(record)
    return out.getvalue()


def from_csv(text: str, alone: Sequence[World]) -> dict[str, Line]:
    """Return the rows of a file that `as_csv` made, by the names of the policies."""
    lines = {}
    for record in csv.DictReader(io.StringIO(text)):
        cells = {
            world.name: Cell(
                float(record[f"{world.name} mean"]),
                float(record[f"{world.name} error"]),
                int(record[f"{world.name} replications"]),
            )
            for world in alone
            if record.get(f"{world.name} mean")
        }
        suite = Suite(
            float(record["suite ratio"]),
            float(record["suite error"]),
            int(record["suite problems"]),
            float(record["suite worst"]),
            record["suite worst_problem"],
            {kind: float(record[f"suite {kind}"]) for kind in KINDS if record[f"suite {kind}"]},
        )
        line = Line(
            record["table"],
            record["name"],
            record["page"],
            record["told"],
            cells,
            suite,
            record["which"],
            float(record["slower"]),
            float(record["ns"]),
            record["machine"],
            int(record["size"]),
            record["grows"] == "True",
        )
        lines[line.name] = line
    return lines
