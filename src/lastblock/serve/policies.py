"""Policies by name and parameters, as scenario files write them."""

from collections.abc import Mapping
from typing import Any, get_type_hints

from lastblock.core.parameters import Range
from lastblock.core.protocol import Detector, Policy
from lastblock.core.registry import DETECTORS, POLICIES, check_parameters, enumeration
from lastblock.support.errors import short
from lastblock.support.spelling import advice

DEFAULT = "AdaptiveLBSDA"
_INNER = "of"
"""The key for a wrapper's parameter `policy`, as in scenario files; `policy` names the wrapper."""


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
    policy: Policy = _read(given, "policy", "policy", POLICIES)
    return policy


def offered(registry: Mapping[str, type[Any]]) -> list[str]:
    """Return the names to choose from: all but policies that know the arms beforehand."""
    return sorted(name for name, cls in registry.items() if not getattr(cls, "oracle", False))


def _read(given: object, at: str, key: str, registry: dict[str, type[Any]]) -> Any:
    """Return the policy or detector that is `given` under the key `at`; `key` names its class."""
    table = {key: given} if isinstance(given, str) else given
    if not isinstance(table, dict) or not isinstance(table.get(key), str):
        raise ValueError(
            f'{at}: give a name, or an object such as {{"{key}": "…", parameters …}}, '
            f"not {short(given)}"
        )
    name = table[key]
    if name not in registry:
        raise ValueError(f"unknown {key} {name!r}; {advice(name, offered(registry))}")
    cls = registry[name]
    if name not in offered(registry):
        raise ValueError(f"{name} knows the arms beforehand, for simulations; take another policy")
    _check_words(cls, [word for word in table if word != key])
    values = {}
    for word, value in table.items():
        if word == key:
            continue
        if word == _INNER and "policy" in cls._fields:
            values["policy"] = _read(value, _INNER, "policy", POLICIES)
        elif word == "detector":
            values["detector"] = _read(value, "detector", "detector", DETECTORS)
        elif isinstance(value, dict) or _is_number_of_word(cls, word, value):
            raise ValueError(f"{name}: {word}={short(value)} is not a value for a parameter")
        else:
            is_whole = isinstance(value, float) and value.is_integer()
            values[word] = int(value) if is_whole else value  # as JSON has them: 3.0 is 3
    try:
        check_parameters(cls, (), values)
        return cls(**values)
    except TypeError as error:
        raise ValueError(str(error)) from None


def _is_number_of_word(cls: type[Any], word: str, value: object) -> bool:
    """Return whether a parameter that is a word, such as ``family``, is given by its number."""
    return not isinstance(value, str) and enumeration(get_type_hints(cls).get(word)) is not None


def _check_words(cls: type[Any], given: list[str]) -> None:
    """Raise a ValueError about a key that a class does not have, or that a wrapper lacks."""
    name, wraps = cls.__name__, "policy" in cls._fields
    known = [_INNER if field == "policy" else field for field in cls._fields]
    for word in given:
        if word not in known:
            hint = advice(word, known)
            if wraps and _INNER not in given:
                hint += f' (the policy that it wraps is "{_INNER}")'
            raise ValueError(f"{name} has no parameter {word!r}; {hint}")
    needed = [
        word
        for word, field in zip(known, cls._fields, strict=True)
        if field not in cls._field_defaults
    ]
    missing = next((word for word in needed if word not in given), None)
    if wraps and missing is not None:
        what = f"{missing}, the policy that it wraps" if missing == _INNER else missing
        example = "".join(f', "{word}": "…"' for word in needed)
        raise ValueError(f'{name} needs {what}: {{"policy": "{name}"{example}}}')


def schemas() -> dict[str, Any]:
    """Return JSON schemas of what `read_policy` reads: each policy and detector, and any of them.

    They say of each parameter what its annotation says; what `validate` checks is not among it.
    """
    found: dict[str, Any] = {}
    for key, registry in (("policy", POLICIES), ("detector", DETECTORS)):
        names = offered(registry)
        alone = [name for name in names if not _needed(registry[name])]
        found |= {f"{key}.{name}": _schema(key, registry[name]) for name in names}
        either: list[Any] = [{"$ref": f"#/components/schemas/{key}.{name}"} for name in names]
        found[key.title()] = {"anyOf": [{"enum": alone}, *either]}
    return found


def _needed(cls: type[Any]) -> list[str]:
    """Return the parameters without a default."""
    return [field for field in cls._fields if field not in cls._field_defaults]


def _schema(key: str, cls: type[Any]) -> dict[str, Any]:
    """Return the schema of an object with the name of a class under `key`, and its parameters."""
    hints = get_type_hints(cls, include_extras=True)
    words = {field: _INNER if field == "policy" else field for field in cls._fields}
    return {
        "type": "object",
        "properties": {
            key: {"const": cls.__name__},
            **{words[field]: _parameter(hints.get(field)) for field in cls._fields},
        },
        "required": [key, *(words[field] for field in _needed(cls))],
        "additionalProperties": False,
    }


def _parameter(hint: Any) -> dict[str, Any]:
    """Return the schema of a parameter by its annotation."""
    rules = getattr(hint, "__metadata__", ())
    kind = hint.__origin__ if rules else hint
    if kind in (Policy, Detector):
        return {"$ref": f"#/components/schemas/{kind.__name__}"}
    words = enumeration(kind)
    if words is not None:
        return {"enum": [member.name.lower() for member in words]}
    names = {int: "integer", float: "number", bool: "boolean"}
    said: dict[str, Any] = {"type": names[kind]} if kind in names else {}
    for rule in rules:
        if isinstance(rule, Range):
            bounds = (rule.least, rule.most, rule.above, rule.below)
            limits = ("minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum")
            said |= {name: x for name, x in zip(limits, bounds, strict=True) if x is not None}
    return said


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
