"""What was acknowledged is in the log exactly once, whatever happens."""

from serve.soak import soak


def test_kills_and_clumsy_clients_lose_and_double_nothing(tmp_path):
    wrong, kills, decided, told = soak(tmp_path, seconds=8.0)
    assert wrong == []
    assert kills.total() >= 1
    assert decided > 20
    assert told > 5
