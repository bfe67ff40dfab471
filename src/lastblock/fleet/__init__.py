"""Fleets: many live bandits in one array, which are asked and told in batches."""

from lastblock.fleet.fleet import Fleet

__all__ = ["Fleet"]
