"""Reads the arms of a scenario file: ``[arms]`` or ``[[arms]]``, and ``[[phases]]``."""

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, NamedTuple, TypeAlias, get_type_hints

from lastblock.core.families import FAMILIES, Arm
from lastblock.environments.drifting import Drifting, Sinusoid
from lastblock.environments.drifting import Table as Knots
from lastblock.environments.piecewise import Piecewise, Stationary
from lastblock.lab.scenario_files.document import TomlTable
from lastblock.simulation.run import Environment
from lastblock.support.checks import whole
from lastblock.support.errors import short
from lastblock.support.spelling import advice


class Setting(NamedTuple):
    """The value of an arm's parameter, and its place in the file."""

    value: Any
    table: TomlTable
    keys: tuple[str | int, ...]

    def error(self, message: object) -> Exception:
        """Return an error about this value."""
        return self.table.error(message, *self.keys)


class Description(NamedTuple):
    """One arm in one phase, as the file describes it: its family and parameters."""

    family: type[Any]
    settings: dict[str, Setting]
    where: TomlTable

    @property
    def drifts(self) -> bool:
        """Whether the file gives a path instead of a number for the mean."""
        return "mean" in self.settings and isinstance(self.settings["mean"].value, dict)


Base: TypeAlias = TomlTable | list[TomlTable]
"""``[arms]``, one table for all arms, or ``[[arms]]``, one table for each arm."""


def read_environment(top: TomlTable, horizon: int) -> Environment:
    """Return the environment that the file describes.

    Raises a `ScenarioError`, which names the key, if the description is wrong or incomplete.
    """
    base = _read_base(top)
    phases = top.tables("phases") or [TomlTable(top.document, ("arms",), {})]
    size = _count_arms(top, base, phases)
    document = top.document
    before = len(document.mistakes)
    with document.noting():  # the arm itself may have mistakes, too
        if size == 1:
            raise top.error("a bandit needs at least 2 arms, not 1; add arms", "arms")
    described: list[list[Description]] = []
    starts: list[int] = []
    for phase in phases:
        with document.noting():
            described.append(_describe(base, phase, size))
    if len(document.mistakes) == before:
        with document.noting():
            starts = _read_starts(phases, horizon)
    for arm in (arm for arms in described for arm in arms):
        with document.noting():
            _drifting(arm) if arm.drifts else _build(arm)
    if len(document.mistakes) > before:
        raise document.mistakes.pop()
    drifting = [arm for arms in described for arm in arms if arm.drifts]
    if drifting and len(phases) > 1:
        mean = drifting[0].settings["mean"]
        raise mean.error(
            "arms that drift cannot have phases; give numbers as means, or remove [[phases]]"
        )
    make: Callable[[], Environment]
    if drifting:
        arms, paths = zip(*map(_drifting, described[0]), strict=True)
        make = partial(Drifting, arms, paths)
    else:
        phased = dict(
            zip(starts, ([_build(arm) for arm in arms] for arms in described), strict=True)
        )
        make = partial(Piecewise, phased) if len(phased) > 1 else partial(Stationary, phased[0])
    try:
        return make()
    except ValueError as error:  # a mean is too large
        raise top.error(error, "arms") from None


def _read_base(top: TomlTable) -> Base:
    how = 'write [arms] with a family and its parameters, such as family = "Bernoulli"'
    arms = top.need("arms", f"a scenario needs arms; {how}")
    if not isinstance(arms, list | dict) or not arms:
        raise top.error(f"arms={short(arms)}: {how}", "arms")
    base = top.table("arms") if isinstance(arms, dict) else top.tables("arms")
    for table in [base] if isinstance(base, TomlTable) else base:
        table.need("family", f"the arms need a family; write family = …, one of {_known()}")
    return base


def _known() -> str:
    return ", ".join(FAMILIES)


def _read_starts(phases: Sequence[TomlTable], horizon: int) -> list[int]:
    starts: list[int] = []
    for phase in phases:
        try:
            start = whole(phase.values["start"], "start") if "start" in phase else None
        except ValueError as error:
            raise phase.error(error, "start") from None
        if not starts:
            start = 0 if start is None else start
            if start != 0:
                raise phase.error(f"the first phase starts at {start}; it must start at 0", "start")
        elif start is None:
            raise phase.error("a phase needs the time step at which it starts; write start = …")
        elif start <= starts[-1]:
            raise phase.error(
                f"this phase starts at {start}; it must start after the phase before, which "
                f"starts at {starts[-1]}",
                "start",
            )
        elif start >= horizon:
            raise phase.error(
                f"this phase starts at {start}, beyond the horizon {horizon}; "
                "give a longer horizon or remove the phase",
                "start",
            )
        starts.append(start)
    return starts


def _count_arms(top: TomlTable, base: Base, phases: Sequence[TomlTable]) -> int:
    """Return the number of tables in ``[[arms]]``, or the length of the first list of values."""
    if isinstance(base, list):
        size = len(base)
    else:
        lists = [
            value
            for table in (base, *phases)
            for key, value in table.values.items()
            if _is_one_for_each(_family(table if "family" in table else base), key, value)
        ]
        size = len(lists[0]) if lists else 0
    if size == 0:
        raise top.error(
            "the number of arms is unknown; give a parameter as a list with one value for each "
            "arm, such as mean = […]",
            "arms",
        )
    return size


