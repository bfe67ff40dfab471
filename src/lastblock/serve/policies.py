"""Policies by name and parameters, as scenario files write them."""

from typing import Any

from lastblock.core.protocol import Detector, Policy
from lastblock.core.registry import DETECTORS, POLICIES, check_parameters
from lastblock.support.errors import short
from lastblock.support.spelling import advice

DEFAULT = "AdaptiveLBSDA"
_INNER = "of"
"""The key for a wrapper's parameter `policy`; `policy` itself names the wrapper."""


def read_policy(given: object) -> Policy:
    """Return a policy, given by its name or as an object with its name and parameters.

    Parameters
    ----------
    given
        ``"LBSDAGM"``, or ``{"policy": "SWLBSDA", "window": 500}``. A wrapper has its policy under
        ``of``, and its detector under ``detector``, both in the same form.

    Raises
    ------
    ValueError
        If there is no such policy, or a parameter is not valid.
    """
    policy: Policy = _read(given, "policy", POLICIES)
    return policy


def _read(given: object, key: str, registry: dict[str, type[Any]]) -> Any:
    table = {key: given} if isinstance(given, str) else given
    if not isinstance(table, dict) or not isinstance(table.get(key), str):
        raise ValueError(
            f'{key}: give a name, or an object such as {{"{key}": "…", parameters …}}, '
            f"not {short(given)}"
        )
    name = table[key]
    if name not in registry:
        raise ValueError(f"unknown {key} {name!r}; {advice(name, registry)}")
    cls = registry[name]
    if getattr(cls, "oracle", False):
        raise ValueError(f"{name} knows the arms beforehand, for simulations; take another policy")
    values = {}
    for word, value in table.items():
        if word == key:
            continue
        if word == _INNER and "policy" in cls._fields:
            values["policy"] = _read(value, "policy", POLICIES)
        elif word == "detector" and "detector" in cls._fields:
            values["detector"] = _read(value, "detector", DETECTORS)
        elif word == "policy" or isinstance(value, dict):
            raise ValueError(f"{name}: {word}={short(value)} is not a value for a parameter")
        else:
            values[word] = value
    try:
        check_parameters(cls, (), values)
        return cls(**values)
    except TypeError as error:
        raise ValueError(str(error)) from None


def written(policy: Policy | Detector) -> dict[str, Any]:
    """Return a policy in the form that `read_policy` reads."""
    name = type(policy).__name__
    table: dict[str, Any] = {"policy" if name in POLICIES else "detector": name}
    for key, value in policy._asdict().items():
        word = _INNER if key == "policy" else key
        if type(value).__name__ in POLICIES.keys() | DETECTORS.keys():
            table[word] = written(value)
        else:
            table[word] = value.name.lower() if hasattr(value, "name") else value
    return table
