"""Policies and change detectors by name: decorators that register them, parameters as data."""

import functools
from collections.abc import Callable, Mapping, Sequence
from enum import IntEnum
from typing import Any, TypeVar, get_args, get_type_hints

from lastblock.core.checked import is_own
from lastblock.core.declarations import (
    DETECTOR_EXTRAS,
    DETECTOR_METHODS,
    POLICY_EXTRAS,
    POLICY_METHODS,
    check_layout,
    check_methods,
    check_named_tuple,
    check_names,
)
from lastblock.core.declarations import without_parentheses as missing_parentheses
from lastblock.core.layout import ENGINE_FIELDS
from lastblock.core.parameters import ForArms, Rule
from lastblock.core.protocol import CHANGE_FIELDS, Detector, Policy, Record
from lastblock.core.rounds import enqueue_all, shuffle
from lastblock.core.support import SupportWord, declare_support
from lastblock.support.checks import choice, flag, number, numbers, optional_wholes, whole
from lastblock.support.spelling import advice, nearest

T = TypeVar("T")

POLICIES: dict[str, type[Any]] = {}
"""Every policy, by name. Filled by `@policy`; nothing to edit."""

DETECTORS: dict[str, type[Any]] = {}
"""Every change detector, by name. Filled by `@detector`; nothing to edit."""


def policy(
    without_parentheses: None = None,
    /,
    *,
    support: SupportWord | None = None,
    shift_invariant: bool = False,
    scale_invariant: bool = False,
    grows: bool = False,
    optimistic: bool = False,
    oracle: bool = False,
    checked: bool = True,
    remedy: str | None = None,
    examples: Sequence[Mapping[str, Any]] = (),
) -> Callable[[type[T]], type[T]]:
    """Register a NamedTuple as a policy and validate its parameters on construction.

    Parameters
    ----------
    support
        The rewards that the policy takes: "any" number, "non-negative" ones, those of the "unit"
        interval [0, 1], or those of its parameter "family". Others are refused. Left out, it is
        what the method `support` says, if there is one, and else any number.
    shift_invariant, scale_invariant
        No decision changes when a constant is added to every reward, or when every reward is
        multiplied by a positive one. Declared here, checked by the conformance suite.
    grows
        The policy keeps every reward by its definition, so its state grows with time. A policy that
        does so for some parameters only has a property `grows` instead.
    optimistic
        The field `index` of the policy's record holds an upper bound of each arm's mean, which is
        right for the arm that is chosen, and every round but the first pulls one arm. `Master`
        wraps such policies.
    oracle
        The policy is told about the arms beforehand: a yardstick for simulations.
    checked
        Check every index and the queue of every round of a policy from outside the package. A
        mistake is then a `PolicyError` that says where; with False it may end the process, or
        give a wrong result. Switch the checks off for speed, and only when
        `lastblock.testing.check_policy` has passed.
    remedy
        What to do about a reward that the policy refuses, for the message.
    examples
        Parameters to test, besides the defaults: the class method `examples` returns such policies.
    """
    if without_parentheses is not None:
        raise missing_parentheses("policy", without_parentheses)

    def register(cls: type[T]) -> type[T]:
        check_named_tuple(cls, "policy")
        declared: Any = validated(cls)
        check_methods(cls, POLICY_METHODS, POLICY_EXTRAS)
        if not declared._fields:
            raise ValueError(
                f"{cls.__name__}: a policy needs at least one parameter; "
                "compiled code cannot take an empty tuple"
            )
        declared.shift_invariant = shift_invariant
        declared.scale_invariant = scale_invariant
        if not isinstance(vars(cls).get("grows"), property):
            declared.grows = grows
        declared.optimistic = optimistic
        declared.oracle = oracle
        declared._is_checked = flag(checked, "checked")
        declared.__str__ = as_written
        declared.remedy = remedy
        declared.examples = classmethod(functools.partial(_made, examples))
        declare_support(cls, support)
        if not hasattr(cls, "start"):
            declared.start = _start_with_all
        if not hasattr(cls, "full"):
            declared.full = _never_full
        register_name(POLICIES, cls)
        return cls

    return register


