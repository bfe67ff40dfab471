"""Reads the table ``[prior]`` of a scenario file: arms that each replication draws anew."""

from typing import Any

from lastblock.core.families import FAMILIES
from lastblock.environments.prior import Prior
from lastblock.lab.scenario_files.document import TomlTable
from lastblock.support.checks import at_least
from lastblock.support.errors import short
from lastblock.support.spelling import advice


def read_prior(top: TomlTable) -> Prior:
    """Return the prior that the file describes, or raise a `ScenarioError` that names the key."""
    for key in ("arms", "phases"):
        if key in top:
            raise top.error(f"[prior] draws the arms; leave out {key}, or [prior]", key)
    table = top.table("prior")
    family = _family(
        table,
        "write [prior] with family = …, arms = … and laws, such as mean = "
        '{ family = "Beta", a = 1, b = 1 }',
    )
    table.need("arms", "the number of arms is missing; write arms = …")
    table.only(["family", "arms", *family._fields], "[prior]")
    laws = {
        key: _law(table, value, key)
        for key, value in table.values.items()
        if key not in ("family", "arms")
    }
    try:
        return Prior(family, at_least(2, table.values["arms"], "arms"), **laws)
    except ValueError as error:
        raise table.blame(error) from None


def _family(table: TomlTable, how: str) -> type[Any]:
    name = table.need("family", f"the family is missing; {how}")
    if not isinstance(name, str) or name not in FAMILIES:
        raise table.error(f"unknown family {short(name)}; {advice(str(name), FAMILIES)}", "family")
    return FAMILIES[name]


def _law(table: TomlTable, value: Any, *keys: str | int) -> Any:
    """Return a number, a law, or a list of them."""
    if isinstance(value, list) and len(keys) == 1:
        return [_law(table, item, *keys, i) for i, item in enumerate(value)]
    if not isinstance(value, dict):
        return value
    own = table.as_table(value, *keys)
    family = _family(own, "a law is an arm family with its parameters")
    own.only(["family", *family._fields], f"a law {family.__name__}")
    try:
        return family(**{key: item for key, item in own.values.items() if key != "family"})
    except (TypeError, ValueError) as error:
        raise own.error(str(error)) from None
