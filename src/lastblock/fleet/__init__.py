"""Fleets: many live bandits in one array, which are asked and told in batches."""

from lastblock.fleet.fleet import Fleet
from lastblock.fleet.member import FleetBandit

__all__ = ["Fleet", "FleetBandit"]
