"""Compiled code uses nothing of `lastblock.support`, which the name of the cache does not cover."""

import importlib
import pkgutil
import types

from lastblock.kernels.compile_cache import KERNEL_FOLDERS
from lastblock.support.checks import whole

FORBIDDEN = "lastblock.support"
METHODS = {"start", "plan", "observe", "full", "reset", "notice", "seek", "mean", "best", "draw"}


def modules():
    """Every module of the folders that compiled code can come from."""
    for folder in KERNEL_FOLDERS:
        package = importlib.import_module(f"lastblock.{folder}")
        yield package
        for found in pkgutil.walk_packages(package.__path__, f"{package.__name__}."):
            yield importlib.import_module(found.name)


def compiled_functions(module):
    """The functions of a module that are compiled: kernels, and methods that kernels call."""
    for thing in vars(module).values():
        function = getattr(thing, "py_func", None)
        if function is not None and function.__module__ == module.__name__:
            yield function
        if isinstance(thing, type) and thing.__module__ == module.__name__:
            for name in METHODS & vars(thing).keys():
                method = vars(thing)[name]
                if isinstance(method, types.FunctionType):
                    yield method


def codes(code):
    """The code of a function and of the functions within it."""
    yield code
    for constant in code.co_consts:
        if isinstance(constant, types.CodeType):
            yield from codes(constant)


def used_from_support(function):
    """The names in a function that stand for something of the folder `support`."""
    names = {name for code in codes(function.__code__) for name in code.co_names}
    found = {name: function.__globals__.get(name) for name in names}
    return {
        name
        for name, value in found.items()
        if str(getattr(value, "__module__", None) or getattr(value, "__name__", "")).startswith(
            FORBIDDEN
        )
    }


def test_no_compiled_function_uses_the_support_folder():
    functions = [function for module in modules() for function in compiled_functions(module)]
    assert len(functions) > 100
    faults = {f.__qualname__: used for f in functions if (used := used_from_support(f))}
    assert faults == {}


def guilty(value):
    return whole(value, "value")


def test_a_compiled_function_that_did_would_be_found():
    assert used_from_support(guilty) == {"whole"}
