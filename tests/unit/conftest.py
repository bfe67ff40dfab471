"""What several files of tests need."""

import sys
from unittest import mock

import pytest

import lastblock as lb
from lastblock.lab.scenario_files import imports


@pytest.fixture
def own_imports():
    """Policies and arms that a scenario imports are gone after the test."""
    with mock.patch.dict(lb.POLICIES), mock.patch.dict(lb.FAMILIES):
        yield
    for name in imports._files:
        sys.modules.pop(name, None)
    imports._files.clear()
