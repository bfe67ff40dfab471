"""The protocol between policies, environments and the engine.

A policy is an immutable value: a `NamedTuple` of parameters, decorated with `@policy`. Its state is
one fixed-size record. Its methods `start`, `plan` and `observe` are kernels: plain Python methods
that numba resolves on the type of the NamedTuple, so that one engine, written once, is compiled for
each policy; with the JIT off the very same methods run as they are.

    layout(self, arms, horizon)          the fields of the state (Python, once)
    start(self, s)                       prepare the record; queue the arms of the first round
    plan(self, s)                        queue the arms of round `s.round`
    observe(self, s, arm, reward)        one reward of an earlier decision
    full(self, s, arm)                   optional: no room for one more reward of this arm
    compact_layout(self, arms, horizon)  optional, Python: the fields in a compact record of a fleet
    check(self, arms)                    optional, Python: can it play so many arms?
    resized(self, s, before, arm)        optional, Python: arms came or went, see `resized` below
    duels(self, s)                       optional, Python: why the last round was what it was
    unpacked(self, s, compact)           optional, Python: a compact record was filled into `s`

A change detector is a value of the same sort, decorated with `@detector`; wrappers keep its record:

    layout(self, arms)                   the fields of its record, `old` and `new` among them
    reset(self, d)                       forget everything
    notice(self, d, arm, reward, age)    take in a reward; has the arm changed? If so, `d.old` and
                                         `d.new` are the means before and after

An environment is a NamedTuple of arrays with the kernels

    seek(self, t, cursor)                where time t lies, given where t − 1 lay
    phase(self, cursor)                  the number of the phase, from 0 to `phases` − 1
    mean(self, cursor, arm), best(self, cursor)
    sample(self, cursor, arm, draw, scratch)
"""

import functools
import operator
from collections.abc import Callable, Sequence
from enum import IntEnum
from typing import Any, Protocol, TypeAlias, TypeVar, get_args, get_type_hints

import numpy as np
import numpy.typing as npt
from numba import types
from numba.extending import overload_method

from lastblock.jit import DISABLED, INLINE
from lastblock.random import Stream

Record: TypeAlias = Any  # a numpy record: its fields read as attributes
States: TypeAlias = npt.NDArray[Any]  # of records
Layout: TypeAlias = list[tuple[str, Any] | tuple[str, Any, tuple[int, ...]]]

T = TypeVar("T")
F = TypeVar("F", bound=Callable[..., Any])

POLICIES: dict[str, type[Any]] = {}
"""Every policy, by name. Filled by `@policy`; nothing to edit."""

DETECTORS: dict[str, type[Any]] = {}
"""Every change detector, by name. Filled by `@detector`; nothing to edit."""


class Policy(Protocol):
    """What the engine needs of a policy. Policies do not inherit from it; they look like it."""

    def layout(self, arms: int, horizon: int | None) -> Layout: ...
    def start(self, s: Record) -> None: ...
    def plan(self, s: Record) -> None: ...
    def observe(self, s: Record, arm: int, reward: float) -> None: ...
    def _asdict(self) -> dict[str, Any]: ...


FOUND = ("size", "old", "new")
"""Where a detector leaves what it has noticed: the number of the arm's rewards since the change,
the arm's mean before it and since."""


class Detector(Protocol):
    """What a wrapper needs of a change detector.

    `layout` names the fields of its record, among them those in `FOUND`; `notice` takes in a reward
    and says whether the arm has changed; `reset` forgets everything.
    """

    def layout(self, arms: int) -> Layout: ...
    def reset(self, d: Record) -> None: ...
    def notice(self, d: Record, arm: int, reward: float, age: int) -> bool: ...
    def _asdict(self) -> dict[str, Any]: ...


class EnvironmentTable(Protocol):
    """What the engine needs of an environment."""

    def seek(self, t: int, cursor: int) -> int: ...
    def phase(self, cursor: int) -> int: ...
    def mean(self, cursor: int, arm: int) -> float: ...
    def best(self, cursor: int) -> float: ...
    def sample(self, cursor: int, arm: int, draw: np.uint64, scratch: Stream) -> float: ...


def policy(
    *,
    shift_invariant: bool = False,
    scale_invariant: bool = False,
    grows: bool = False,
    oracle: bool = False,
) -> Callable[[type[T]], type[T]]:
    """Register a NamedTuple as a policy and validate its parameters on construction.

    Parameters
    ----------
    shift_invariant, scale_invariant
        No decision changes when a constant is added to every reward, or when every reward is
        multiplied by a positive one. Declared here, checked by the conformance suite.
    grows
        The policy keeps every reward by its definition, so its state grows with time.
    oracle
        The policy is told about the arms beforehand: a yardstick for simulations.
    """

    def register(cls: type[T]) -> type[T]:
        declared: Any = validated(cls)
        if not declared._fields:
            raise ValueError(
                f"{cls.__name__}: a policy needs at least one parameter; "
                "compiled code cannot be handed an empty one"
            )
        declared.shift_invariant = shift_invariant
        declared.scale_invariant = scale_invariant
        declared.grows = grows
        declared.oracle = oracle
        if not hasattr(cls, "full"):
            declared.full = _never_full
        register_name(POLICIES, cls)
        return cls

    return register


