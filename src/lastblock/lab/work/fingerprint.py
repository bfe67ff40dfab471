"""What decides the outcome of a policy or an arm that is not part of the package: its code.

Chunks of results are addressed by all that determines them. The package's own code is covered by a
hash of its sources; a class of the user's is covered by the bytecode of its methods and of every
function of theirs that these call, however deep. Nothing that differs from one process to the next
may enter, such as the address of an object or the order of a set.
"""

import hashlib
import sys
from types import CodeType, FunctionType, ModuleType
from typing import Any

import numpy as np

_PACKAGE = __name__.partition(".")[0]


def fingerprint(*values: object) -> str:
    """A hash of the code of all classes in these values that come from outside the package."""
    digest = hashlib.blake2b(digest_size=16)
    seen: set[object] = set()
    for value in values:
        _add_value(digest, value, seen)
    return digest.hexdigest() if seen else ""


def _add_value(digest: Any, value: object, seen: set[object]) -> None:
    if isinstance(value, list | tuple | set | frozenset | dict):
        for item in value.values() if isinstance(value, dict) else value:
            _add_value(digest, item, seen)
    _add_class(digest, type(value), seen)
    for attribute in getattr(value, "__dict__", {}).values():
        if not isinstance(value, type | FunctionType):
            _add_value(digest, attribute, seen)


def _add_class(digest: Any, cls: type, seen: set[object]) -> None:
    for base in cls.__mro__:
        if _is_covered(base.__module__) or id(base) in seen:
            continue
        seen.add(id(base))
        digest.update(f"class {base.__qualname__} {sys.version}\n".encode())
        for name, member in sorted(vars(base).items()):
            if name not in _NOT_CODE:
                digest.update(name.encode())
                _add_code(digest, member, seen)


_NOT_CODE = {
    "__doc__",
    "__module__",
    "__annotations__",
    "__dict__",
    "__weakref__",
    "__firstlineno__",
}


def _add_code(digest: Any, member: object, seen: set[object]) -> None:
    """A function with all that it refers to, or a constant."""
    function = getattr(member, "py_func", member)  # what a compiled function was made of
    function = getattr(function, "__func__", function)  # of a method
    function = getattr(function, "__wrapped__", function)
    if isinstance(function, property):
        function = function.fget
    if isinstance(function, type):
        _add_class(digest, function, seen)
    elif isinstance(function, FunctionType):
        _add_function(digest, function, seen)
    else:
        _add_constant(digest, function, seen)


def _add_function(digest: Any, function: FunctionType, seen: set[object]) -> None:
    if _is_covered(function.__module__) or id(function) in seen:
        return
    seen.add(id(function))
    _add_bytecode(digest, function.__code__, seen)
    _add_constant(digest, function.__defaults__, seen)
    _add_constant(digest, function.__kwdefaults__, seen)
    for cell in function.__closure__ or ():
        _add_code(digest, cell.cell_contents, seen)
    _add_named(digest, function.__globals__, _names(function.__code__), seen)


def _add_named(digest: Any, space: dict[str, Any], names: list[str], seen: set[object]) -> None:
    """What code that uses these names may mean by them, in a module and in modules of it."""
    for name in names:
        if name not in space:
            continue
        digest.update(name.encode())
        value = space[name]
        if not isinstance(value, ModuleType):
            _add_code(digest, value, seen)
        elif not _is_covered(value.__name__) and (use := (id(value), *names)) not in seen:
            seen.add(use)
            _add_named(digest, vars(value), names, seen)


def _add_bytecode(digest: Any, code: CodeType, seen: set[object]) -> None:
    digest.update(code.co_code)
    digest.update(repr(code.co_names).encode())
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            _add_bytecode(digest, constant, seen)
        else:
            _add_constant(digest, constant, seen)


def _add_constant(digest: Any, value: object, seen: set[object]) -> None:
    match value:
        case tuple() | list():
            digest.update(f"{len(value)} in order\n".encode())
            for item in value:
                _add_code(digest, item, seen)
        case dict():
            digest.update(f"{len(value)} by key\n".encode())
            for key, item in value.items():
                _add_constant(digest, key, seen)
                _add_code(digest, item, seen)
        case set() | frozenset():
            digest.update(repr(sorted(map(repr, value))).encode())
        case np.ndarray():
            digest.update(f"{value.dtype} {value.shape}\n".encode())
            digest.update(value.tobytes())
        case int() | float() | complex() | str() | bytes() | np.generic() | None:
            digest.update(f"{value!r}\n".encode())


def _names(code: CodeType) -> list[str]:
    names = set(code.co_names)
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            names.update(_names(constant))
    return sorted(names)


def _is_covered(module: str | None) -> bool:
    """Whether the module is the package's, or of a library whose version is another matter."""
    top = (module or "").partition(".")[0]
    return top in {_PACKAGE, "builtins", "numpy", "numba", "typing", "collections", "enum"} or (
        top in sys.stdlib_module_names and top != "__main__"
    )
