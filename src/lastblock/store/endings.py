"""How stores end that nobody closes: at the end of a process, and in the child of a fork."""

import os
import threading
import weakref
from typing import Any

from lastblock.live.view import desk_of
from lastblock.store.opening import Queue
from lastblock.store.storage import Storage

open_stores: weakref.WeakSet[Any] = weakref.WeakSet()
"""Every store of this process."""


def end(storage: Storage, groups: Queue | None) -> None:
    """Close a store at the end of the process, or when nothing refers to it or its bandits."""
    try:
        if groups is not None:
            groups.close()
    finally:
        storage.close()


def _abandon() -> None:
    """Close all stores in the child of a fork, which has none of the parent's threads."""
    for store in tuple(open_stores):
        if store._at_exit.detach() is None:
            continue
        store._is_closed = True
        store._lock = threading.RLock()
        reason = (
            f"{store._storage.label} was opened before a fork and belongs to the parent process; "
            "start workers by spawn, or open the store after the fork only (gunicorn: leave out "
            "--preload)"
        )
        store._closed = reason
        for journal in store._journals.values():
            desk_of(journal.bandit).renew_lock()
            journal.end(reason)
        store._storage.abandon()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_abandon)
