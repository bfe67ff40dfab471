"""The parser of the whole program: all commands and their arguments."""

import lastblock
from lastblock.cli.arguments import Parser, finish
from lastblock.cli.commands import (
    compare,
    completion,
    init,
    keys,
    plot,
    policies,
    report,
    reproduce,
    run,
    scenarios,
    serve,
    store,
)

COMMANDS = (
    *(reproduce, run, init, policies, scenarios, compare, report, plot),
    *(store, serve, keys, completion),
)
_EPILOG = """\
examples:
  lastblock reproduce                          all figures and tables of the paper
  lastblock reproduce stationary --replications 200
  lastblock init my.toml                       a scenario to start from
  lastblock run my.toml --threads 4
  lastblock compare stationary --baseline LB-SDA

exit status: 0 success; 1 a defect of lastblock; 2 a mistake in the command or
its files, or no space left; 130 interrupted (finished chunks are kept)
"""


def make_parser() -> Parser:
    """Return the parser of the whole program, with every command of `COMMANDS`."""
    parser = Parser(
        prog="lastblock",
        description="Multi-armed bandits by last-block duels: run the paper's experiments, or "
        "your own.",
        epilog=_EPILOG,
    )
    parser.set_defaults(parser=parser)
    parser.add_argument("--version", action="version", version=f"lastblock {lastblock.__version__}")
    commands = parser.add_subparsers(
        title="commands", metavar="COMMAND", dest="command", required=True
    )
    for module in COMMANDS:
        finish(module.add(commands))
    return parser
