"""The argument parser, and the arguments that several commands share."""

import argparse
from collections.abc import Callable, Collection
from pathlib import Path
from typing import Any, NoReturn

from lastblock.cli.failures import one_line
from lastblock.support.spelling import advice

OUT = Path("results")
FILE, FOLDER = "FILE", "DIRECTORY"  # names of shtab, which completes such paths
RESULTS = "RESULTS"  # names of results in --out, which `completion` completes


class _Formatter(argparse.RawDescriptionHelpFormatter):
    """Format help: keep the line breaks of our texts, and list the commands in one column."""

    def __init__(self, prog: str) -> None:
        super().__init__(prog, max_help_position=26)

    def format_help(self) -> str:
        self._action_max_length += 2  # argparse forgets the extra indent of commands
        return super().format_help()


class Parser(argparse.ArgumentParser):
    """An argument parser whose errors are one line and suggest the nearest known name."""

    def __init__(self, **settings: Any) -> None:
        super().__init__(allow_abbrev=False, formatter_class=_Formatter, **settings)

    def error(self, message: str) -> NoReturn:
        """Print `message` on one line and exit with status 2."""
        self.exit(2, f"lastblock: error: {one_line(message)} (see {self.prog} --help)\n")

    def parse_args(self, args: Any = None, namespace: Any = None) -> Any:
        """Parse the command line; suggest the nearest option for one that is unknown."""
        options, unknown = self.parse_known_args(args, namespace)
        if unknown:
            command: argparse.ArgumentParser = options.parser
            known = [name for action in command._actions for name in action.option_strings]
            hint = f"; {advice(unknown[0], known)}" if unknown[0].startswith("--") else ""
            command.error(f"unknown argument {unknown[0]!r}{hint}")
        return options

    def _check_value(self, action: argparse.Action, value: Any) -> None:
        """Raise an error that suggests the nearest choice if `value` is none of them."""
        if action.choices is not None and value not in action.choices:
            thing = action.option_strings[0] if action.option_strings else str(action.metavar)
            hint = advice(str(value), [str(choice) for choice in action.choices])
            raise argparse.ArgumentError(None, f"unknown {thing.lower()} {value!r}; {hint}")


def finish(command: Parser) -> None:
    """Add what every command has, after its own arguments."""
    command.set_defaults(parser=command)
    command.add_argument(
        "--traceback",
        action="store_true",
        default=argparse.SUPPRESS,  # or an action would forget what its command was given
        help="on an error, print Python's traceback (or set LASTBLOCK_TRACEBACK=1)",
    )


def whole(least: int | None = None) -> Callable[[str], int]:
    """Return a converter (argparse's `type=`) for whole numbers, of at least `least` if given."""

    def convert(text: str) -> int:
        try:
            value = int(text)
        except ValueError:
            raise argparse.ArgumentTypeError(f"{text!r} must be a whole number") from None
        if least is not None and value < least:
            raise argparse.ArgumentTypeError(f"{value} must be at least {least}")
        return value

    return convert


def number(text: str) -> float:
    """Convert a text to a number (argparse's `type=`)."""
    try:
        return float(text)
    except ValueError:
        raise argparse.ArgumentTypeError(f"{text!r} must be a number") from None


def offer(
    action: argparse.Action,
    names: Callable[[], Collection[str]] | None = None,
    files: str | None = None,
) -> None:
    """Note on `action` what `lastblock completion` offers for it; this restricts no values.

    Parameters
    ----------
    action
        The argument, as `add_argument` returned it.
    names
        Returns the names to offer. It is called only when a completion script is printed.
    files
        `FILE` or `FOLDER` to offer paths, `RESULTS` to offer names of results.
    """
    action.offered = names, files  # type: ignore[attr-defined]  # our own attribute


def add_run_options(parser: argparse.ArgumentParser) -> Any:
    """Add the options of a command that runs scenarios; return the group "what to run"."""
    parser.set_defaults(resumes=True)
    what = parser.add_argument_group("what to run")
    for name, least, letter, text in (
        ("replications", 1, "N", "number of replications"),
        ("horizon", 1, "T", "number of steps in each replication"),
        ("seed", 0, "N", "seed of all random numbers"),
    ):
        help_text = f"{text} (default: the scenario's)"
        what.add_argument(f"--{name}", type=whole(least), metavar=letter, help=help_text)
    where = parser.add_argument_group("where")
    where.add_argument(
        "--threads", type=whole(1), metavar="N", help="number of threads (default: one per core)"
    )
    where.add_argument(
        "--cluster",
        metavar="ADDRESS",
        help="run on the Dask cluster at this address, such as tcp://host:8786",
    )
    add_out(where, "folder for results, figures and the report")
    printed = parser.add_argument_group("what to print")
    printed.add_argument("--quiet", action="store_true", help="print only the path of the report")
    printed.add_argument(
        "--json", action="store_true", help="print only one JSON array on standard output"
    )
    return what


def add_out(parser: Any, text: str) -> None:
    """Add --out, the folder of results, with `text` as its help."""
    out = parser.add_argument(
        "--out", type=Path, default=OUT, metavar="FOLDER", help=f"{text} (default: {OUT})"
    )
    offer(out, files=FOLDER)
