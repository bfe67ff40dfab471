"""The modules of the benchmarks: tests import them, and forget them afterwards."""

import importlib
import sys
from contextlib import contextmanager
from pathlib import Path
from unittest import mock

import lastblock as lb

ROOT = Path(__file__).parents[1]


@contextmanager
def forgotten():
    """Import benchmarks anew, and forget them and their policies later.

    What they have imported stays; and so do benchmarks that a test had imported before.
    """
    with mock.patch.dict(lb.POLICIES):
        before = _take_out()
        try:
            yield
        finally:
            _take_out()
            sys.modules.update(before)


def _take_out():
    names = [each for each in sys.modules if each.partition(".")[0] == "benchmarks"]
    return {name: sys.modules.pop(name) for name in names}


@contextmanager
def imported(name):
    """Import a benchmark, and forget it later."""
    with forgotten():
        yield importlib.import_module(f"benchmarks.{name}")