def detector() -> Callable[[type[T]], type[T]]:
    """Register a NamedTuple as a change detector and validate its parameters on construction."""

    def register(cls: type[T]) -> type[T]:
        validated(cls)
        register_name(DETECTORS, cls)
        return cls

    return register


def register_name(registry: dict[str, type[Any]], cls: type[Any]) -> None:
    """Add a class; one of another module with the same name is a mistake, a new version is not."""
    known = registry.get(cls.__name__)
    if known is not None and known.__module__ != cls.__module__:
        raise ValueError(f"{cls.__name__} is the name of {known.__module__}'s; choose another one")
    registry[cls.__name__] = cls


def _never_full(self: Any, s: Record, arm: int) -> bool:
    return False


def check_policy(policy: object) -> None:
    """Raise a ValueError unless it is a policy."""
    name = getattr(policy, "__name__", None)
    if name in POLICIES:
        raise ValueError(f"policy={name} is a class; make a policy of it: {name}(…)")
    if POLICIES.get(type(policy).__name__) is not type(policy):
        raise ValueError(f"policy={policy!r} is not a policy; give one such as LBSDALM()")


def check_detector(detector: object) -> None:
    """Raise a ValueError unless it is a change detector."""
    if DETECTORS.get(type(detector).__name__) is not type(detector):
        raise ValueError(
            f"detector={detector!r} is not a change detector; give one such as MeanShift()"
        )
    made: Any = detector
    fields = {field[0] for field in made.layout(2)}
    missing = [name for name in FOUND if name not in fields]
    if missing:
        raise ValueError(
            f"{type(detector).__name__}: its layout has no {' and no '.join(missing)}; a detector "
            "leaves there how many rewards came since the change, and the means before and since"
        )


def check_arms(policy: Policy, arms: int) -> None:
    """Raise a ValueError if the policy cannot play this many arms."""
    if arms < 2:
        raise ValueError(f"a bandit needs at least 2 arms, not {arms}; add arms")
    check = getattr(policy, "check", None)
    if check is not None:
        check(arms)


def resized(policy: Policy, s: Record, before: Record, arm: int) -> None:
    """Let a policy bring along what it derived from the number of arms.

    A new arm has entered as number `arm` (the last one of `s`), with the fields of a policy that
    has just started, and is in the queue; or arm number `arm` of `before` has left, those after it
    have moved up, and fields that held it hold NOBODY. Not compiled; it may not draw.
    """
    method = getattr(policy, "resized", None)
    if method is not None:
        method(s, before, arm)


def describe(policy: Policy | Detector) -> dict[str, Any]:
    """A policy as plain data: its name and parameters, what it wraps likewise."""
    nested = POLICIES.keys() | DETECTORS.keys()
    parameters = {
        name: describe(value) if type(value).__name__ in nested else value
        for name, value in policy._asdict().items()
    }
    return {"name": type(policy).__name__, "parameters": parameters}


def build(description: dict[str, Any]) -> Policy:
    """The policy of `describe`."""
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
    """Make a NamedTuple convert its fields to their annotated types and call its `validate`."""
    hints = get_type_hints(cls)
    convert = {name: _conversion(kind) for name, kind in hints.items()}
    plain_new: Callable[..., Any] = cls.__new__

    @functools.wraps(plain_new)
    def checked_new(klass: type[Any], *args: Any, **kwargs: Any) -> Any:
        values = plain_new(klass, *args, **kwargs)
        converted = []
        for name, value in zip(values._fields, values, strict=True):
            conversion = convert[name]
            converted.append(
                value if conversion is None else conversion(value, f"{klass.__name__}: {name}")
            )
        self = tuple.__new__(klass, converted)
        validate = getattr(self, "validate", None)
        if validate is not None:
            validate()
        return self

    opened: Any = cls  # a NamedTuple cannot define these in its own body
    opened.__new__ = checked_new
    opened._make = classmethod(lambda klass, values: klass(*values))  # _replace validates too
    return cls


def whole(value: Any, name: str) -> int:
    """A whole number, or a ValueError that names the argument."""
    if isinstance(value, bool | np.bool_):
        raise ValueError(f"{name}={value!r} must be a whole number")
    try:
        return operator.index(value)
    except TypeError:
        raise ValueError(f"{name}={value!r} must be a whole number") from None


