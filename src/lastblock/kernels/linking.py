"""Compile kernels to machine code once, in the entry that Python calls.

Numba compiles every function by itself: it optimises it together with all that it calls, and makes
machine code of it, whether or not Python can call it. A kernel is only ever called by other
kernels, so all that was work for nothing, and the deeper the calls, the more of it. Here a kernel
stays LLVM's intermediate code until an entry is compiled. The entry collects all kernels that it
needs, calls included, and is optimised once. Decision 25 has the figures.

This changes numba's `CodeLibrary`, which is not a public interface. Where it is not as expected, we
compile as numba does; the code is the same, it only takes longer.
"""

import functools
from collections.abc import Iterable, Iterator
from typing import Any

from lastblock.kernels.quicker_numba import quicken


def linked(options: dict[str, Any]) -> dict[str, Any]:
    """Return the options of `numba.njit` with the compiler that links as this module describes.

    Functions without a wrapper for Python are kernels; the others are entries.
    """
    compilers = _compilers()
    if compilers is None:
        return options
    kernels, entries = compilers
    is_kernel = options.get("no_cpython_wrapper", False)
    return {**options, "pipeline_class": kernels if is_kernel else entries}


@functools.cache
def _compilers() -> tuple[type[Any], type[Any]] | None:
    """Return numba's compiler for kernels and for entries, or None if numba is too different."""
    quicken()
    try:
        from llvmlite.binding import Linkage  # noqa: PLC0415  # slow to import
        from numba.core import environment  # noqa: PLC0415  # slow to import
        from numba.core.codegen import CPUCodegen, JITCodeLibrary  # noqa: PLC0415  # slow to import
        from numba.core.compiler import Compiler  # noqa: PLC0415  # slow to import

        for name in _NEEDED:
            getattr(JITCodeLibrary, name)
        getattr(CPUCodegen, "_pass_builder")  # noqa: B009  # without, passes need no builder
    except (ImportError, AttributeError):
        return None
    if _ATTRIBUTES - _attributes(JITCodeLibrary):
        return None
    library: Any = JITCodeLibrary
    compiler: Any = Compiler
    environments: Any = environment

    class KernelLibrary(library):  # type: ignore[misc]  # numba has no types
        """The code of a kernel, as LLVM's intermediate code only."""

        _linking_libraries: list[Any]
        _shared_module: Any
        codegen = _NoEnvironments()

        def add_ir_module(self, module: Any) -> None:
            for function in module.functions:
                if not (function.is_declaration or "alwaysinline" in function.attributes):
                    function.attributes.add("noinline")  # a routine
            super().add_ir_module(module)
            _take_apart(module)

        def finalize(self) -> None:
            self._raise_if_finalized()
            for called in self._linking_libraries:
                self._reload_init.update(called._reload_init)
            # By itself, which is quick; copied into others, it then lets LLVM see more.
            self._optimize_final_module()
            # A linker drops "linkonce" code that nothing has called yet. "weak" code stays.
            _relink(self._final_module, Linkage.external, "weak_odr")
            self._finalized = True

        def _optimize_final_module(self) -> None:
            # Once: numba does it twice because of reference counts, and kernels have none.
            passes, builder = self._codegen._module_pass_manager()
            passes.run(self._final_module, builder)

        def get_pointer_to_function(self, name: str) -> int:
            self._ensure_finalized()
            return 0  # numba's word for "there is none"

        def _get_module_for_linking(self) -> Any:
            """Return this kernel with all that it calls, for code that numba compiles its way."""
            self._ensure_finalized()
            if self._shared_module is None:
                module = self._final_module.clone()
                for part in _parts(self._linking_libraries, KernelLibrary):
                    module.link_in(part._get_module_for_linking(), preserve=True)
                _relink(module, Linkage.weak_odr, "linkonce_odr")
                self._shared_module = module
            return self._shared_module

    class EntryLibrary(library):  # type: ignore[misc]  # numba has no types
        """The code of an entry and of all kernels that it needs."""

        _linking_libraries: list[Any]
        is_long = False
        """Whether it runs so long that the way from Python into it does not count."""

        def add_ir_module(self, module: Any) -> None:
            if module.name == _WRAPPER and self.is_long:
                _leave_as_it_is(module)
            super().add_ir_module(module)
            _take_apart(module)

        def finalize(self) -> None:
            self._linking_libraries = list(_parts(self._linking_libraries, KernelLibrary))
            super().finalize()

        def _optimize_final_module(self) -> None:
            # Nobody else calls these kernels, so those that are copied into others can go.
            _relink(self._final_module, Linkage.weak_odr, "internal")
            super()._optimize_final_module()

        def _finalize_specific(self) -> None:
            super()._finalize_specific()
            for variable in self._final_module.global_variables:
                found = environments.lookup_environment(variable.name)
                if found is not None:
                    self._codegen.set_env(variable.name, found)

    class KernelCompiler(compiler):  # type: ignore[misc]  # numba has no types
        def compile_extra(self, function: Any) -> Any:
            return _compile_into(KernelLibrary, self, super().compile_extra, function)

    class EntryCompiler(compiler):  # type: ignore[misc]  # numba has no types
        def compile_extra(self, function: Any) -> Any:
            return _compile_into(EntryLibrary, self, super().compile_extra, function)

    return KernelCompiler, EntryCompiler


