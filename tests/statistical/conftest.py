"""The worlds of the paper's experiments."""

import pytest

from lastblock.lab.scenario import Scenario
from lastblock.lab.scenario_files.reading import names


@pytest.fixture(scope="session")
def scenarios():
    return {name: Scenario.load(name).environment for name in names()}


@pytest.fixture(scope="session")
def horizon():
    return Scenario.load("stationary").horizon
