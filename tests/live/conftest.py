"""A bandit that most tests of live bandits begin with."""

import pytest
from colours import new_bandit, play


@pytest.fixture
def bandit():
    """In the middle of its life, with three decisions out."""
    bandit = new_bandit()
    play(bandit, 60)
    bandit.ask(3)
    return bandit
