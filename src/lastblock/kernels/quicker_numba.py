"""Quicker forms of three small functions of numba that take a sixth of every compilation.

Numba compares the settings of a compilation thousands of times, and reads all fifty of them each
time. It lists the variables of an instruction by calling itself for every part of it, also for
parts that can hold none. The forms here return the same and skip that work. They hold for all that
the process compiles with numba; decision 25 has the figures.

None of these functions is a public interface. Where one is not as expected, numba keeps its own.
"""

from typing import Any


def quicken() -> None:
    """Give numba the quicker forms; to call it again changes nothing."""
    for change in (_quicken_settings, _quicken_variables):
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
    from numba.core.ir import Inst, Var  # noqa: PLC0415  # slow to import

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
