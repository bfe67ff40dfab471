"""``lastblock scenarios``: list or print the scenarios that come with the package."""

import argparse

from lastblock.cli.arguments import Parser, offer
from lastblock.cli.tables import table

_EPILOG = """\
examples:
  lastblock scenarios
  lastblock scenarios stationary > mine.toml
"""


def scenario_names() -> list[str]:
    """Return the names of the package's scenarios."""
    from lastblock.lab.scenario_files.reading import names  # noqa: PLC0415  # slow to import

    return names()


def add(commands: "argparse._SubParsersAction[Parser]") -> Parser:
    """Declare the arguments."""
    parser = commands.add_parser(
        "scenarios",
        help="list the scenarios that come with the package",
        description="List the scenarios that come with the package, or print one as TOML.",
        epilog=_EPILOG,
    )
    name = parser.add_argument(
        "name", nargs="?", metavar="NAME", help="print this scenario as TOML"
    )
    offer(name, scenario_names)
    parser.set_defaults(execute=execute)
    return parser


def execute(options: argparse.Namespace) -> int:
    """Print the list, or one scenario."""
    from lastblock.lab.scenario_files.reading import read  # noqa: PLC0415  # slow to import

    if options.name is not None:
        print((read(options.name).source or "").rstrip())
        return 0
    rows = []
    for name in scenario_names():
        scenario = read(name)
        rows.append(
            (
                name,
                str(scenario.environment.n_arms),
                str(len(scenario.environment.changes)),
                str(scenario.horizon),
                str(scenario.replications),
                str(len(scenario.policies)),
                scenario.title,
            )
        )
    header = "scenario", "arms", "changes", "horizon", "replications", "policies", ""
    print(table(header, rows, aligned="<>>>>><"))
    print("\nlastblock scenarios NAME prints one; lastblock run NAME runs it.")
    return 0
