"""What was acknowledged is in the log exactly once, whatever happens."""

import pytest

from serve.soak import soak
from store.postgres_server import Server
from trials import short_and_long, trial


@pytest.mark.usefixtures("kept_kernels")
@short_and_long("seconds", 3.0, 30.0)
def test_kills_and_clumsy_clients_lose_and_double_nothing(tmp_path, seconds):
    found = soak(tmp_path, seconds)
    assert (found.wrong, found.missing) == ([], 0)
    assert found.kills.total() >= 1
    assert found.decided > 2 * seconds
    assert found.told > seconds / 2


@trial
@pytest.mark.usefixtures("kept_kernels")
def test_several_servers_lose_and_double_nothing_with_their_database(tmp_path):
    """`python tests/serve/soak.py 1800 postgres` does it for half an hour."""
    database = Server(fsync="on")
    try:
        options = {"database": database, "servers": 2, "pause": (1.0, 9.0)}
        found = soak(tmp_path, 60.0, **options)
    finally:
        database.close()
    assert found.wrong == []
    assert found.missing <= found.lost
    assert found.kills.total() >= 3
    assert found.decided > found.told > 30
