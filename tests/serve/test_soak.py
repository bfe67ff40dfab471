"""What was acknowledged is in the log exactly once, whatever happens."""

import pytest

from serve.soak import soak
from trials import short_and_long


@pytest.mark.usefixtures("kept_kernels")
@short_and_long("seconds", 3.0, 30.0)
def test_kills_and_clumsy_clients_lose_and_double_nothing(tmp_path, seconds):
    wrong, kills, decided, told = soak(tmp_path, seconds)
    assert wrong == []
    assert kills.total() >= 1
    assert decided > 2 * seconds
    assert told > seconds / 2
