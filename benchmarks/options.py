"""The options of the benchmarks' commands: each has its help, and a wrong one an error of one line.

Nothing but the standard library is imported here: `benchmarks.peers_worker` runs beside libraries
that know nothing of ours.
"""

import argparse
import math
import os
from collections.abc import Callable
from pathlib import Path
from typing import NoReturn

__all__ = ["Parser", "between", "folder"]


class Parser(argparse.ArgumentParser):
    """The argument parser of a command.

    Parameters
    ----------
    name
        The command's module in `benchmarks`; empty for the package itself.
    about
        What the command measures: the module's docstring.
    takes
        About how long it takes, such as "a minute on two cores". Times are those once the kernels
        are compiled.
    """

    def __init__(self, name: str, about: str | None, takes: str) -> None:
        super().__init__(
            prog=f"python -m benchmarks.{name}".rstrip("."),
            description=about,
            epilog=f"It takes {takes}.",
            allow_abbrev=False,
            formatter_class=argparse.RawDescriptionHelpFormatter,
        )

    def error(self, message: str) -> NoReturn:
        """Print `message` on one line and exit with status 2."""
        self.exit(2, f"{self.prog}: error: {message} (see --help)\n")


def between(least: float, most: float = math.inf) -> Callable[[str], float]:
    """Return a converter (argparse's `type=`) for numbers above `least` and at most `most`."""

    def convert(text: str) -> float:
        try:
            value = float(text)
        except ValueError:
            raise argparse.ArgumentTypeError(f"{text!r} must be a number") from None
        if not least < value <= most:  # neither is nan
            limit = "" if most == math.inf else f" and at most {most:g}"
            raise argparse.ArgumentTypeError(f"{text} must be above {least:g}{limit}")
        return value

    return convert


def folder(text: str) -> Path:
    """Convert (argparse's `type=`) the path of a folder to write into, which need not exist yet."""
    path = Path(text)
    # Unlike `Path.exists`, this takes a folder that we may not look into for one without the path.
    there = next(each for each in (path, *path.absolute().parents) if os.path.exists(each))
    if not there.is_dir():
        raise argparse.ArgumentTypeError(f"{there} is not a folder; choose another path")
    if not os.access(there, os.W_OK):
        raise argparse.ArgumentTypeError(f"cannot write into {there}; choose another path")
    return path
