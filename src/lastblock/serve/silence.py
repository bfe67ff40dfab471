"""Silence: the time in which decisions continue without a reward, for alerts and dashboard."""

from typing import Final

USUAL_LIMIT: Final = 600.0
"""The seconds after which the dashboard calls a bandit silent that has no `alert_after`."""

_GAPS: Final = 4.0
"""A pause between two decisions counts for at most this part of the limit."""

_DELAYS: Final = 3.0
"""How many usual delays of a reward must pass, besides the limit."""

_EXPECTED: Final = 7.0
"""So many expected rewards fail to come by chance once in a thousand times."""

_LATEST: Final = 0.1
"""The weight of the latest reward in the usual delay."""


class Silence:
    """Counts decisions and rewards of a bandit, with their times in seconds.

    Parameters
    ----------
    delay
        How long a reward takes, until the first one has come.
    """

    def __init__(self, delay: float = 0.0) -> None:
        self.seconds = 0.0
        """The seconds of traffic since the last reward. Of a pause between two decisions only the
        beginning counts: traffic that stops is no silence."""
        self.decisions = 0
        """How many that were."""
        self.delay = delay
        """How long rewards usually take."""
        self.is_told = False
        """Whether an alert has told of this silence."""
        self._asked = self._rewards = 0  # before this silence
        self._at: float | None = None

    def decide(self, number: int, now: float, limit: float) -> None:
        """Note decisions; pauses count for at most a quarter of the limit."""
        if self._at is not None:
            self.seconds += min(now - self._at, limit / _GAPS)
        self._at = now
        self.decisions += number

    def reward(self, waited: float, now: float) -> None:
        """Note a reward, which has come so long after its decision."""
        self.delay += (waited - self.delay) * (_LATEST if self._rewards else 1.0)
        self._asked, self._rewards = self._asked + self.decisions, self._rewards + 1
        self.seconds, self.decisions, self.is_told = 0.0, 0, False
        self._at = now

    def is_longer_than(self, limit: float) -> bool:
        """Return whether decisions go on, and rewards are later and rarer than they usually are."""
        share = min(1.0, self._rewards / self._asked) if self._asked else 1.0
        return self.seconds > limit + _DELAYS * self.delay and self.decisions * share >= _EXPECTED
