"""One live bandit: ask, tell, arms that come and go, save, load, explain."""

from lastblock.live.bandit import Bandit

__all__ = ["Bandit"]
