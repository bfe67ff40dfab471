"""Reads the policies of a scenario file: ``[[policies]]``."""

import inspect
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple, get_type_hints

from lastblock.core.layout import state_dtype
from lastblock.core.protocol import Detector, Policy, check_arms
from lastblock.core.registry import DETECTORS, POLICIES, enumeration
from lastblock.core.support import check_fit
from lastblock.lab.scenario_files.document import TomlTable
from lastblock.lab.sweeps import Sweep, check_values, named
from lastblock.simulation.run import Environment
from lastblock.support.errors import ScenarioError, short
from lastblock.support.spelling import advice, nearest
from lastblock.theory.tunings import TUNINGS

_INNER = "of"
"""The file's key for a wrapper's parameter `policy`; `policy` itself names the wrapper."""


class Sort(NamedTuple):
    """Policies or change detectors: the file's key for one, and the registry of all."""

    key: str
    registry: dict[str, type[Any]]


POLICY, DETECTOR = Sort("policy", POLICIES), Sort("detector", DETECTORS)


@dataclass(frozen=True)
class World:
    """The facts about a scenario that policies and tunings may need."""

    environment: Environment
    horizon: int
    changes: int | None
    """None if the arms drift and the file gives no number."""

    def facts(self) -> dict[str, Any]:
        """Return the facts by the names of the parameters that ask for them."""
        facts: dict[str, Any] = {"horizon": self.horizon, "arms": self.environment.n_arms}
        if self.changes is not None:
            facts["changes"] = self.changes
        return facts


def read_policies(top: TomlTable, world: World) -> tuple[dict[str, Policy], tuple[Sweep, ...]]:
    """Return the policies by their labels, and the sweeps among them."""
    policies: dict[str, Policy] = {}
    sweeps: list[Sweep] = []
    for table in _policy_tables(top):
        with top.document.noting():
            key = _swept_key(table)
            if key is None:
                _add_policy(policies, table, world)
            else:
                sweeps.append(_add_sweep(policies, table, key, world))
    return policies, tuple(sweeps)


def _swept_key(table: TomlTable) -> str | None:
    """Return the parameter that a table sweeps, if there is one."""
    keys = [k for k, value in table.values.items() if isinstance(value, dict) and "sweep" in value]
    if len(keys) > 1:
        raise table.error(
            f"a policy sweeps one parameter at a time, not {' and '.join(keys)}; "
            "write [[policies]] twice",
            keys[1],
        )
    return keys[0] if keys else None


def _add_sweep(policies: dict[str, Policy], table: TomlTable, key: str, world: World) -> Sweep:
    """Add a policy with each value of the parameter that it sweeps."""
    inner = table.as_table(table.values[key], key)
    inner.only(["sweep"], "a sweep")
    try:
        values = check_values(key, inner.values["sweep"])
    except ValueError as error:
        raise table.error(error, key) from None
    label = _label(table)
    labels = []
    for value in values:
        own = {**table.values, key: value, "label": named(label, key, value)}
        _add_policy(policies, TomlTable(table.document, table.path, own), world)
        labels.append(own["label"])
    return Sweep(label, key, values, tuple(labels))


def _policy_tables(top: TomlTable) -> list[TomlTable]:
    tables = top.tables("policies")
    if not tables:
        raise top.error("a scenario needs policies; write [[policies]] with policy = …")
    return tables


def _add_policy(policies: dict[str, Policy], table: TomlTable, world: World) -> None:
    """Add the policy of a table."""
    label = _label(table)
    policy = read_policy(table, world)
    try:
        state_dtype(policy, world.environment.n_arms, world.horizon)
        check_fit(policy, world.environment)
    except ValueError as error:  # too many arms or rewards for this policy, or other ones
        raise table.error(str(error), "policy") from None
    label = label or type(policy).__name__
    if label in policies:
        raise table.error(
            f"two policies are labelled {label!r}; give one of them another label",
            "label" if "label" in table else "policy",
        )
    policies[label] = policy


def _label(table: TomlTable) -> str:
    """Return the label of a table, or the name of its policy's class."""
    name = table.values.get("policy")
    return table.text("label", name.partition(".")[0] if isinstance(name, str) else "")


def check_without_world(top: TomlTable) -> None:
    """Note the mistakes of policies that show while others hide the arms or the horizon."""
    with top.document.noting():
        for table in _policy_tables(top):
            with top.document.noting():
                maker, given = _known_keys(table, POLICY)
                key = _swept_key(table)
                _check_values(table, maker, [name for name in given if name != key])


