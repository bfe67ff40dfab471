"""The worlds of the paper's experiments."""

import pytest

from lastblock.lab.paper import HORIZON, SCENARIOS


@pytest.fixture(scope="session")
def scenarios():
    return {name: make().environment for name, make in SCENARIOS.items()}


@pytest.fixture(scope="session")
def horizon():
    return HORIZON
