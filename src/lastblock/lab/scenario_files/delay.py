"""Reads the table ``[delay]`` of a scenario file: how late rewards come."""

from dataclasses import MISSING, fields

from lastblock.lab.scenario_files.document import TomlTable
from lastblock.simulation.delays import DELAYS, Delay
from lastblock.support.errors import short
from lastblock.support.spelling import advice


def read_delay(top: TomlTable) -> Delay | None:
    """Return the law of the file's delays, if it has one; note its mistakes."""
    found: Delay | None = None
    if "delay" not in top:
        return found
    with top.document.noting():
        table = top.table("delay")
        law = table.need("law", f"the law is missing; write law = …, one of {', '.join(DELAYS)}")
        if not isinstance(law, str) or law not in DELAYS:
            raise table.error(f"unknown law {short(law)}; {advice(str(law), DELAYS)}", "law")
        known = {field.name: field.default is MISSING for field in fields(DELAYS[law])}
        table.only(["law", *known], f"a {law} delay")
        missing = [name for name, needed in known.items() if needed and name not in table]
        if missing:
            raise table.error(f"a {law} delay needs {missing[0]}; write {missing[0]} = …")
        try:
            found = DELAYS[law](**{name: table.values[name] for name in known if name in table})
        except ValueError as error:
            raise table.blame(error) from None
    return found
