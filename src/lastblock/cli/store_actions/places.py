"""The arguments that name a store and a bandit, and others that actions share."""

from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from lastblock.cli.arguments import FILE, Parser, offer
from lastblock.store.opening import is_postgres, open_storage
from lastblock.store.storage import Storage
from lastblock.support.errors import StoreError


def add_place(parser: Parser, name: str, text: str) -> None:
    """Add an argument for a store: a path or a URL."""
    offer(parser.add_argument(name, metavar=name.upper(), help=text), files=FILE)


def add_bandit(parser: Parser) -> None:
    """Add an argument for the name of a bandit."""
    parser.add_argument("bandit", metavar="BANDIT", help="the name of a bandit")


def add_json(parser: Parser) -> None:
    """Add --json."""
    parser.add_argument("--json", action="store_true", help="print JSON on standard output")


def shown_time(microseconds: int | None) -> str:
    """Return a time to the second, in UTC."""
    if microseconds is None:
        return "–"
    return f"{datetime.fromtimestamp(microseconds / 1e6, UTC):%Y-%m-%d %H:%M:%S}"


def check_exists(place: str) -> None:
    """Raise a `StoreError` if there is no such file."""
    if not is_postgres(place) and not Path(place).is_file():
        raise StoreError(f"there is no file {str(Path(place).absolute())!r}; give a store's path")


def open_existing(place: str) -> Storage:
    """Open a store that must exist, rather than make an empty one."""
    check_exists(place)
    return open_any(place)


def open_any(place: str) -> Storage:
    """Open a store; create it if need be."""
    options: dict[str, Any] = {"keep_events": True, "sync": True}
    return open_storage(place, **options)
