"""A service in this process, without a network, and one in a process of its own."""

import pytest

from serve.client import Service
from serve.visitor import Visitor


@pytest.fixture
def service(tmp_path):
    """Starts services on one store; each ends with the test at the latest."""
    made = []

    def start(**settings):
        made.append(Service(tmp_path / "shop.db", **settings))
        return made[-1]

    yield start
    for each in made:
        each.close()


@pytest.fixture
def shop(service):
    """A service with one bandit of three arms, called button."""
    shop = service()
    shop.create(arms=["red", "green", {"label": "blue", "payload": {"price": 7}}])
    return shop


@pytest.fixture
def admin(shop):
    """A visitor of the dashboard who may do everything."""
    return Visitor(shop, shop.key)


@pytest.fixture
def reader(shop):
    """One who may look only."""
    key, _ = shop.state.keys.create(["read"])
    return Visitor(shop, key)
