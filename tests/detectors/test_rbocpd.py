"""R-BOCPD against all its forecasters, one by one."""

from math import log
from random import Random

import pytest

import lastblock as lb
from detectors.watching import noticed_by
from lastblock.testing.worlds import ARMS
from oracle.glrklucb import on_grid


class Forecasters:
    """One for each reward to begin with; each predicts every later coin by Laplace's rule."""

    def __init__(self, delta):
        self.delta = delta
        self.coins = []
        self.losses = []  # of the forecaster that begins with coin 0, 1, …
        self.before = []  # the first one's loss when another one begins

    def notice(self, coin):
        """The splits after which a forecaster weighs more than the first one."""
        self.before.append(self.losses[0] if self.losses else 0.0)
        self.losses.append(0.0)
        heads, n = 0.0, 0
        for start in reversed(range(len(self.losses))):
            chance = (heads + 1) / (n + 2)
            self.losses[start] -= log(chance if coin == 1 else 1 - chance)
            if start > 0:
                heads += self.coins[start - 1]
                n += 1
        self.coins.append(coin)
        prior = log(self.delta / len(self.coins))
        return [
            start
            for start in range(1, len(self.coins))
            if on_grid(start, len(self.coins))
            and prior - self.before[start] - self.losses[start] > -self.losses[0]
        ]


@pytest.mark.parametrize("delta", [0.01, 1.0])
def test_it_notices_what_all_forecasters_do(delta):
    rng = Random(3)
    arms = [rng.randrange(ARMS) for _ in range(900)]
    coins = [float(rng.random() < (0.2, 0.8)[t // 225 % 2]) for t in range(900)]
    found = {alarm[0]: alarm for alarm in noticed_by(lb.RBOCPD(delta), arms, coins)}
    twins = [Forecasters(delta) for _ in range(ARMS)]
    for t, (arm, coin) in enumerate(zip(arms, coins, strict=True), start=1):
        splits = twins[arm].notice(coin)
        assert (t in found) == bool(splits)
        if splits:
            n = len(twins[arm].coins)
            at = n - found[t][1]
            assert at in splits
            assert found[t][2] == pytest.approx(sum(twins[arm].coins[:at]) / at)
            assert found[t][3] == pytest.approx(sum(twins[arm].coins[at:]) / (n - at))
            twins = [Forecasters(delta) for _ in range(ARMS)]
    assert len(found) >= 3
