"""Writes what `benchmarks.peers` has measured as Markdown tables, each for a place on a page."""

import math
import statistics
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

from benchmarks.pages import Place
from benchmarks.peers_faults import AN_ERROR
from benchmarks.peers_players import FORGETTING, LIBRARIES, OURS

ROOT = Path(__file__).parent.parent
PAGE, README = ROOT / "docs" / "understand" / "peers.md", ROOT / "README.md"
DIFFERENT = 4.0  # standard errors, since there are dozens of comparisons
NONE = "–"
TITLES = {
    "three arms": "Three arms, .5 .3 .4",
    "clicks": "Click rates, .02 .03 .02",
    "changes": "The paper's bernoulli-changes, for policies that forget",
}

Found = dict[str, Any]
"""Of each library: version, start, speed, ten arms, regret; or why it is missing."""


def worlds_of(policy: str) -> tuple[str, str]:
    return ("three arms", "changes" if policy in FORGETTING else "clicks")


def table(header: Iterable[str], rows: Iterable[Iterable[str]]) -> list[str]:
    header = [*header]
    lines = [f"| {' | '.join(header)} |", "|" + "---|" * len(header)]
    return [*lines, *(f"| {' | '.join(row)} |" for row in rows), ""]


def us(value: float) -> str:
    """Return microseconds with as many digits as mean something."""
    return f"{value:.3f}" if value < 0.95 else f"{value:.1f}" if value < 99.5 else f"{value:.0f}"


def titled(library: str, found: Found) -> str:
    return f"{library} {found['version']}"


def present(found: Found) -> dict[str, Found]:
    return {name: each for name, each in found["libraries"].items() if "missing" not in each}


def estimate(regrets: list[float]) -> tuple[float, float]:
    """Return mean and standard error."""
    error = statistics.stdev(regrets) / math.sqrt(len(regrets)) if len(regrets) > 1 else math.nan
    return statistics.fmean(regrets), error


def old(speed: Found) -> str:
    """Return the cell of a live decision after 10⁵ updates, or how far it came."""
    if "fails" in speed:
        return "fails"
    if speed["played"] < 100_000:
        return f"{us(speed['old'])} after {speed['played'] // 1000}·10³"
    return us(speed["old"])


def start_table(found: Found) -> list[str]:
    rows = []
    for name, each in present(found).items():
        for how, label in (("empty", ", no kernels kept"), ("full", ", kernels kept"), ("", "")):
            if how in each["start"]:
                first, thousand = each["start"][how]
                policy = LIBRARIES[name].first
                rows.append([titled(name, each) + label, policy, f"{first:.0f}", f"{thousand:.0f}"])
    header = ("library", "policy", "first decision, ms", "1000 decisions and rewards, ms")
    return table(header, sorted(rows, key=lambda row: int(row[2])))


def speed_table(found: Found) -> list[str]:
    libraries = present(found)
    rows = []
    for policy in OURS:
        cells = []
        for each in libraries.values():
            speed = each["speed"].get(policy)
            if speed is None:
                cells.append(NONE)
            elif "error" in speed:
                cells.append("fails")
            else:
                cells.append(f"{us(speed['step'])} / {us(speed['young'])} / {old(speed)}")
        rows.append([policy, *cells])
    lines = table(["µs", *(titled(*each) for each in libraries.items())], rows)
    fails = [
        f"- {titled(name, each)}, {policy}: {speed.get('fails') or speed['error']}"
        for name, each in libraries.items()
        for policy, speed in each["speed"].items()
        if "fails" in speed or "error" in speed
    ]
    return [*lines, *fails, *([""] if fails else [])]


def ten_table(found: Found) -> list[str]:
    rows = []
    for name, each in present(found).items():
        paces = {policy: ten["live"] for policy, ten in each["ten arms"].items() if "live" in ten}
        ordered = sorted(paces.items(), key=lambda item: item[1])
        rows.append([titled(name, each), ", ".join(f"{p} {us(pace)}" for p, pace in ordered)])
    return table(("library", "µs for a live decision and its reward, ten arms"), rows)


