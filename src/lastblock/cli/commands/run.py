"""``lastblock run``: run scenarios, the user's own or those of the package."""

import argparse
from collections.abc import Collection
from contextlib import suppress
from dataclasses import MISSING, fields
from typing import TYPE_CHECKING, Any

from lastblock.cli.arguments import FILE, Parser, add_run_options, offer
from lastblock.cli.commands.scenarios import scenario_names
from lastblock.cli.failures import UserError
from lastblock.cli.running import finish
from lastblock.support.spelling import advice

if TYPE_CHECKING:
    from lastblock.lab.scenario import Scenario
    from lastblock.simulation.delays import Delay

_EPILOG = """\
examples:
  lastblock run scenario.toml
  lastblock run stationary mine.toml --replications 200 --out try
  lastblock run mine.toml --cluster tcp://10.0.0.1:8786
  lastblock run mine.toml --json | jq '.[0].policies'
  lastblock run mine.toml --sweep SW-LB-SDA:window=100,200,400,800
  lastblock run stationary --delay pareto:scale=50,shape=1,never=0.1

To continue an interrupted run, give the same command again. Finished chunks
are never computed twice.
"""


def add(commands: "argparse._SubParsersAction[Parser]") -> Parser:
    """Declare the arguments."""
    parser = commands.add_parser(
        "run",
        help="run scenarios: your own, or those of the package",
        description="Run scenarios and write results, figures and a report.",
        epilog=_EPILOG,
    )
    sources = parser.add_argument(
        "sources",
        nargs="+",
        metavar="SCENARIO",
        help="a TOML file (see lastblock init), or a name (see lastblock scenarios)",
    )
    offer(sources, scenario_names, FILE)
    what = add_run_options(parser)
    what.add_argument(
        "--sweep",
        action="append",
        default=[],
        type=_sweep,
        metavar="POLICY:NAME=VALUES",
        help="run a policy with several values of a parameter, such as TS:sigma=0.5,1,2",
    )
    what.add_argument(
        "--delay",
        type=_delay,
        metavar="LAW:NAME=VALUE,…",
        help="let rewards come late, such as fixed:steps=100 or geometric:mean=50,never=0.1",
    )
    parser.set_defaults(execute=execute)
    return parser


def execute(options: argparse.Namespace) -> int:
    """Run the scenarios, and write the report."""
    from lastblock.cli.running import run_scenarios  # noqa: PLC0415  # slow to import
    from lastblock.lab.scenario_files.reading import read  # noqa: PLC0415  # slow to import

    numbers = {name: getattr(options, name) for name in ("horizon", "replications", "seed")}
    scenarios = [_changed(read(source, **numbers), options) for source in options.sources]
    ran = run_scenarios(scenarios, options)
    return finish(ran, options)


def _sweep(text: str) -> tuple[str, str, list[float]]:
    """Return the label, the parameter and the values of --sweep."""
    label, colon, rest = text.rpartition(":")
    parameter, equals, values = rest.partition("=")
    try:
        numbers = [
            int(v) if v.strip().lstrip("+-").isdigit() else float(v) for v in values.split(",")
        ]
    except ValueError:
        numbers = []
    if not (label and colon and parameter and equals and numbers):
        raise argparse.ArgumentTypeError(
            f"{text!r} must name a policy, a parameter and numbers, such as TS:sigma=0.5,1,2"
        )
    return label, parameter.strip(), numbers


def _delay(text: str) -> "Delay":
    """Return the delay that --delay describes."""
    from lastblock.simulation.delays import DELAYS  # noqa: PLC0415  # slow to import

    law, _, rest = text.partition(":")
    pairs = [part.partition("=") for part in rest.split(",") if part]
    try:
        if law not in DELAYS:
            raise ValueError(f"unknown law {law!r}; {advice(law, DELAYS)}")
        known = {field.name: field.default is MISSING for field in fields(DELAYS[law])}
        values = {name: _value(name, value, known) for name, _, value in pairs}
        for name, needed in known.items():
            if needed and name not in values:
                raise ValueError(f"a {law} delay needs {name}; write {name}=…")
        return DELAYS[law](**values)
    except ValueError as error:
        raise argparse.ArgumentTypeError(f"{text!r}: {error}") from None


def _value(name: str, text: str, known: Collection[str]) -> Any:
    """Return the number in ``name=text``, whole if it is written so."""
    if name not in known:
        raise ValueError(f"unknown parameter {name!r}; {advice(name, known)}")
    for kind in (int, float):
        with suppress(ValueError):
            return kind(text)
    raise ValueError(f"{name} must be a number, such as {name}=10, not {text!r}")


def _changed(scenario: "Scenario", options: argparse.Namespace) -> "Scenario":
    """Return the scenario with the sweeps and the delay of the command line."""
    try:
        for label, parameter, values in options.sweep:
            scenario = scenario.sweep(label, **{parameter: values})
    except ValueError as error:
        raise UserError(f"--sweep: {error}") from None
    if options.delay is not None:
        scenario = scenario.replace(delay=options.delay)
    return scenario
