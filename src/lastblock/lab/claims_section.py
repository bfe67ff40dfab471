"""The claims of a scenario file: ``[[claims]]``."""

import math
from collections.abc import Collection

from lastblock.lab.claims import Claim
from lastblock.lab.document import Table, advice, shown
from lastblock.protocol import number

_POLICIES = {  # how many policies a check is about
    "best": (1, 1),
    "last": (1, 1),
    "leading": (1, math.inf),
    "order": (2, math.inf),
    "close": (2, 2),
    "widest": (1, 1),
}
_WITH_MARGIN = ("best", "close")


def read_claims(top: Table, labels: Collection[str]) -> tuple[Claim, ...]:
    """What the results are expected to show."""
    return tuple(_read_claim(table, labels) for table in top.tables("claims"))


def _read_claim(table: Table, labels: Collection[str]) -> Claim:
    table.only(["text", "margin", *_POLICIES], "[[claims]]")
    table.need("text", 'a claim needs a sentence; write text = "…"')
    text = table.text("text")
    checks = [key for key in table if key in _POLICIES]
    if len(checks) != 1:
        raise table.error(f"a claim needs one check of {', '.join(_POLICIES)}", *checks[1:2])
    check = checks[0]
    policies = _labels(table, check, labels)
    return Claim(text, check, policies, _margin(table, check))


def _labels(table: Table, check: str, labels: Collection[str]) -> tuple[str, ...]:
    value = table.values[check]
    policies = value if isinstance(value, list) else [value]
    for policy in policies:
        if not isinstance(policy, str) or policy not in labels:
            hint = advice(policy, labels) if isinstance(policy, str) else "give a policy's label"
            raise table.error(f"{check}: no policy is labelled {shown(policy)}; {hint}", check)
    least, most = _POLICIES[check]
    if not least <= len(policies) <= most or len(set(policies)) < len(policies):
        wanted = f"{least} different" if most > 1 else "one"
        wanted = f"at least {wanted}" if most > 2 else wanted
        noun = "policy" if wanted.endswith("one") else "policies"
        raise table.error(f"{check}={shown(value)}: give {wanted} {noun}", check)
    return tuple(policies)


def _margin(table: Table, check: str) -> float | None:
    if "margin" not in table:
        if check == "close":
            raise table.error("close: how close? write margin = 0.1 for a tenth", check)
        return None
    if check not in _WITH_MARGIN:
        raise table.error(f"{check} has no margin; leave it out", "margin")
    try:
        margin = number(table.values["margin"], "margin")
    except ValueError as error:
        raise table.error(error, "margin") from None
    if margin <= 0.0:
        raise table.error(f"margin={margin} must be positive", "margin")
    return margin
