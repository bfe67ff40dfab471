"""``lastblock run``: run scenarios, the user's own or those of the package."""

import argparse

from lastblock.cli.arguments import FILE, Parser, add_run_options, offer
from lastblock.cli.commands.scenarios import runnable_names
from lastblock.cli.finishing import finish
from lastblock.cli.suite import add_suite_options, check_options, is_suite, run_suite

_EPILOG = """\
examples:
  lastblock run scenario.toml
  lastblock run stationary mine.toml --replications 200 --out try
  lastblock run mine.toml --cluster tcp://10.0.0.1:8786
  lastblock run mine.toml --json | jq '.[0].policies'
  lastblock run adaptive-suite --problems 0-11

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
    offer(sources, runnable_names, FILE)
    add_run_options(parser)
    add_suite_options(parser)
    parser.set_defaults(execute=execute)
    return parser


def execute(options: argparse.Namespace) -> int:
    """Run the scenarios or the suite, and write the report."""
    check_options(options)
    if is_suite(options):
        return run_suite(options)

    from lastblock.cli.running import run_scenarios  # noqa: PLC0415  # slow to import
    from lastblock.lab.scenario_files.reading import read  # noqa: PLC0415  # slow to import

    numbers = {name: getattr(options, name) for name in ("horizon", "replications", "seed")}
    scenarios = [read(source, **numbers) for source in options.sources]
    ran = run_scenarios(scenarios, options)
    return finish(ran, options)
