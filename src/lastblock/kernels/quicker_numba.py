"""Quicker forms of small functions of numba that take a quarter of every compilation.

Numba compares the settings of a compilation thousands of times, and reads all fifty of them each
time. It lists the variables of an instruction by calling itself for every part of it, also for
parts that can hold none. It looks for the meaning of `a + b` anew for every such expression, and
tries a dozen ways. It imports forty modules once more for each call of a function. It spells out
all fields of a record before each of thirty steps. The forms here return the same and skip that
work. They hold for all that the process compiles with numba; decision 25 has the figures.

None of these functions is a public interface. Where one is not as expected, numba keeps its own;
and the forms of `quicker_passes` are only for versions of numba that they were compared with.
"""

from typing import Any

from lastblock.kernels import quicker_passes

COMPARED = ("0.68.",)
"""How the versions begin with which `quicker_passes` was compared."""


def quicken() -> None:
    """Give numba the quicker forms; to call it again changes nothing."""
    import numba  # noqa: PLC0415  # slow to import

    changes = [
        _quicken_settings,
        _quicken_variables,
        _quicken_records,
        _quicken_operators,
        _quicken_loops,
        _quicken_registries,
    ]
    if numba.__version__.startswith(COMPARED):
        changes += quicker_passes.CHANGES
    for change in changes:
        try:
            change()
        except (ImportError, AttributeError):
            continue


def _quicken_settings() -> None:
    from numba.core.targetconfig import TargetConfig  # noqa: PLC0415  # slow to import

    settings: Any = TargetConfig
    numbas = settings.__eq__
    is_expected = hasattr(settings(), "_values") and hasattr(settings, "options")
    if hasattr(numbas, "is_quick") or not is_expected:
        return
    hashes: dict[type, int] = {}

    def equal(self: Any, other: object) -> Any:
        if type(self) is not type(other):
            return numbas(self, other)
        mine, others = self._values, other._values  # type: ignore[attr-defined]  # numba has no types
        # The settings that neither has set have the same default.
        return mine == others or all(
            getattr(self, name) == getattr(other, name) for name in mine.keys() | others.keys()
        )

    def hashed(self: Any) -> int:
        cls = type(self)
        if cls not in hashes:
            hashes[cls] = hash(tuple(sorted(cls.options)))  # numba hashes the names alone, too
        return hashes[cls]

    equal.is_quick = True  # type: ignore[attr-defined]  # a mark
    settings.__eq__, settings.__hash__ = equal, hashed


def _quicken_variables() -> None:
    from numba.core.ir import Assign, Inst, Var  # noqa: PLC0415  # slow to import

    instruction: Any = Inst
    if not callable(instruction._rec_list_vars):
        return
    holders = (Inst, list, tuple, dict)

    def list_variables(self: Any, value: Any) -> list[Any]:
        if isinstance(value, Var):
            return [value]
        if isinstance(value, instruction):
            return list(value.list_vars())
        found = []
        parts = value.values() if isinstance(value, dict) else value
        if isinstance(value, holders):
            for part in parts:
                if isinstance(part, Var):
                    found.append(part)
                elif isinstance(part, holders):
                    found.extend(self._rec_list_vars(part))
        return found

    instruction._rec_list_vars = list_variables

    assign: Any = Assign

    def list_assigned(self: Any) -> list[Any]:
        value = self.value
        found = [value] if isinstance(value, Var) else []
        if isinstance(value, instruction):
            found = list(value.list_vars())
        return [*found, self.target]

    assign.list_vars = list_assigned


def _quicken_records() -> None:
    from numba.core.types import Record  # noqa: PLC0415  # slow to import

    record: Any = Record
    numbas = record.__repr__
    if hasattr(numbas, "is_quick"):
        return
    spelt: dict[int, str] = {}  # by the number of the type; its own attributes would be pickled

    def spell(self: Any) -> str:
        if self._code not in spelt:
            spelt[self._code] = numbas(self)
        return spelt[self._code]

    spell.is_quick = True  # type: ignore[attr-defined]  # a mark
    record.__repr__ = spell


def _quicken_operators() -> None:
    """Remember what a function of numba's own means for arguments of given types."""
    from numba.core.types.functions import BaseFunction  # noqa: PLC0415  # slow to import

    function: Any = BaseFunction
    numbas = function.get_call_type
    if hasattr(numbas, "is_quick"):
        return
    known: dict[Any, Any] = {}

    def find(self: Any, context: Any, args: Any, kws: Any) -> Any:
        if kws:
            return numbas(self, context, args, kws)
        key = self._code, context, tuple(args)
        found = known.get(key)
        if found is None:
            found = numbas(self, context, args, kws)
            # A function with code to compile, for settings that may differ, is another matter: its
            # key is that code.
            if found is not None and self._impl_keys.get(found.args) is self.typing_key:
                known[key] = found
        return found

    find.is_quick = True  # type: ignore[attr-defined]  # a mark
    function.get_call_type = find


def _quicken_loops() -> None:
    """Remember which loop of a ufunc is for which types: numba tries these for every operator."""
    from numba.core.typing import npydecl  # noqa: PLC0415  # slow to import

    module: Any = npydecl
    numbas = module.ufunc_find_matching_loop
    if hasattr(numbas, "is_quick"):
        return
    known: dict[Any, Any] = {}

    def find(ufunc: Any, arg_types: Any) -> Any:
        key = ufunc, tuple(arg_types)
        if key not in known:
            known[key] = numbas(ufunc, arg_types)
        return known[key]

    find.is_quick = True  # type: ignore[attr-defined]  # a mark
    module.ufunc_find_matching_loop = find


def _quicken_registries() -> None:
    """Import the modules that have numba's own code once, not for every call."""
    from numba.core.cpu import CPUContext  # noqa: PLC0415  # slow to import

    context: Any = CPUContext
    numbas = context.load_additional_registries
    if hasattr(numbas, "is_quick"):
        return
    registries: dict[Any, list[Any]] = {}

    def load(self: Any) -> None:
        if self in registries:
            for registry in registries[self]:
                self.install_registry(registry)  # what is new in it
            return
        seen: list[Any] = []
        install = self.install_registry

        def install_and_note(registry: Any) -> None:
            seen.append(registry)
            install(registry)

        self.install_registry = install_and_note
        try:
            numbas(self)
        finally:
            del self.install_registry
        registries[self] = seen

    load.is_quick = True  # type: ignore[attr-defined]  # a mark
    context.load_additional_registries = load
