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
    """Forget benchmarks and their policies later, but not what they have imported."""
    with mock.patch.dict(lb.POLICIES):
        try:
            yield
        finally:
            for module in [each for each in sys.modules if each.partition(".")[0] == "benchmarks"]:
                del sys.modules[module]


@contextmanager
def imported(name):
    """Import a benchmark, and forget it later."""
    with forgotten():
        yield importlib.import_module(f"benchmarks.{name}")
