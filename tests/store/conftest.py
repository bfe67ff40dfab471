"""One suite for both kinds of store: `place` is a file, then a PostgreSQL database."""

import functools
import itertools

import pytest
from shop_to_read import made

from lastblock.cli import main
from lastblock.kernels.background import compiling
from lastblock.live import clock

_numbers = itertools.count()


@pytest.fixture
def path(tmp_path):
    """A store in a file, which is not there yet."""
    return tmp_path / "shop.db"


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


@pytest.fixture
def now(monkeypatch):
    """A clock to set: a list of one number, in microseconds since 1970."""
    time = [1_700_000_000_000_000]
    monkeypatch.setattr(clock, "time_ns", lambda: 1000 * time[0])
    return time


@pytest.fixture(scope="session")
def shops():
    """The stores that `shop` has made; pytest makes a parametrised fixture more than once."""
    return {}


@pytest.fixture(scope="session", params=["sqlite", "postgres"])
def shop(request, tmp_path_factory, shops):
    """A store of either kind, for all tests that only read it."""
    if request.param not in shops:
        with compiling("never"):
            if request.param == "sqlite":
                place = tmp_path_factory.mktemp("shop") / "shop.db"
            else:
                place = request.getfixturevalue("server").url(schema="shell")
            shops[request.param] = made(place)
    return shops[request.param]


@pytest.fixture
def shell_on(capsys):
    """Run an action on a store; returns status, output and errors."""

    def run(store, action, *arguments):
        status = main(["store", action, str(store), *map(str, arguments)])
        captured = capsys.readouterr()
        return status, captured.out, captured.err

    return run


@pytest.fixture
def shell(shop, shell_on):
    """Run an action on the shop."""
    return functools.partial(shell_on, shop)
