"""Names that are not known, and what was probably meant."""

from collections.abc import Collection

from lastblock.cli.failures import UserError
from lastblock.support.spelling import advice


def check(name: str, known: Collection[str], thing: str) -> str:
    """The name, if it is known."""
    if name not in known:
        raise UserError(f"unknown {thing} {name!r}; {advice(name, known)}")
    return name
