"""One suite for both kinds of store: `place` is a file, then a PostgreSQL database."""

import itertools

import pytest

_numbers = itertools.count()


@pytest.fixture
def url(server):
    """An empty store on PostgreSQL."""
    return server.url(schema=f"s{next(_numbers)}")


@pytest.fixture(params=["sqlite", "postgres"])
def place(request):
    """An empty store of either kind."""
    if request.param == "postgres":
        return request.getfixturevalue("url")
    return request.getfixturevalue("tmp_path") / "shop.db"
