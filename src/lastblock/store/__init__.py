"""Many named bandits that survive: every change is an event in a database."""

from lastblock.store.store import Store

__all__ = ["Store"]
