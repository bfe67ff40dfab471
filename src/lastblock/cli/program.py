"""The program: read the arguments, carry out the command, end with the right exit status."""

import argparse
import contextlib
import io
import os
import sys
import traceback
from collections.abc import Sequence

from lastblock.cli import failures
from lastblock.cli.parser import make_parser

_BROKEN_PIPE = 141  # as the shell says of programs that a broken pipe ended
TRACEBACK_VARIABLE = "LASTBLOCK_TRACEBACK"


def program() -> None:
    """The program itself: run `main`, and end."""
    status = main()
    if status != 0:
        # Python would wait for the chunks that are being computed, and a long horizon takes long.
        # They are lost anyway; what is on disk is whole.
        with contextlib.suppress(OSError, ValueError):
            sys.stdout.flush()
            sys.stderr.flush()
        os._exit(status)


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the program and return its exit status: 0, 1 (our mistake), 2 (the user's), 130."""
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
    except SystemExit as end:  # argparse has said what there is to say
        return end.code if isinstance(end.code, int) else 0
    except BrokenPipeError:  # the reader has had enough
        _discard_output()
        return _BROKEN_PIPE
    except (Exception, KeyboardInterrupt) as error:
        if getattr(options, "traceback", False) or os.environ.get(TRACEBACK_VARIABLE):
            traceback.print_exception(error)
        status, line = failures.explain(error, options)
        print(line, file=sys.stderr)
    return status


def _make_printable(stream: object) -> None:
    """Where the terminal knows no ± or τ, print a question mark instead of failing."""
    if isinstance(stream, io.TextIOWrapper):
        stream.reconfigure(errors="replace")


def _discard_output() -> None:
    """Python flushes standard output once more when it ends; let that go nowhere."""
    try:
        nowhere = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nowhere, sys.stdout.fileno())
        os.close(nowhere)
    except (OSError, ValueError):  # it is not a real file
        pass
