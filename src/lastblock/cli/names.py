"""The check of a name against the known ones."""

from collections.abc import Collection

from lastblock.cli.failures import UserError
from lastblock.support.spelling import advice


def check(name: str, known: Collection[str], thing: str) -> str:
    """Return `name`; raise a `UserError` that suggests the nearest one if it is not in `known`.

    `thing` says in the message what the name stands for, such as "policy".
    """
    if name not in known:
        raise UserError(f"unknown {thing} {name!r}; {advice(name, known)}")
    return name
