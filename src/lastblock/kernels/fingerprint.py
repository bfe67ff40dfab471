"""A hash of the code of policies and arms that users have written.

The address of a chunk covers everything that determines its outcome. A hash of the package's
sources covers the package's own code. This hash covers a user's class: the bytecode of its methods,
and everything that the names in them refer to, at any depth. A user's function counts by its
bytecode; a function or class of Python, of this package or of an installed one by its module, name
and version; any other object by its contents. Nothing that differs between two processes may enter,
such as the address of an object or the order of a set.
"""

import builtins
import copyreg
import hashlib
import types
from collections.abc import Collection, Iterable, Iterator
from contextlib import suppress
from types import CodeType, FunctionType, ModuleType
from typing import Any

import numpy as np
from numba.core.types import Type as NumbaType

from lastblock.kernels.provenance import (
    home_of_ufunc,
    imported,
    origin,
    origin_of_class,
    origin_of_module,
)

_NOT_CODE = {
    "__annotate__",
    "__annotate_func__",
    "__annotations__",
    "__annotations_cache__",
    "__dict__",
    "__doc__",
    "__firstlineno__",
    "__module__",
    "__static_attributes__",  # their order is not fixed
    "__weakref__",
}
_PLAIN = {bool, int, float, complex, str, bytes, type(None), type(...), range, slice}
_DESCRIPTORS = (
    types.WrapperDescriptorType
    | types.MethodDescriptorType
    | types.ClassMethodDescriptorType
    | types.GetSetDescriptorType
    | types.MemberDescriptorType
)
_GENERATORS = np.random.RandomState | np.random.Generator | np.random.BitGenerator


def fingerprint(*values: object) -> str:
    """Hash the code of the classes and functions in these values from outside the package.

    Returns
    -------
    str
        The hash, in hexadecimal; "" if there is no such class or function.
    """
    reader = _Reader()
    for value in values:
        reader.search(value)
    return reader.digest.hexdigest() if reader.foreign else ""


