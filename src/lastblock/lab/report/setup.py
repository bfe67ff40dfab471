"""The parts of a report on what was run, and how to run it again."""

import json
from base64 import b64encode
from collections.abc import Mapping, Sequence
from html import escape
from typing import TYPE_CHECKING, Any

from lastblock.drawing import numbers
from lastblock.kernels.divergences import Law
from lastblock.lab.report import markup
from lastblock.lab.report.markup import Cell, Column, Style

if TYPE_CHECKING:
    from lastblock.lab.results import Result


def head(result: "Result") -> str:
    """Return the title of a scenario, and a line on its size."""
    arms = int(result.pulls["arm"].max()) + 1
    facts = [
        f"<code>{escape(result.name)}</code>",
        _plural(arms, "arm"),
        _plural(len(result.changes), "change") if result.changes else "no change points",
        _plural(result.horizon, "step"),
        _plural(result.replications, "replication"),
        f"seed {result.seed}",
    ]
    delay = result.about["scenario"].get("delay")
    if delay is not None:
        facts.append(escape(_delay(delay)))
    return f'<h2>{escape(result.title)}</h2>\n<p class="lead">{" · ".join(facts)}</p>'


def _delay(delay: Mapping[str, Any]) -> str:
    """Return how late rewards came, in a few words."""
    law = f"{delay['law'].capitalize()} delays" if delay["law"] == "pareto" else ""
    inside = [f"{k} {v:g}" for k, v in delay.items() if k not in ("law", "never")]
    words = f"{law or delay['law'] + ' delays'} of rewards ({', '.join(inside)})"
    return words + (f", {100 * delay['never']:g} % never come" if delay["never"] else "")


def _plural(value: int, noun: str) -> str:
    return f"{numbers.count(value)} {noun}{'s' * (value != 1)}"


def setup(result: "Result", styles: Mapping[str, Style]) -> str:
    """Return the whole scenario, in parts that open by a click."""
    scenario = result.about["scenario"]
    parts = [_arms(result), _policies(scenario["policies"], styles), _versions([result])]
    source = result.about["source"]
    folded = markup.details("What was run", "\n".join(parts))
    if source is None:
        plain = json.dumps(scenario, indent=2, ensure_ascii=False, default=repr)
        return folded + markup.details("The scenario as data (JSON)", markup.code(plain))
    link = "data:text/plain;charset=utf-8;base64," + b64encode(source.encode()).decode()
    name = escape(f"{result.name}.toml")
    save = f'<p><a download="{name}" href="{link}">Save as {name}</a></p>'
    return folded + markup.details("The scenario as a file (TOML)", save + markup.code(source))


def again(results: "Sequence[Result]", commands: Sequence[str]) -> str:
    """Return the section on how to run everything again."""
    if commands:
        how = "<p>These commands made this page:</p>" + markup.code("\n".join(commands))
    else:
        how = "".join(
            f"<p>Save the scenario {escape(r.name)} from its section above, then:</p>"
            + markup.code(
                f"lastblock run {r.name}.toml --horizon {r.horizon} "
                f"--replications {r.replications} --seed {r.seed}"
            )
            for r in results
            if r.about["source"] is not None
        )
    same = (
        "<p>The same scenario, seed and versions give the same numbers, whatever the number of "
        f"threads; only the times per step differ.</p>{_versions(results)}"
    )
    return f"<h2>Run it again</h2>\n{how}{same if results else ''}"


def _versions(results: "Sequence[Result]") -> str:
    """Return the versions, once for all results that share them."""
    groups: dict[str, list[str]] = {}
    for result in results:
        key = json.dumps(result.about["versions"])
        groups.setdefault(key, []).append(result.name)
    lists = []
    for key, names in groups.items():
        if len(groups) > 1:
            lists.append(f"<p>{escape(', '.join(names))}:</p>")
        facts = "".join(
            f"<dt>{escape(name)}</dt><dd>{escape(str(version))}</dd>"
            for name, version in json.loads(key).items()
        )
        lists.append(f'<dl class="facts">{facts}</dl>')
    return "".join(lists)


