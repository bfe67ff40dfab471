"""The clock of a bandit in a store: its times never go back, even if the system's clock does."""

from time import time_ns


class Clock:
    """Gives each change of a bandit its time, and knows the number of the last event.

    If the system's clock is put back, this one goes on from where it was, at the same pace, so that
    decisions go on getting older.

    Parameters
    ----------
    last
        The time of the last event.
    event
        The number of the last event.
    """

    __slots__ = ("_ahead", "event", "last")

    def __init__(self, last: int = 0, event: int = 0) -> None:
        self.last, self.event = last, event
        self._ahead = 0  # what to add to the system's time

    def tick(self) -> int:
        """Read the clock: return the microseconds since 1970, never less than before."""
        now = time_ns() // 1000 + self._ahead
        if now < self.last:
            self._ahead += self.last - now
            now = self.last
        self.last = now
        return now