def _check_values(table: TomlTable, maker: "Maker", given: list[str]) -> None:
    """Raise an error about a value that is wrong in any world."""
    needs_world = "." in maker.name or "environment" in maker.parameters
    for key in given:
        value, hint = table.values[key], maker.hints.get(key)
        if isinstance(value, dict) or key == _INNER or hint in (Policy, Detector):
            needs_world = True
        elif _is_tuning(hint, value):
            _check_tuning(table, key, value)
            needs_world = True
        elif isinstance(value, str) and value not in _words(hint):
            raise table.error(f"unknown {key} {value!r}; {advice(value, _words(hint))}", key)
    missing = [name for name in maker.parameters if maker.required(name) and name not in given]
    if not needs_world and not missing:
        try:
            maker.make(**{key: table.values[key] for key in given})
        except ValueError as error:
            raise table.blame(error) from None


def _check_tuning(table: TomlTable, key: str, name: str) -> None:
    """Raise an error if there is no published tuning of this name."""
    if name not in TUNINGS:
        near = nearest(name, TUNINGS)
        hint = f"did you mean {near!r}?" if near else f"the tunings are {', '.join(TUNINGS)}"
        raise table.error(
            f"{key}={name!r} must be a number, or the name of a published tuning; {hint}", key
        )


def read_policy(table: TomlTable, world: World) -> Policy:
    """Return the policy of a table, with its parameters, tunings and inner policies."""
    policy: Policy = _read(table, world, POLICY)
    return policy


def _read(table: TomlTable, world: World, sort: Sort) -> Any:
    """Return the policy or the detector of a table."""
    maker, given = _known_keys(table, sort)
    name = maker.name
    values = _values(table, maker, given, world)
    try:
        made = maker.make(**values)
        if sort is POLICY:
            check_arms(made, world.environment.n_arms)
    except ValueError as error:
        raise table.blame(error) from None
    except Exception as error:  # a user's own class may raise anything
        raise table.error(f"{name}: {type(error).__name__}: {error}", sort.key) from None
    return made


def _known_keys(table: TomlTable, sort: Sort) -> "tuple[Maker, list[str]]":
    """Return the maker of a table, and the keys of its parameters; refuse those it has not."""
    name = table.need(sort.key, f'the name of the {sort.key} is missing; write {sort.key} = "…"')
    if not isinstance(name, str):
        raise table.error(f"{sort.key}={short(name)} must be a name in quotes", sort.key)
    maker = _maker(table, name, sort)
    given = [key for key in table if key not in (sort.key, "label")]
    plain = name.partition(".")[0]

    def unknown(key: str) -> ScenarioError:
        hint = advice(key, maker.keys)
        if name != plain and key in sort.registry[plain]._fields:
            hint = f'to set it, write {sort.key} = "{plain}"'
        return table.error(f"{name} has no parameter {key!r}; {hint}", key)

    table.refuse(unknown(key) for key in given if key not in maker.keys)
    return maker, given


class Maker:
    """The class of a policy or detector, or one of its constructors, and its parameters."""

    def __init__(
        self, name: str, make: Callable[..., Any], hints: Mapping[str, Any], sort: Sort
    ) -> None:
        self.name, self.sort = name, sort
        self.make = make
        signature = inspect.signature(make)
        self.parameters = dict(signature.parameters)
        self.hints = hints

    @property
    def keys(self) -> list[str]:
        """The keys that the file may have for this maker."""
        names = [_INNER if name == "policy" else name for name in self.parameters]
        return [name for name in names if name != "environment"]

    def required(self, name: str) -> bool:
        """Return whether the parameter `name` has no default."""
        return self.parameters[name].default is inspect.Parameter.empty


def constructors(cls: type[Any]) -> list[str]:
    """Return the names of a class's constructors besides itself, such as ``tuned``."""
    return [
        name
        for name, member in vars(cls).items()
        if isinstance(member, classmethod) and not name.startswith("_") and name != "examples"
    ]


def _maker(table: TomlTable, name: str, sort: Sort) -> Maker:
    """Return the maker with this name, such as "SWLBSDA" or "SWLBSDA.tuned"."""
    plain, dot, constructor = name.partition(".")
    if plain not in sort.registry:
        hint = advice(plain, sorted(sort.registry, key=str.casefold))
        raise table.error(f"unknown {sort.key} {plain!r}; {hint}", sort.key)
    cls = sort.registry[plain]
    if not dot:
        return Maker(name, cls, get_type_hints(cls), sort)
    known = constructors(cls)
    if constructor not in known:
        options = [f"{plain}.{other}" for other in known] or [plain]
        raise table.error(
            f"{plain} has no constructor {constructor!r}; {advice(name, options)}", sort.key
        )
    make = getattr(cls, constructor)
    return Maker(name, make, get_type_hints(make.__func__), sort)