def _arms(result: "Result") -> str:
    environment = result.about["scenario"]["environment"]
    if "phases" in environment:
        return _phases(environment["phases"], result.horizon)
    if "means" in environment:
        return _paths(environment["arms"], environment["means"])
    if "prior" in environment:
        return f"<p>{escape(_prior(environment['prior']))}</p>"
    return f"<p>{escape(str(environment.get('environment', environment)))}</p>"


def _prior(prior: Mapping[str, Any]) -> str:
    """Return the law from which each replication draws its arms, in words."""
    laws = {key: value for key, value in prior.items() if key not in ("family", "arms")}
    return (
        f"Each replication draws {prior['arms']} {prior['family']} arms of its own: "
        f"{_listed(laws)}. The mean regret is the Bayes regret."
    )


def _phases(phases: Sequence[Mapping[str, Any]], horizon: int) -> str:
    """Return a table with one row per phase, the best arms in bold."""
    ends = [phase["start"] for phase in phases[1:]] + [horizon]
    rows = []
    for phase, end in zip(phases, ends, strict=True):
        means = [arm.get("mean") for arm in phase["arms"]]
        best = max(means) if all(mean is not None for mean in means) else None
        start = Cell(f"{numbers.count(phase['start'])} – {numbers.count(end - 1)}", phase["start"])
        row = [start]
        for arm, mean in zip(phase["arms"], means, strict=True):
            shown = escape(_value("", arm))
            if best is not None and mean == best:
                shown = f'<span class="best-arm">{shown}</span>'
            row.append(Cell(shown, mean, numeric=mean is not None))
        rows.append(row)
    columns = [Column("Time steps", left=True)]
    columns += [Column(f"arm {k + 1}", left=True) for k in range(len(phases[0]["arms"]))]
    return markup.table(columns, rows, "Arms", "The arms; the best of each phase in bold.")


def _paths(arms: Sequence[Mapping[str, Any]], means: Sequence[Mapping[str, Any]]) -> str:
    """Return a table with one row per arm, for arms whose means drift."""
    rows = [
        [
            markup.text(f"arm {k + 1}"),
            markup.text(_value("", {k: v for k, v in arm.items() if k != "mean"})),
            markup.text(_path(path)),
        ]
        for k, (arm, path) in enumerate(zip(arms, means, strict=True))
    ]
    columns = [Column("Arm", left=True), Column("Family", left=True), Column("Mean", left=True)]
    return markup.table(columns, rows, "Arms", "The arms, whose means move all the time.")


def _path(path: Mapping[str, Any]) -> str:
    if "values" not in path:
        return _listed(path)
    values, times = path["values"], path["times"]
    if len(values) > 8:
        return f"table of {len(values)} values, from {values[0]:g} to {values[-1]:g}"
    points = zip(range(len(values)) if times is None else times, values, strict=True)
    return "linear through " + ", ".join(f"{value:g} at {t}" for t, value in points)


def _policies(policies: Mapping[str, Any], styles: Mapping[str, Style]) -> str:
    rows = [
        [
            markup.policy(label, styles[label]),
            markup.text(policy["name"]),
            Cell(f"<code>{escape(_listed(policy['parameters']))}</code>", numeric=False),
        ]
        for label, policy in policies.items()
    ]
    columns = [Column("Label", left=True), Column("Policy", left=True)]
    columns += [Column("Parameters", left=True)]
    return markup.table(columns, rows, "Policies", "The policies and their parameters.")


def _listed(parameters: Mapping[str, Any]) -> str:
    return ", ".join(f"{name} = {_value(name, value)}" for name, value in parameters.items())


def _value(name: str, value: Any) -> str:
    if name == "family" and isinstance(value, int):
        return Law(value).name.lower()
    if isinstance(value, float):
        return f"{value:.6g}"
    if isinstance(value, Mapping):
        if "family" in value:  # an arm, or the law of a parameter
            inside = [_value(key, part) for key, part in value.items() if key != "family"]
            return f"{value['family']}({', '.join(inside)})"
        return f"{value['name']}({_listed(value['parameters'])})"  # a policy inside a policy
    if isinstance(value, list | tuple):
        shown = [_value("", item) for item in value[:12]]
        return f"[{', '.join(shown)}{', …' if len(value) > 12 else ''}]"
    return str(value)
