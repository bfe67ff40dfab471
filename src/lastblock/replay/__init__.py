"""Policies on logged decisions: replay, and estimates by propensities."""

from lastblock.replay.replay import Replay

__all__ = ["Replay"]