def _values(table: TomlTable, maker: Maker, given: list[str], world: World) -> dict[str, Any]:
    """Return the arguments of a maker: those in the file, and facts about the scenario."""
    values: dict[str, Any] = {}
    tuned: list[str] = []
    for key in given:
        parameter = "policy" if key == _INNER and "policy" in maker.parameters else key
        value = table.values[key]
        if parameter == "policy" or maker.hints.get(key) is Policy:
            values[parameter] = _inner(table, key, world, POLICY)
        elif maker.hints.get(key) is Detector:
            values[key] = _inner(table, key, world, DETECTOR)
        elif _is_tuning(maker.hints.get(key), value):
            tuned.append(key)
        elif isinstance(value, str) and value not in (words := _words(maker.hints.get(key))):
            raise table.error(f"unknown {key} {value!r}; {advice(value, words)}", key)
        else:
            values[key] = value
    facts = world.facts()
    for key in tuned:
        values[key] = _tuning(table, key, maker, values, facts)
    # Some constructors take the whole environment; the file may give their other arguments instead.
    if "environment" in maker.parameters and set(values) <= {"policy"}:
        values["environment"] = world.environment
        if "horizon" in maker.parameters:
            values["horizon"] = world.horizon
    for name in maker.parameters:
        if name in values or not maker.required(name):
            continue
        if name not in facts:
            raise _missing(table, maker, name)
        values[name] = facts[name]
    return values


def _missing(table: TomlTable, maker: Maker, name: str) -> Exception:
    """Return the error about a parameter that neither the file nor the scenario gives."""
    if name == "changes":
        return table.error(
            f"{maker.name} needs the number of changes, which is unknown for arms that drift; "
            "write changes = …"
        )
    key = _INNER if name == "policy" else name
    message = f"{maker.name} needs {key}; write {key} = …"
    if "." not in maker.name and "tuned" in constructors(maker.sort.registry[maker.name]):
        message += f', or {maker.sort.key} = "{maker.name}.tuned"'
    return table.error(message, maker.sort.key)


def _inner(table: TomlTable, key: str, world: World, sort: Sort) -> Any:
    """Return the policy or detector inside a wrapper: a name, or a table as in ``[[policies]]``."""
    value = table.values[key]
    if isinstance(value, str):
        return _read(TomlTable(table.document, (*table.path, key), {sort.key: value}), world, sort)
    inner = table.as_table(value, key)
    if "label" in inner:
        raise inner.error("only the outer policy has a label; leave it out here", "label")
    return _read(inner, world, sort)


def _is_tuning(hint: Any, value: Any) -> bool:
    """Return whether `value` is a tuning instead of a number: its name, or a table with it."""
    if isinstance(value, dict):
        return True
    return isinstance(value, str) and hint is not str and not _words(hint)


def _words(hint: Any) -> list[str]:
    """Return the words that a parameter allows, if it is an enumeration; else none."""
    kind = enumeration(hint)
    return [] if kind is None else [member.name.lower() for member in kind]


def _tuning(
    table: TomlTable, key: str, maker: Maker, values: Mapping[str, Any], facts: Mapping[str, Any]
) -> float:
    """Return the value of a published tuning.

    Its arguments come from its own table, the policy's other parameters, and the scenario.
    """
    value = table.values[key]
    own = TomlTable(table.document, (*table.path, key), value if isinstance(value, dict) else {})
    name = value
    if isinstance(value, dict):
        name = own.need(
            "tuning", f'the name of the tuning is missing; write {key} = {{tuning = "…"}}'
        )
    if not isinstance(name, str):
        raise own.error(f"tuning={short(name)} must be a name in quotes", "tuning")
    if name is value:
        _check_tuning(table, key, name)
    if name not in TUNINGS:
        raise own.error(f"unknown tuning {name!r}; {advice(name, TUNINGS)}", "tuning")
    function = TUNINGS[name]
    asked = inspect.signature(function).parameters
    own.only(["tuning", *asked], f"the tuning {name!r}")
    defaults = {
        other: parameter.default
        for other, parameter in maker.parameters.items()
        if not maker.required(other) and other not in table
    }
    said = {other: own.values[other] for other in own if other != "tuning"}
    known = {**defaults, **facts, **values, **said}
    missing = [
        other
        for other, parameter in asked.items()
        if other not in known and parameter.default is inspect.Parameter.empty
    ]
    if missing:
        raise own.error(
            f"the tuning {name!r} needs {' and '.join(missing)}; "
            f'write {key} = {{tuning = "{name}", {missing[0]} = …}}'
        )
    try:
        return function(**{other: known[other] for other in asked if other in known})
    except ValueError as error:
        raise own.error(error) from None