def regret_tables(found: Found) -> list[str]:
    """Return a table for each world; what differs from our policy of the same name is bold."""
    libraries = present(found)
    lines = []
    for world, title in TITLES.items():
        rows = []
        for policy in OURS:
            if world not in worlds_of(policy):
                continue
            ours = libraries["lastblock"]["regret"][world][policy]["regrets"]
            cells = [
                regret_cell(each["regret"].get(world, {}).get(policy), ours)
                for each in libraries.values()
            ]
            rows.append([policy, *cells])
        names = [
            f"{titled(name, each)} ({each['replications']})" for name, each in libraries.items()
        ]
        lines += [f"### {title}", "", *table(["policy (replications)", *names], rows)]
    return lines


def regret_cell(regret: Found | None, ours: list[float]) -> str:
    if regret is None:
        return NONE
    if "error" in regret:
        return "fails"
    regrets = regret["regrets"]
    mean, error = estimate(regrets)
    cell = f"{mean:.1f} ± {error:.1f}"
    # If both do the same, our many replications know the spread best: regrets have heavy tails, and
    # the standard error of ten of them is mostly too small.
    spread = statistics.stdev(ours) * math.sqrt(1.0 / len(regrets) + 1.0 / len(ours))
    differs = abs(mean - statistics.fmean(ours)) > DIFFERENT * spread
    return f"**{cell}**" if differs else cell


def fault_sections(found: Found) -> list[str]:
    """Return a section for each library: its faults, and those that this version does not have."""
    lines: list[str] = []
    for name, each in present(found).items():
        if name == "lastblock":
            continue
        shown = [fault for fault in found["faults"] if fault["library"] == name]
        lines += [f"### {titled(name, each)}", ""]
        for fault in shown:
            if not fault["there"]:
                lines += [f"{fault['title']} Not in this version.", ""]
                continue
            right = fault["right"] if fault["right"] == AN_ERROR else f"`{fault['right']}`"
            lines += [fault["title"], "", "```py", fault["code"], "```", ""]
            lines += [f"It gives `{fault['came']}`; right would be {right}.", ""]
    return lines


def notes(found: Found) -> list[str]:
    """Return what the libraries' policies differ in from ours, and which cannot be had at all."""
    lines = [
        f"- {titled(name, each)}{', ' * bool(policy)}{policy}: {note}"
        for name, each in present(found).items()
        for policy, note in LIBRARIES[name].notes.items()
    ]
    return [*lines, *missing(found)]


def missing(found: Found) -> list[str]:
    return [
        f"- {name}: {each['missing']}"
        for name, each in found["libraries"].items()
        if "missing" in each
    ]


def summary_table(found: Found) -> list[str]:
    """Return the README's table: a line for each library, and for ours one to compare with."""
    rows = []
    for name, each in present(found).items():
        policies = ("LB-SDA-GM", "Thompson sampling", "ε-greedy")
        for policy in policies if name == "lastblock" else (LIBRARIES[name].first,):
            speed, regret = each["speed"][policy], each["regret"]["three arms"][policy]
            if "error" in speed or "error" in regret:
                rows.append([titled(name, each), policy, *(["fails"] * 4)])
                continue
            starts = [f"{first:.0f}" for first, _ in each["start"].values()]
            mean, error = estimate(regret["regrets"])
            cells = [us(speed["step"]), old(speed), " to ".join(sorted(starts, key=int))]
            rows.append([titled(name, each), policy, *cells, f"{mean:.1f} ± {error:.1f}"])
    header = ("library", "policy", "µs a step", "live, µs", "first decision, ms", "regret")
    return table(header, rows)


def speed_section(found: Found) -> list[str]:
    """Return the tables of times, and how the libraries' policies differ."""
    remarks = notes(found)
    return [*speed_table(found), *ten_table(found), *remarks, *([""] if remarks else [])]


PLACES: dict[Place, Callable[[Found], list[str]]] = {
    Place(README, "peers"): summary_table,
    Place(PAGE, "start"): start_table,
    Place(PAGE, "speed"): speed_section,
    Place(PAGE, "regret"): regret_tables,
    Place(PAGE, "faults"): fault_sections,
}
"""What makes the lines of each place on the README and on the page."""
