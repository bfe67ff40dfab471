"""Arguments that several commands have."""

import argparse
from collections.abc import Callable, Collection
from pathlib import Path
from typing import Any, NoReturn

from lastblock.cli.failures import one_line
from lastblock.support.spelling import advice

OUT = Path("results")
FILE, FOLDER = "FILE", "DIRECTORY"  # what shtab can complete


class _Formatter(argparse.RawDescriptionHelpFormatter):
    """Keeps the text as it is laid out, and the commands in one column."""

    def __init__(self, prog: str) -> None:
        super().__init__(prog, max_help_position=26)

    def format_help(self) -> str:
        self._action_max_length += 2  # commands are indented once more than argparse reckons
        return super().format_help()


class Parser(argparse.ArgumentParser):
    """An argument parser whose complaints are one line, with the nearest thing that is right."""

    def __init__(self, **settings: Any) -> None:
        super().__init__(allow_abbrev=False, formatter_class=_Formatter, **settings)

    def error(self, message: str) -> NoReturn:
        self.exit(2, f"lastblock: error: {one_line(message)} (see {self.prog} --help)\n")

    def parse_args(self, args: Any = None, namespace: Any = None) -> Any:
        options, unknown = self.parse_known_args(args, namespace)
        if unknown:
            command: argparse.ArgumentParser = options.parser
            known = [name for action in command._actions for name in action.option_strings]
            hint = f"; {advice(unknown[0], known)}" if unknown[0].startswith("--") else ""
            command.error(f"unknown argument {unknown[0]!r}{hint}")
        return options

    def _check_value(self, action: argparse.Action, value: Any) -> None:
        if action.choices is not None and value not in action.choices:
            thing = action.option_strings[0] if action.option_strings else str(action.metavar)
            hint = advice(str(value), [str(choice) for choice in action.choices])
            raise argparse.ArgumentError(None, f"unknown {thing.lower()} {value!r}; {hint}")


def whole(least: int) -> Callable[[str], int]:
    """The type of an option that takes a whole number."""

    def convert(text: str) -> int:
        try:
            value = int(text)
        except ValueError:
            raise argparse.ArgumentTypeError(f"{text!r} must be a whole number") from None
        if value < least:
            raise argparse.ArgumentTypeError(f"{value} must be at least {least}")
        return value

    return convert


def offer(
    action: argparse.Action,
    names: Callable[[], Collection[str]] | None = None,
    files: str | None = None,
) -> None:
    """What the shell completes an argument with; whether it is right is checked elsewhere."""
    action.offered = names, files  # type: ignore[attr-defined]  # a note of ours on it


def add_run_options(parser: argparse.ArgumentParser) -> Any:
    """What a command has that computes; returns the group of options on what to run."""
    parser.set_defaults(resumes=True)
    what = parser.add_argument_group("what to run")
    for name, least, letter in ("replications", 1, "N"), ("horizon", 1, "T"), ("seed", 0, "N"):
        what.add_argument(
            f"--{name}", type=whole(least), metavar=letter, help="instead of the scenario's"
        )
    where = parser.add_argument_group("where")
    where.add_argument("--threads", type=whole(1), metavar="N", help="default: one for each core")
    where.add_argument(
        "--cluster", metavar="ADDRESS", help="a Dask scheduler's, such as tcp://host:8786"
    )
    add_out(where, "results, figures and the report go here")
    printed = parser.add_argument_group("what to print")
    printed.add_argument(
        "--quiet", action="store_true", help="no progress and no tables, only the report's path"
    )
    printed.add_argument(
        "--json", action="store_true", help="one JSON array on standard output, nothing else there"
    )
    return what


def add_out(parser: Any, text: str) -> None:
    """--out, the folder of results."""
    out = parser.add_argument(
        "--out", type=Path, default=OUT, metavar="FOLDER", help=f"{text} (default: {OUT})"
    )
    offer(out, files=FOLDER)
