"""Many live bandits in one array, asked and told in batches."""

from lastblock.fleet.fleet import Fleet
from lastblock.fleet.member import FleetBandit

__all__ = ["Fleet", "FleetBandit"]