def _is_one_for_each(family: type[Any], key: str, value: Any) -> bool:
    """Return whether `value` lists one value for each arm, and is not itself one value."""
    if not isinstance(value, list):
        return False
    a_number = get_type_hints(family).get(key, float) in (int, float, bool)
    return a_number or any(isinstance(item, list) for item in value)


def _family(table: TomlTable) -> type[Any]:
    name = table.values["family"]
    if not isinstance(name, str):
        raise table.error(
            f"family={short(name)} must be a name; for arms of several families write [[arms]]",
            "family",
        )
    if name not in FAMILIES:
        raise table.error(f"unknown family {name!r}; {advice(name, FAMILIES)}", "family")
    return FAMILIES[name]


def _describe(base: Base, phase: TomlTable, size: int) -> list[Description]:
    """Return each arm of a phase: the values of the phase, and those of ``[arms]`` otherwise.

    Arms with a mistake, which is noted, are left out.
    """
    overrides = phase.tables("arms")
    if overrides and len(overrides) != size:
        raise phase.error(
            f"arms has {len(overrides)} tables for {size} arms; give one for each arm", "arms"
        )
    arms = []
    for k in range(size):
        with phase.document.noting():
            arms.append(_describe_arm(base, phase, overrides[k : k + 1], k, size))
    return arms


def _describe_arm(
    base: Base, phase: TomlTable, overrides: Sequence[TomlTable], k: int, size: int
) -> Description:
    """Return arm `k` of a phase; `overrides` has the phase's table for it, if there is one."""
    first = base[k] if isinstance(base, list) else base
    family, settings = _family(first), _settings(_family(first), first, k, size)
    own = TomlTable(phase.document, phase.path, _parameters(phase))
    for table in (own, *overrides):
        if "family" in table:  # a new family has other parameters, so drop the former values
            family, settings = _family(table), {}
        settings |= _settings(family, table, k, size)
    where = phase if phase.path[0] == "phases" else first
    return Description(family, settings, where)


def _parameters(phase: TomlTable) -> dict[str, Any]:
    return {key: value for key, value in phase.values.items() if key not in ("start", "arms")}


def _settings(family: type[Any], table: TomlTable, k: int, size: int) -> dict[str, Setting]:
    """Return the parameters that a table gives to arm `k` of `size`."""
    fields: tuple[str, ...] = family._fields
    one_arm = table.path[-2:-1] == ("arms",)
    settings = {}
    for key, value in table.values.items():
        if key == "family":
            continue
        if key not in fields:
            options = (*fields, "family", "start") if table.path[0] == "phases" else fields
            hint = advice(key, options)
            raise table.error(f"{family.__name__} has no parameter {key!r}; {hint}", key)
        if one_arm or not _is_one_for_each(family, key, value):
            settings[key] = Setting(value, table, (key,))
        elif len(value) == size:
            settings[key] = Setting(value[k], table, (key, k))
        else:
            raise table.error(
                f"{key} has {len(value)} values for {size} arms; give one for each arm", key
            )
    return settings


def _build(arm: Description, when: str = "", **instead: float) -> Arm:
    """Return the arm, with the parameters of `instead` in place of the file's.

    An error of the family begins with `when`.
    """
    values = {key: setting.value for key, setting in arm.settings.items()} | instead
    missing = [name for name in arm.family._fields if name not in values]
    missing = [name for name in missing if name not in arm.family._field_defaults]
    if missing:
        raise arm.where.error(
            f"{arm.family.__name__} needs {' and '.join(missing)}; write {missing[0]} = …"
        )
    try:
        built: Arm = arm.family(**values)
    except ValueError as error:
        for key, setting in arm.settings.items():
            if f"{key}=" in str(error):
                raise setting.error(f"{when}{error}") from None
        raise arm.where.error(f"{when}{error}") from None
    except Exception as error:  # a user's own family may raise anything
        name = arm.family.__name__
        raise arm.where.error(f"{name}: {type(error).__name__}: {error}") from None
    return built


def _drifting(arm: Description) -> tuple[Arm, Sinusoid | Knots]:
    """Return an arm and the path of its mean; a number becomes a constant path."""
    if not arm.drifts:
        built = _build(arm)
        return built, Knots([built.mean])
    setting = arm.settings["mean"]
    if not arm.family.movable:
        raise setting.error(f"the mean of {arm.family.__name__} arms cannot drift; give a number")
    path = _path(setting)
    arms = [
        _build(arm, f"the mean is {mean:.6g} at time step {time}, but ", mean=mean)
        for mean, time in zip(path.extremes(), path.extreme_times(), strict=True)
    ]
    return arms[0], path


def _path(setting: Setting) -> Sinusoid | Knots:
    table = setting.table.as_table(setting.value, *setting.keys)
    kind: type[Any] = Knots if "values" in table or "times" in table else Sinusoid
    table.only(kind._fields, "the path of a mean")
    missing = [n for n in kind._fields if n not in table and n not in kind._field_defaults]
    if missing:
        raise table.error(
            f"the path of a mean needs {' and '.join(missing)}; give centre, amplitude and "
            "period, or values and times"
        )
    try:
        path: Sinusoid | Knots = kind(**table.values)
    except ValueError as error:
        raise table.blame(error) from None
    return path
