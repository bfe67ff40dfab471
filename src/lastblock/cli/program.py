"""The program: parse the arguments, execute the command, exit with its status."""

import argparse
import contextlib
import io
import os
import sys
import traceback
from collections.abc import Sequence

from lastblock.cli import failures
from lastblock.cli.parser import make_parser

_BROKEN_PIPE = 141  # the shell's status for a program that a broken pipe ended (128 + SIGPIPE)
TRACEBACK_VARIABLE = "LASTBLOCK_TRACEBACK"


def program() -> None:
    """Run `main` and exit with its status: the entry point of the command `lastblock`."""
    status = main()
    if status != 0:
        # A normal exit would wait for the chunks in progress, which takes long with a long
        # horizon. They are lost anyway, and the files on disk are complete.
        with contextlib.suppress(OSError, ValueError):
            sys.stdout.flush()
            sys.stderr.flush()
        os._exit(status)


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the program in this process.

    Parameters
    ----------
    arguments
        The command line after the program's name; default: `sys.argv[1:]`.

    Returns
    -------
    int
        The exit status: 0 success, 1 a defect of lastblock, 2 a mistake of the user or no space
        left, 130 interrupted, 141 the reader of a pipe left.
    """
    _make_printable(sys.stdout)
    _make_printable(sys.stderr)
    options = argparse.Namespace(typed=sys.argv[1:] if arguments is None else list(arguments))
    try:
        try:
            make_parser().parse_args(options.typed, options)
            status: int = options.execute(options)
        finally:
            if sys.stdout is not None:
                sys.stdout.flush()
    except SystemExit as end:  # argparse has printed its message
        return end.code if isinstance(end.code, int) else 0
    except BrokenPipeError:  # the reader of our output has closed it
        _discard_output()
        return _BROKEN_PIPE
    except (Exception, KeyboardInterrupt) as error:
        if getattr(options, "traceback", False) or os.environ.get(TRACEBACK_VARIABLE):
            if error.__suppress_context__ and error.__context__ is not None:
                traceback.print_exception(error.__context__)  # what the compiler said
            traceback.print_exception(error)
        status, line = failures.explain(error, options)
        print(line, file=sys.stderr)
    return status


def _make_printable(stream: object) -> None:
    """Make `stream` print a question mark for characters it cannot encode, such as ± or τ."""
    if isinstance(stream, io.TextIOWrapper):
        stream.reconfigure(errors="replace")


def _discard_output() -> None:
    """Redirect standard output to nowhere, because Python flushes it once more at exit."""
    try:
        nowhere = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nowhere, sys.stdout.fileno())
        os.close(nowhere)
    except (OSError, ValueError):  # standard output is not a real file
        pass
