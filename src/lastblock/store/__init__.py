"""Named bandits that survive crashes: every change is written to a database as an event."""

from lastblock.store.store import Store

__all__ = ["Store"]
