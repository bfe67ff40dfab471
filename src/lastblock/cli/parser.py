"""All commands of the program, and their arguments."""

import lastblock
from lastblock.cli.arguments import Parser
from lastblock.cli.commands import (
    compare,
    completion,
    init,
    plot,
    policies,
    report,
    reproduce,
    run,
    scenarios,
)

COMMANDS = (reproduce, run, init, policies, scenarios, compare, report, plot, completion)
_EPILOG = """\
examples:
  lastblock reproduce                          all figures and tables of the paper
  lastblock reproduce stationary --replications 200
  lastblock init my.toml                       a scenario to start from
  lastblock run my.toml --threads 4
  lastblock compare stationary --baseline LB-SDA

exit status: 0 all done; 1 a mistake of lastblock's; 2 a mistake in what was
asked for, or no room for it; 130 interrupted (what is done is kept)
"""


def make_parser() -> Parser:
    """The parser of the whole program."""
    parser = Parser(
        prog="lastblock",
        description="Multi-armed bandits by last-block duels: the paper's experiments, and yours.",
        epilog=_EPILOG,
    )
    parser.set_defaults(parser=parser)
    parser.add_argument("--version", action="version", version=f"lastblock {lastblock.__version__}")
    commands = parser.add_subparsers(
        title="commands", metavar="COMMAND", dest="command", required=True
    )
    for module in COMMANDS:
        command = module.add(commands)
        command.set_defaults(parser=command)
        command.add_argument(
            "--traceback",
            action="store_true",
            help="when something goes wrong, show where (or set LASTBLOCK_TRACEBACK=1)",
        )
    return parser
