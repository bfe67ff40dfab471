"""Reads the claims of a scenario file: ``[[claims]]``."""

from collections.abc import Collection
from typing import cast

from lastblock.lab.claim_checks import CHECKS
from lastblock.lab.claims import CheckWord, Claim
from lastblock.lab.scenario_files.document import TomlTable
from lastblock.support.errors import ScenarioError, short
from lastblock.support.spelling import advice


def read_claims(top: TomlTable, labels: Collection[str] | None) -> tuple[Claim, ...]:
    """Return the claims of the file, and note the mistakes in them.

    `labels` are the labels of the scenario's policies; None if mistakes there leave some unknown.
    """
    claims: list[Claim] = []
    with top.document.noting():
        for table in top.tables("claims"):
            with top.document.noting():
                claims.append(_read_claim(table, labels))
    return tuple(claims)


def _read_claim(table: TomlTable, labels: Collection[str] | None) -> Claim:
    table.only(["text", "margin", *CHECKS], "[[claims]]")
    table.need("text", 'a claim needs a sentence; write text = "…"')
    checks = [key for key in table if key in CHECKS]
    if len(checks) != 1:
        raise table.error(f"a claim needs exactly one check: {', '.join(CHECKS)}", *checks[1:2])
    check, text = cast(CheckWord, checks[0]), table.text("text")
    policies = _labels(table, check, labels)
    try:
        return Claim(text, check, policies, table.values.get("margin"))
    except ScenarioError as error:
        raise table.error(error, "margin" if "margin" in table else check) from None


def _labels(table: TomlTable, check: str, labels: Collection[str] | None) -> tuple[str, ...]:
    """Return the labels that a claim names; they may be one text or a list."""
    value = table.values[check]
    policies = value if isinstance(value, list) else [value]
    for policy in policies:
        if not isinstance(policy, str) or (labels is not None and policy not in labels):
            known = labels or ()
            hint = advice(policy, known) if isinstance(policy, str) else "give a policy's label"
            raise table.error(f"{check}: no policy is labelled {short(policy)}; {hint}", check)
    return tuple(policies)
