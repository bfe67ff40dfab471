"""The program `lastblock`: one file a command.

A command's file has `add`, which declares its arguments, and a function that carries it out and
returns the exit status. What is slow to import is imported there, so that help comes at once.
"""

from lastblock.cli.program import main, program

__all__ = ["main", "program"]
