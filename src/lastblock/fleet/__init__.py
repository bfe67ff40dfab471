"""Many live bandits in one array, asked and told in batches."""

from lastblock.fleet.fleet import Fleet

__all__ = ["Fleet"]
