"""``lastblock reproduce``: the paper's figures and tables."""

import argparse

from lastblock.cli import names
from lastblock.cli.arguments import Parser, add_run_options, offer

SCENARIOS = {  # by the names of the figures; the last one has two readings of its last phase
    "stationary": ("stationary",),
    "bernoulli-changes": ("bernoulli-changes",),
    "gaussian-changes": ("gaussian-changes",),
    "gaussian-variance-changes": (
        "gaussian-variance-changes",
        "gaussian-variance-changes-notebook",
    ),
}
NAMES = ("means", "takeover", *SCENARIOS, "table1")
_EPILOG = """\
names:
  means                      the means of the arms that change, over time
  takeover                   figure 1: how a naive leader is taken over
  stationary                 what a limited memory costs
  bernoulli-changes          three Bernoulli arms that change twice
  gaussian-changes           three Gaussian arms that change three times
  gaussian-variance-changes  the same with other variances, by the paper and by
                             its authors' notebook
  table1                     storage and cost, measured

examples:
  lastblock reproduce
  lastblock reproduce stationary --replications 200
  lastblock reproduce bernoulli-changes --reference --seed 2 --out again

An interrupted run goes on where it stopped when the same command is given
again; what is computed is never computed twice.
"""


def add(commands: "argparse._SubParsersAction[Parser]") -> Parser:
    """Declare the arguments."""
    parser = commands.add_parser(
        "reproduce",
        help="the paper's figures and tables",
        description="Reproduce the paper's figures and tables: all of them, or those named.",
        epilog=_EPILOG,
    )
    wanted = parser.add_argument("names", nargs="*", metavar="NAME", help="see below")
    offer(wanted, lambda: NAMES)
    what = add_run_options(parser)
    what.add_argument(
        "--reference",
        action="store_true",
        help="make the choices of the authors' code where it differs from the paper",
    )
    parser.set_defaults(execute=execute)
    return parser


def execute(options: argparse.Namespace) -> int:
    """Run what is asked for, and draw it."""
    from lastblock.cli.extras import make_extras  # noqa: PLC0415  # slow to import
    from lastblock.cli.finishing import finish  # noqa: PLC0415  # slow to import
    from lastblock.cli.running import run_scenarios  # noqa: PLC0415  # slow to import
    from lastblock.lab.scenario_files.reading import read  # noqa: PLC0415  # slow to import

    wanted = [names.check(name, NAMES, "name") for name in options.names] or list(NAMES)
    scenarios = [
        read(
            scenario,
            horizon=options.horizon,
            replications=options.replications,
            seed=options.seed,
            reference=options.reference,
        )
        for name in SCENARIOS
        if name in wanted
        for scenario in SCENARIOS[name]
    ]
    ran = run_scenarios(scenarios, options)
    extras = make_extras(wanted, options)
    return finish(ran, options, extras)
