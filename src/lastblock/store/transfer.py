"""Copy bandits from one storage to another, byte for byte, and compare the copies."""

import hashlib
from collections.abc import Callable, Iterator, Sequence

from lastblock.store.messages import number_of, open_elsewhere
from lastblock.store.recovery import PART
from lastblock.store.storage import Row, Storage, View
from lastblock.support.errors import StoreError

Advance = Callable[[int], object]
"""A function that is told how many more events were read or compared."""


def events_to_copy(storage: Storage, names: Sequence[str]) -> dict[str, int]:
    """Return how many events each of these bandits has in a storage, or raise a `StoreError`."""
    with storage.view() as view:
        known = view.names()
        found = {}
        for name in names or known:
            number = number_of(storage.label, name, known)
            first = view.snapshot(number, first=True).event
            found[name] = max(0, view.last(number) - first)
        return found


def copy_bandit(source: Storage, target: Storage, name: str, advance: Advance) -> None:
    """Copy a bandit with its events, and compare the copy; the target has all of it or nothing.

    Parameters
    ----------
    source, target
        The storages, of any kind.
    name
        The bandit, which nobody may have open.
    advance
        Is called with the number of events each time that some were copied, or compared.

    Raises
    ------
    StoreError
        If the bandit is open, or the target has one of this name, or the copy differs.
    """
    with source.view() as view:
        number = number_of(source.label, name, view.names())
    where = source.own([number])
    if where:
        raise open_elsewhere(source.label, name, where[number])
    try:
        with source.view() as view:
            target.receive(name, view.copy(number), _parts(view, number, advance))
            with target.view() as other:
                copied = other.names()[name]
                if _digest(view, number, lambda _: None) != _digest(other, copied, advance):
                    raise StoreError(
                        f"the copy of bandit {name!r} in {target.label} differs from the one in "
                        f"{source.label}; delete the copy, and verify both stores"
                    )
    finally:
        source.disown(number)


def _parts(view: View, number: int, advance: Advance) -> Iterator[list[Row]]:
    after = 0  # events before the snapshot are there if the bandit's memory needs them
    while rows := view.rows(number, after, PART):
        yield rows
        after = rows[-1][1]
        advance(len(rows))


def _digest(view: View, number: int, advance: Advance) -> bytes:
    """Return a digest of everything that a storage has of a bandit."""
    digest = hashlib.blake2b(repr(view.copy(number)).encode())
    for rows in _parts(view, number, advance):
        digest.update(repr([row[1:] for row in rows]).encode())
    return digest.digest()
