"""All bandits of the store by name, also those that another process has open."""

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from lastblock.serve.families import COLLECTION, parent_of
from lastblock.serve.hosted import Hosted
from lastblock.serve.hosting import Host
from lastblock.store.reading import About
from lastblock.support.errors import StoreError


class Listed(NamedTuple):
    """A bandit of the store."""

    name: str
    hosted: Hosted | None
    """The open bandit; None if this process does not have it."""
    notes: dict[str, Any]
    """Its document."""


def list_bandits(
    host: Host, reaches: Callable[[str], bool], *, with_members: bool = False
) -> list[Listed]:
    """Return the bandits of the store, by name; call it in a thread, since it reads the store.

    Parameters
    ----------
    host
        The bandits that this process has open.
    reaches
        Says of a name whether the caller may know of the bandit.
    with_members
        Whether segments, holdouts and the like are among them.
    """
    open_now = dict(host.bandits)
    try:
        found = host.store.documents.all(COLLECTION)
        names = {*host.store.names(), *open_now}
    except StoreError:  # the database is away: those that are open are known
        found, names = {}, set(open_now)
    listed = []
    for name in sorted(names):
        hosted = open_now.get(name)
        parent = parent_of(found.get(name)) if hosted is None else _parent(hosted)
        if (parent is None or with_members) and reaches(parent or name):
            notes = hosted.notes if hosted else found[name].value if name in found else {}
            listed.append(Listed(name, hosted, notes))
    return listed


def about_others(host: Host, shown: Sequence[Listed]) -> dict[str, About]:
    """Return what the store knows of the bandits that this process does not have open."""
    others = [each.name for each in shown if each.hosted is None]
    try:
        return host.store.about(others) if others else {}
    except StoreError:
        return {}


def _parent(hosted: Hosted) -> str | None:
    return None if hosted.parent is None else hosted.parent.name