class _Reader:
    """Adds everything it meets to one hash; what it meets again counts by its number only."""

    def __init__(self) -> None:
        self.digest = hashlib.blake2b(digest_size=16)
        self.foreign = False
        # It holds the objects themselves, so that no other object gets their id.
        self._met: dict[Any, tuple[int, object]] = {}
        self._searched: dict[int, object] = {}

    def search(self, value: object) -> None:
        """Add everything in a value that comes from outside the package, at any depth.

        Parameters of the package's own classes are left out, since a chunk's address has them
        anyway.
        """
        if type(value) in _PLAIN or id(value) in self._searched:
            return
        self._searched[id(value)] = value
        code = isinstance(value, FunctionType | type) or hasattr(value, "py_func")
        if code or origin_of_class(type(value)) is None:
            self.add(value)
            return
        if isinstance(value, list | tuple | set | frozenset):
            for item in value:
                self.search(item)
        elif isinstance(value, dict):
            for item in value.values():
                self.search(item)
        elif not isinstance(value, ModuleType):
            for item in list(getattr(value, "__dict__", {}).values()):
                self.search(item)

    def add(self, value: object) -> None:
        """Add any object: code with everything it refers to, or a constant."""
        if type(value) in _PLAIN:
            self._note(type(value).__name__, value)
        elif isinstance(value, type):
            self._add_class(value)
        elif isinstance(value, CodeType):
            self._add_bytecode(value)
        elif isinstance(value, ModuleType):
            self._note("module", value.__name__, origin_of_module(value))
        elif isinstance(value, np.generic | np.dtype | NumbaType):
            self._note(type(value).__name__, repr(value))
        elif isinstance(value, _DESCRIPTORS):
            self._note("descriptor", value.__objclass__.__qualname__, value.__name__)
        elif not self._is_known(value):
            self._add_new(value)

    def _add_new(self, value: object) -> None:
        """Add an object that has not been met before."""
        match value:
            case FunctionType():
                self._add_function(value)
            case types.BuiltinFunctionType() | types.MethodWrapperType():
                self._note("C function", value.__qualname__)
                self.add(value.__self__)  # the module of a function, or the object of a method
            case types.MethodType():
                self._add_all("method", [value.__func__, value.__self__])
            case staticmethod() | classmethod():
                self._add_all(type(value).__name__, [value.__func__])
            case property():
                self._add_all("property", [value.fget, value.fset, value.fdel])
            case np.ufunc():
                self._note("ufunc", value.__name__, value.types, home_of_ufunc(value))
            case np.ndarray():
                self._add_array(value)
            case tuple() | list():
                self._add_class(type(value))
                self._add_all("in order", value)
            case dict():
                self._add_class(type(value))
                self._add_all("by key", [part for item in value.items() for part in item])
            case set() | frozenset():
                self._add_class(type(value))
                self._note("in any order", sorted(self._apart(item) for item in value))
            case _ if isinstance(value, _GENERATORS):  # their state may come from the clock
                self._add_class(type(value))
            case _ if hasattr(value, "py_func"):  # compiled by numba
                options = getattr(value, "targetoptions", {})
                self._add_all("compiled", [value.py_func, *sorted(options.items())])
            case _ if hasattr(value, "__wrapped__"):  # such as a function with a cache
                self._add_class(type(value))
                self.add(value.__wrapped__)
            case _:
                self._add_object(value)

    def _note(self, *words: object) -> None:
        self.digest.update(f"{words!r}\n".encode())

    def _is_known(self, value: object, *use: object) -> bool:
        """Return whether an object has been met before; if so, add its number."""
        key = (id(value), *use)
        if key in self._met:
            self._note("again", self._met[key][0])
            return True
        self._met[key] = len(self._met), value
        return False

    def _add_all(self, kind: str, parts: Iterable[object]) -> None:
        parts = list(parts)
        self._note(kind, len(parts))
        for part in parts:
            self.add(part)

    def _apart(self, value: object) -> str:
        """Return the hash of an element of a set, independent of the other elements."""
        reader = _Reader()
        reader._met = dict(self._met)
        reader.add(value)
        self.foreign |= reader.foreign
        return reader.digest.hexdigest()

    def _add_class(self, cls: type) -> None:
        known_by = origin_of_class(cls)
        if known_by is not None:
            self._note("class", cls.__module__, cls.__qualname__, known_by)
            return
        if self._is_known(cls):
            return
        self.foreign = True
        self._note("class", cls.__qualname__, len(cls.__bases__))
        for base in (type(cls), *cls.__bases__):
            self._add_class(base)
        for name, member in sorted(vars(cls).items()):
            if name not in _NOT_CODE:
                self._note("member", name)
                self.add(member)

    def _add_function(self, function: FunctionType) -> None:
        space = function.__globals__
        known_by = origin(space)
        if known_by is None:
            self.foreign = True
            self._add_bytecode(function.__code__)
            self.add(function.__defaults__)
            self.add(function.__kwdefaults__)
        else:
            self._note("function", space["__name__"], function.__qualname__, known_by)
        for cell in function.__closure__ or ():  # a decorator from elsewhere holds its function
            self._note("cell")
            with suppress(ValueError):  # the cell is still empty
                self.add(cell.cell_contents)
        if known_by is None:
            names = sorted(_names(function.__code__))
            self._add_named(space, names)
            for module in imported(function.__code__, space):
                self._add_module(module, names)

    def _add_bytecode(self, code: CodeType) -> None:
        self._note("code", code.co_code, code.co_exceptiontable, code.co_names)
        self._note(len(code.co_consts))
        for constant in code.co_consts:
            self.add(constant)

    def _add_named(self, space: dict[str, Any], names: Collection[str]) -> None:
        """Add what these names refer to in `space`, and in the modules that `space` has."""
        for name in names:
            if name in space:
                value = space[name]
            elif hasattr(builtins, name):
                value = getattr(builtins, name)
            else:
                continue
            self._note("name", name)
            if isinstance(value, ModuleType):
                self._add_module(value, names)
            else:
                self.add(value)

    def _add_module(self, module: ModuleType, names: Collection[str]) -> None:
        if origin_of_module(module) is not None:
            self.add(module)
        elif not self._is_known(module, *names):
            self._add_named({k: v for k, v in vars(module).items() if k in names}, names)

    def _add_array(self, array: np.ndarray[Any, Any]) -> None:
        self._note("array", str(array.dtype), array.shape)
        if array.dtype.hasobject:
            self.add(array.tolist())
        else:
            self.digest.update(array.tobytes())

    def _add_object(self, value: object) -> None:
        """Add an object of any other class: the parts from which a copy would be made."""
        self._add_class(type(value))
        try:
            reduce = copyreg.dispatch_table.get(type(value))
            parts: Any = value.__reduce_ex__(4) if reduce is None else reduce(value)
        except Exception:  # it cannot be copied, such as a lock
            self.add(getattr(value, "__dict__", None))
            return
        if isinstance(parts, str):
            self._note("named", parts)
            return
        self._add_all("made of", (list(p) if isinstance(p, Iterator) else p for p in parts))


def _names(code: CodeType) -> set[str]:
    nested = (_names(constant) for constant in code.co_consts if isinstance(constant, CodeType))
    return set(code.co_names).union(*nested)
