"""The program `lastblock`, with one file for each command in `commands/`.

The file of a command has two functions: `add` declares the arguments, and `execute` carries the
command out and returns the exit status. `execute` imports the slow modules, so that `--help`
answers at once.
"""

from lastblock.cli.program import main, program

__all__ = ["main", "program"]