def detector(
    without_parentheses: None = None,
    /,
    *,
    support: SupportWord | None = None,
    checked: bool = True,
) -> Callable[[type[T]], type[T]]:
    """Register a NamedTuple as a change detector and validate its parameters on construction.

    Parameters
    ----------
    support
        The rewards that the detector takes, as for `policy`.
    checked
        Check every index of a detector from outside the package, as for `policy`.
    """
    if without_parentheses is not None:
        raise missing_parentheses("detector", without_parentheses)

    def register(cls: type[T]) -> type[T]:
        check_named_tuple(cls, "detector")
        declared: Any = validated(cls)
        check_methods(cls, DETECTOR_METHODS, DETECTOR_EXTRAS)
        declared._is_checked = flag(checked, "checked")
        declared.__str__ = as_written
        declare_support(cls, support)
        register_name(DETECTORS, cls)
        return cls

    return register


def register_name(registry: dict[str, type[Any]], cls: type[Any]) -> None:
    """Add a class to a registry, or replace one of the same module by a new version.

    Raises
    ------
    ValueError
        If a class of another module has the same name.
    """
    known = registry.get(cls.__name__)
    if known is not None and known.__module__ != cls.__module__:
        raise ValueError(
            f"{cls.__name__} is the name of a class in {known.__module__}; choose another name"
        )
    registry[cls.__name__] = cls


def _start_with_all(self: Any, s: Record) -> None:
    enqueue_all(s)
    shuffle(s)


def _never_full(self: Any, s: Record, arm: int) -> bool:
    return False


def _made(examples: Sequence[Mapping[str, Any]], cls: type[Any]) -> tuple[Any, ...]:
    """Return the policies of a class to test: with the defaults, if each parameter has one."""
    plain: list[Mapping[str, Any]] = [{}] if len(cls._field_defaults) == len(cls._fields) else []
    return tuple(cls(**parameters) for parameters in (*plain, *examples))


def require_policy(policy: object) -> None:
    """Raise a ValueError unless `policy` is an instance of a registered policy."""
    name = getattr(policy, "__name__", None)
    if name in POLICIES:
        raise ValueError(f"policy={name} is a class; give an instance: {name}(…)")
    if POLICIES.get(type(policy).__name__) is not type(policy):
        near = nearest(policy, POLICIES) if isinstance(policy, str) else None
        hint = f"did you mean {near}()?" if near else "give one such as LBSDAGM()"
        raise ValueError(f"policy={policy!r} is not a policy; {hint}")
    made: Any = policy
    if not is_own(type(made)):
        fields = check_layout(made, made.layout(2, 2), ENGINE_FIELDS)
        check_names(made, [*ENGINE_FIELDS, *fields])


def require_detector(detector: object) -> None:
    """Raise a ValueError unless `detector` is an instance of a registered change detector."""
    if DETECTORS.get(type(detector).__name__) is not type(detector):
        raise ValueError(
            f"detector={detector} is not a change detector; give one such as MeanShift()"
        )
    made: Any = detector
    layout = made.layout(2)
    if is_own(type(made)):
        fields = [field[0] for field in layout]
    else:
        fields = check_layout(made, layout, ())
    missing = [name for name in CHANGE_FIELDS if name not in fields]
    if missing:
        raise ValueError(
            f"{type(detector).__name__}: its layout has no {' and no '.join(missing)}; add the "
            "fields size (the number of rewards since the change), old and new (the means before "
            "and since)"
        )
    check_names(made, fields)


def as_written(part: Any) -> str:
    """Return a policy or detector as a user writes it: without the parameters left at defaults.

    Messages show it like this; `repr` has all parameters.
    """
    defaults = part._field_defaults
    given = [
        str(value) if hasattr(value, "layout") else f"{name}={value!r}"
        for name, value in part._asdict().items()
        if name not in defaults or value != defaults[name]
    ]
    return f"{type(part).__name__}({', '.join(given)})"


def describe(policy: Policy | Detector) -> dict[str, Any]:
    """Return a policy as plain data: its name and its parameters, also of what it wraps."""
    nested = POLICIES.keys() | DETECTORS.keys()
    parameters = {
        name: describe(value) if type(value).__name__ in nested else value
        for name, value in policy._asdict().items()
    }
    return {"name": type(policy).__name__, "parameters": parameters}