def number(value: Any, name: str) -> float:
    """A finite number, or a ValueError that names the argument."""
    if isinstance(value, str | bytes | bool | np.bool_):
        raise ValueError(f"{name}={value!r} must be a number")
    try:
        result = float(value)
    except (TypeError, ValueError, OverflowError):
        raise ValueError(f"{name}={value!r} must be a number") from None
    if not np.isfinite(result):
        raise ValueError(f"{name}={value!r} must be finite")
    return result


def flag(value: Any, name: str) -> bool:
    """True or False, or a ValueError that names the argument."""
    if not isinstance(value, bool | np.bool_):
        raise ValueError(f"{name}={value!r} must be True or False")
    return bool(value)


def choice(kind: type[IntEnum], value: Any, name: str) -> IntEnum:
    """A member of an enumeration, by its lower-case name or number."""
    for member in kind:
        if value == member.name.lower() or (not isinstance(value, str) and value == member):
            return member
    words = ", ".join(repr(member.name.lower()) for member in kind)
    raise ValueError(f"{name}={value!r} must be one of {words}")


def enumeration(kind: Any) -> type[IntEnum] | None:
    """The enumeration in an annotation, alone or beside its words: ``Family | FamilyWord``."""
    for part in (kind, *get_args(kind)):
        if isinstance(part, type) and issubclass(part, IntEnum):
            return part
    return None


def _conversion(kind: Any) -> Callable[[Any, str], Any] | None:
    words = enumeration(kind)
    return _CONVERSIONS.get(kind) if words is None else functools.partial(choice, words)


def numbers(value: Any, name: str) -> tuple[float, ...]:
    """A tuple of finite numbers, or a ValueError that names the argument."""
    return tuple(number(item, name) for item in _items(value, name))


def optional_wholes(value: Any, name: str) -> tuple[int, ...] | None:
    """A tuple of whole numbers, or None."""
    return None if value is None else tuple(whole(item, name) for item in _items(value, name))


def _items(value: Any, name: str) -> list[Any]:
    if isinstance(value, str | bytes | dict | set):
        raise ValueError(f"{name}={value!r} must be a list of numbers")
    try:
        return list(value)
    except TypeError:
        raise ValueError(f"{name}={value!r} must be a list of numbers") from None


_CONVERSIONS: dict[Any, Callable[[Any, str], Any]] = {
    int: whole,
    float: number,
    bool: flag,
    Sequence[float]: numbers,
    Sequence[int] | None: optional_wholes,
}


# Numba finds the kernels of a NamedTuple here. Each overload must spell out its arguments, and the
# methods must use the same names.


def kernel_method(name: str) -> Callable[[F], F]:
    """Let kernels call a method of a NamedTuple; the decorated function finds its body."""

    def register(find: F) -> F:
        if not DISABLED:
            overload: Any = overload_method  # not strict: the annotations of the bodies differ
            overload(types.BaseNamedTuple, name, jit_options=INLINE, strict=False)(find)
        return find

    return register


@kernel_method("start")
def _start(self: Any, s: Any) -> Any:
    return getattr(self.instance_class, "start", None)


@kernel_method("plan")
def _plan(self: Any, s: Any) -> Any:
    return getattr(self.instance_class, "plan", None)


@kernel_method("observe")
def _observe(self: Any, s: Any, arm: Any, reward: Any) -> Any:
    return getattr(self.instance_class, "observe", None)


@kernel_method("full")
def _full(self: Any, s: Any, arm: Any) -> Any:
    return getattr(self.instance_class, "full", None)


@kernel_method("reset")
def _reset(self: Any, d: Any) -> Any:
    return getattr(self.instance_class, "reset", None)


@kernel_method("notice")
def _notice(self: Any, d: Any, arm: Any, reward: Any, age: Any) -> Any:
    return getattr(self.instance_class, "notice", None)


@kernel_method("seek")
def _seek(self: Any, t: Any, cursor: Any) -> Any:
    return getattr(self.instance_class, "seek", None)


@kernel_method("phase")
def _phase(self: Any, cursor: Any) -> Any:
    return getattr(self.instance_class, "phase", None)


@kernel_method("mean")
def _mean(self: Any, cursor: Any, arm: Any) -> Any:
    return getattr(self.instance_class, "mean", None)


@kernel_method("best")
def _best(self: Any, cursor: Any) -> Any:
    return getattr(self.instance_class, "best", None)


@kernel_method("sample")
def _sample(self: Any, cursor: Any, arm: Any, draw: Any, scratch: Any) -> Any:
    return getattr(self.instance_class, "sample", None)
