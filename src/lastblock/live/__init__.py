"""The live bandit: it decides, learns from rewards, explains itself, and can be saved."""

from lastblock.live.bandit import Bandit

__all__ = ["Bandit"]