def build(description: dict[str, Any]) -> Policy:
    """Return the policy that `describe` has described.

    Raises
    ------
    ValueError
        If no policy of that name is registered, or its parameters are not valid.
    """
    name = description["name"]
    known = POLICIES | DETECTORS
    if name not in known:
        raise ValueError(f"policy {name!r} is not known; import the module that defines it first")
    parameters = {
        key: build(value) if isinstance(value, dict) else value
        for key, value in description["parameters"].items()
    }
    built: Policy = known[name](**parameters)
    return built


def validated(cls: type[T]) -> type[T]:
    """Make a NamedTuple convert its fields to their annotated types, and call the rules there.

    Afterwards it calls its own method `validate`, if it has one.
    """
    convert: dict[str, Callable[[Any, str], Any] | None] = {}
    rules: list[tuple[str, Any]] = []
    for name, hint in get_type_hints(cls, include_extras=True).items():
        said = getattr(hint, "__metadata__", None)  # that of `Annotated`
        convert[name] = _conversion(hint if said is None else hint.__origin__)
        rules += [(name, rule) for rule in said or _RULES.get(hint, ())]
    opened: Any = cls  # a NamedTuple cannot define these in its own body
    opened.rules_for_arms = [each for each in rules if isinstance(each[1], ForArms)]
    plain_new: Callable[..., Any] = cls.__new__

    @functools.wraps(plain_new)
    def checked_new(klass: type[Any], *args: Any, **kwargs: Any) -> Any:
        try:
            values = plain_new(klass, *args, **kwargs)
        except TypeError:
            check_parameters(klass, args, kwargs)
            raise
        converted = []
        for name, value in zip(values._fields, values, strict=True):
            conversion = convert[name]
            converted.append(
                value if conversion is None else conversion(value, f"{klass.__name__}: {name}")
            )
        self = tuple.__new__(klass, converted)
        for name, rule in rules:
            if not isinstance(rule, ForArms):
                rule(self, name)
        validate = getattr(self, "validate", None)
        if validate is not None:
            validate()
        return self

    opened.__new__ = checked_new
    opened._make = classmethod(lambda klass, values: klass(*values))  # _replace validates too
    return cls


def check_parameters(cls: type[Any], args: Sequence[Any], given: Mapping[str, Any]) -> None:
    """Raise a TypeError for a parameter that a class does not have, or that is missing."""
    name, fields = cls.__name__, cls._fields
    for parameter in given:
        if parameter not in fields:
            raise TypeError(f"{name} has no parameter {parameter!r}; {advice(parameter, fields)}")
    if len(args) > len(fields):
        raise TypeError(f"{name} takes {len(fields)} parameters, not {len(args)}: {_call(cls)}")
    missing = [
        field
        for field in fields[len(args) :]
        if field not in given and field not in cls._field_defaults
    ]
    if missing:
        raise TypeError(f"{name} needs {' and '.join(missing)}: {_call(cls)}")


def _call(cls: type[Any]) -> str:
    """Return how to make an instance, such as ``SWLBSDA(window, reference=False)``."""
    defaults = cls._field_defaults
    parts = [f"{name}={defaults[name]!r}" if name in defaults else name for name in cls._fields]
    return f"{cls.__name__}({', '.join(parts)})"


def enumeration(kind: Any) -> type[IntEnum] | None:
    """Return the enumeration in an annotation such as ``Family | FamilyWord``, or None."""
    for part in (kind, *get_args(kind)):
        if isinstance(part, type) and issubclass(part, IntEnum):
            return part
    return None


def _conversion(kind: Any) -> Callable[[Any, str], Any] | None:
    words = enumeration(kind)
    return _CONVERSIONS.get(kind) if words is None else functools.partial(choice, words)


_RULES: dict[Any, tuple[Rule, ...]] = {
    Policy: (lambda owner, name: require_policy(getattr(owner, name)),),
    Detector: (lambda owner, name: require_detector(getattr(owner, name)),),
}
"""The rules of parameters that are annotated with these types."""

_CONVERSIONS: dict[Any, Callable[[Any, str], Any]] = {
    int: whole,
    float: number,
    bool: flag,
    Sequence[float]: numbers,
    Sequence[int] | None: optional_wholes,
}
