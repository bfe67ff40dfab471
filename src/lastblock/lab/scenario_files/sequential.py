"""Reads the table ``[sequential]`` of a scenario file: when to stop before all replications."""

from collections.abc import Mapping
from dataclasses import fields

from lastblock.core.protocol import Policy
from lastblock.lab.scenario_files.document import TomlTable
from lastblock.lab.sequential import Sequential


def read_sequential(top: TomlTable, policies: Mapping[str, Policy] | None) -> Sequential | None:
    """Return the plan of the file, if there is one; note its mistakes.

    `policies` is None if other mistakes hide them; then labels are not checked.
    """
    found: Sequential | None = None
    if "sequential" not in top:
        return found
    with top.document.noting():
        table = top.table("sequential")
        table.only([field.name for field in fields(Sequential)], "[sequential]")
        try:
            found = Sequential(**table.values)
            if policies is not None:
                found.check_labels(list(policies))
        except ValueError as error:
            raise table.blame(error) from None
    return found