_WRAPPER = "wrapper"
"""Numba's name of the code that turns Python's arguments into numbers."""

_NEEDED = (
    "_ensure_finalized",
    "_finalize_specific",
    "_get_module_for_linking",
    "_optimize_final_module",
    "_raise_if_finalized",
    "add_ir_module",
    "codegen",
    "enable_object_caching",
    "finalize",
    "get_pointer_to_function",
)

_ATTRIBUTES = {"_codegen", "_final_module", "_linking_libraries", "_reload_init", "_shared_module"}
"""What a library must have once it is made; numba 0.62 has no `_reload_init`."""


def _attributes(kind: type[Any]) -> set[str]:
    """Return the names that the constructors of a class and of its bases use."""
    makers = [vars(each).get("__init__") for each in kind.__mro__]
    return {name for maker in makers for name in _names_in(maker)}


def _names_in(function: Any) -> tuple[str, ...]:
    return function.__code__.co_names if hasattr(function, "__code__") else ()


class _NoEnvironments:
    """Stands in for numba's code generator where there is no machine code to tell of Python."""

    def set_env(self, name: str, environment: object) -> None:
        """Do nothing: `EntryLibrary` does it, in the entry's machine code."""


class _Bare:
    """A kernel without what it calls, as something that numba can link."""

    def __init__(self, kernel: Any) -> None:
        self._reload_init = kernel._reload_init
        self._get_module_for_linking = lambda: kernel._final_module


def _compile_into(kind: type[Any], compiler: Any, compile_extra: Any, function: Any) -> Any:
    made = kind(compiler.state.targetctx.codegen(), function.__qualname__)
    made.is_long = compiler.state.flags.release_gil  # an `entry`, not a `moment`
    made.enable_object_caching()
    compiler.state.library = made
    return compile_extra(function)


def _leave_as_it_is(module: Any) -> None:
    """Let LLVM translate a module's functions without optimising them, which takes less time."""
    for function in module.functions:
        if not function.is_declaration:
            function.attributes.add("noinline")
            function.attributes.add("optnone")


def _take_apart(module: Any) -> None:
    """Take the parts of a module from it, which LLVM has read.

    They refer to each other in circles. Left alone, they wait until Python looks for such garbage,
    and three quarters of what it looks at would be these.
    """
    for function in module.functions:
        for block in function.blocks:
            block.instructions.clear()
            block.terminator = None
        function.blocks.clear()
        function.args = ()
    module.globals.clear()


def _parts(libraries: Iterable[Any], kernels: type[Any]) -> Iterator[Any]:
    """Yield each of these libraries and of those that they call once: kernels, then numba's own."""
    found: dict[Any, None] = {}
    waiting = list(libraries)
    while waiting:
        one = waiting.pop()
        if one not in found:
            found[one] = None
            if isinstance(one, kernels):
                waiting.extend(one._linking_libraries)
    yield from (_Bare(one) for one in found if isinstance(one, kernels))
    yield from (one for one in found if not isinstance(one, kernels))


def _relink(module: Any, before: Any, after: str) -> None:
    """Change the linkage of the functions that are defined in a module."""
    for function in module.functions:
        if not function.is_declaration and function.linkage == before:
            function.linkage = after
