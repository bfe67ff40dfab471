"""The options of the benchmarks' commands: a wrong one is an error of one line."""

import argparse
import math
from collections.abc import Callable
from typing import Any, NoReturn

from lastblock.cli.arguments import whole

__all__ = ["Parser", "between", "whole"]


class Parser(argparse.ArgumentParser):
    """An argument parser whose errors are one line."""

    def __init__(self, **settings: Any) -> None:
        super().__init__(
            allow_abbrev=False, formatter_class=argparse.RawDescriptionHelpFormatter, **settings
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
