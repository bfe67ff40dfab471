"""The argument that names a store."""

from pathlib import Path
from typing import Any

from lastblock.cli.arguments import FILE, Parser, offer
from lastblock.store.opening import is_postgres, open_storage
from lastblock.store.storage import Storage
from lastblock.support.errors import StoreError


def add_place(parser: Parser, name: str, text: str) -> None:
    """Add an argument for a store: a path or a URL."""
    offer(parser.add_argument(name, metavar=name.upper(), help=text), files=FILE)


def open_existing(place: str) -> Storage:
    """Open a store that must exist; a new file would help nobody."""
    if not is_postgres(place) and not Path(place).is_file():
        raise StoreError(f"there is no file {str(Path(place).absolute())!r}; give a store's path")
    return open_any(place)


def open_any(place: str) -> Storage:
    """Open a store; create it if need be."""
    options: dict[str, Any] = {"keep_events": True, "sync": True}
    return open_storage(place, **options)
