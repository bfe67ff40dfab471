"""The tables of docs/comparison.md, and the same in LaTeX."""

import math
from collections.abc import Callable, Sequence

from benchmarks.comparison.numbers import Line
from benchmarks.comparison.rows import BASE, TOLD, UNIT, UNTOLD, YARDSTICK
from benchmarks.suite.problems import KINDS
from lastblock.lab.latex_tables import escape, latex_table
from lastblock.support.rounding import rounded

TITLES = {
    UNTOLD: "Policies that need no number of changes",
    TOLD: "Policies that are told the number of changes",
    YARDSTICK: "A yardstick",
}
COLUMNS = {
    "stationary": "stationary",
    "bernoulli-changes": "Bernoulli changes",
    "gaussian-changes": "Gaussian changes",
    "gaussian-variance-changes": "variance changes",
    "clicks": "clicks",
    "gaussian": "Gaussian",
    "ratings": "ratings",
    "revenue": "revenue",
}
HEADER = ["policy", "told", *COLUMNS.values(), "suite", "worst", "ns", "bytes", "runs"]
BY_KIND = (
    *("LB-SDA", "Adaptive LB-SDA", "LB-SDA + MeanShift", "RAW-UCB, all windows"),
    *("ε-greedy, forgetting", "GLR-kl-UCB", "GLR-kl-UCB, global restarts", "LB-SDA, DAL"),
    *("SW-Thompson", "SW-kl-UCB", "CUSUM-UCB", "LB-SDA, told the changes"),
)
"""The policies whose ratios on the suite stand for each kind of change, too."""
_REACH, _MOST = 2.0, 1.25
"""Bold is what lies above the best by at most so many standard errors of the difference, and is at
most so many times the best: where few runs vary much, noise alone explains anything."""

Bold = Callable[[str], str]


def unit_of(lines: Sequence[Line]) -> Line:
    """Return the row of the policy that is the unit of time."""
    return next(line for line in lines if line.name == UNIT)


def cells_of(line: Line, table: Sequence[Line], unit_ns: float, bold: Bold) -> list[str]:
    """Return the cells of a row, but for the policy's name."""
    return [
        line.told or "–",
        *(_regret(line, table, world, bold) for world in COLUMNS),
        _ratio(line, table, bold),
        "–" if math.isnan(line.suite.worst) else f"{line.suite.worst:.3g}",
        "–" if math.isnan(line.slower) else f"{float(f'{line.slower * unit_ns:.3g}'):g}",
        f"{line.size}{' ↑' if line.grows else ''}",
        str(max((cell.replications for cell in line.cells.values()), default=0)),
    ]


def _regret(line: Line, table: Sequence[Line], world: str, bold: Bold) -> str:
    own = line.cells.get(world)
    if own is None:
        return "–"
    best = min(other.cells[world] for other in table if world in other.cells)
    is_noisy = own.error > 1e-6 * own.mean
    text = " ± ".join(rounded(own.mean, own.error)) if is_noisy else f"{own.mean:.4g}"
    noise = min(_REACH * math.hypot(own.error, best.error), (_MOST - 1.0) * best.mean)
    return bold(text) if len(table) > 1 and own.mean - best.mean <= noise else text


def _ratio(line: Line, table: Sequence[Line], bold: Bold) -> str:
    own, most = line.suite, max(other.suite.problems for other in table)
    if not own.problems:
        return "–"
    if line.name == BASE:
        return "1"
    text = f"{own.ratio:.3f} ± {own.ratio * own.error:.3f}"
    if own.problems < most:
        return f"{text} ({own.problems})"
    full = [other.suite for other in table if other.suite.problems == most]
    best = min(full, key=lambda suite: suite.ratio)
    noise = _REACH * math.hypot(own.error, best.error)
    is_best = math.log(own.ratio / best.ratio) <= min(noise, math.log(_MOST))
    return bold(text) if len(table) > 1 and is_best else text


def markdown(lines: Sequence[Line]) -> str:
    """Return all tables in Markdown, each with its heading."""
    unit = unit_of(lines)
    parts = []
    for kind, title in TITLES.items():
        table = [line for line in lines if line.table == kind]
        if not table:
            continue
        parts += [f"### {title}", "", f"| {' | '.join(HEADER)} |", "|---" * len(HEADER) + "|"]
        for line in table:
            cells = cells_of(line, table, unit.ns, lambda text: f"**{text}**")
            parts.append(f"| [{line.name}](policies/{line.page}.md) | {' | '.join(cells)} |")
        parts.append("")
    parts += [f"Timed on one core of {unit.machine}.", "", *by_kind(lines)]
    return "\n".join(parts)


def by_kind(lines: Sequence[Line]) -> list[str]:
    """Return a table of the ratios on the suite for some policies, by what changes."""
    shown = [line for line in lines if line.name in BY_KIND and line.suite.kinds]
    parts = [
        "### The suite, by what changes",
        "",
        f"| policy | {' | '.join(KINDS)} |",
        "|---" * (1 + len(KINDS)) + "|",
    ]
    for line in shown:
        found = (line.suite.kinds.get(kind) for kind in KINDS)
        cells = ["–" if ratio is None else f"{ratio:.2f}" for ratio in found]
        parts.append(f"| [{line.name}](policies/{line.page}.md) | {' | '.join(cells)} |")
    return parts


def latex(lines: Sequence[Line]) -> str:
    """Return all tables in LaTeX."""
    unit = unit_of(lines)
    parts = []
    for kind, title in TITLES.items():
        table = [line for line in lines if line.table == kind]
        rows = [
            [
                escape(line.name),
                *(_in_latex(cell) for cell in cells_of(line, table, unit.ns, lambda t: f"**{t}**")),
            ]
            for line in table
        ]
        if rows:
            caption = f"{title}: regret with its standard error; time and memory"
            header = [escape(name) for name in HEADER]
            aligned = "ll" + "r" * (len(HEADER) - 2)
            parts.append(
                latex_table(header, rows, aligned, f"{caption}.", f"tab:comparison-{kind}")
            )
    return "\n".join(parts)


def _in_latex(cell: str) -> str:
    text = escape(cell.removeprefix("**").removesuffix("**")).replace("↑", r"$\uparrow$")
    return rf"\textbf{{{text}}}" if cell.startswith("**") else text
