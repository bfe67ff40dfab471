"""Evaluate policies on logged decisions, by replay and by propensities."""

from lastblock.replay.replay import Replay

__all__ = ["Replay"]
