"""Fleets in the child of a fork: which there are, and how they become safe to use."""

import os
from typing import Any
from weakref import WeakSet

open_fleets: WeakSet[Any] = WeakSet()
"""Every fleet of this process."""


def _after_fork() -> None:
    """In a child process, make sure that no fleet shares memory or waits for lost threads."""
    for fleet in list(open_fleets):
        fleet._forked()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_after_fork)
