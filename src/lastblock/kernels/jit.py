"""How kernels are compiled.

Five decorators make a function one that can be compiled:

- ``kernel`` is for short functions that other kernels call: their code is copied into each caller.
- ``kernel_of`` is ``kernel`` for functions that read some fields of a record only, which many
  records share.
- ``routine`` is for long functions that other kernels call: they are compiled once and called.
- ``entry`` is for functions that Python calls. The compiled code is cached on disk.
- ``moment`` is ``entry`` for functions so short that releasing the GIL would take longer.

A kernel or a routine stays a plain Python function: compiled code calls the compiled one, Python
calls the function itself. So ``plain(entry)`` runs without a compiler, all the way down, and
returns the same bits. Numba is imported before the first compilation and not earlier, because that
takes longer than the rest of the package; what needs numba waits for it with ``when_compiling``.

Compiled code is kept in a folder for exactly these sources (`lastblock.kernels.compile_cache`).
`specialise` keeps code for classes from outside the package, such as a user's own policy, apart,
under a hash of their own code (`lastblock.kernels.own_code`).
"""

import functools
from collections.abc import Callable, Mapping
from enum import Enum
from typing import Any, ParamSpec, TypeVar

import numpy as np

from lastblock.kernels import numba_on_demand, own_code
from lastblock.kernels.cache_files import keep_apart
from lastblock.kernels.compile_cache import cache_folder, numba_cache_folder
from lastblock.kernels.garbage import rare_collections
from lastblock.kernels.interrupts import deferred_interrupts
from lastblock.kernels.linking import linked
from lastblock.kernels.numba_on_demand import (
    compiler_lock,
    importing,
    is_ready,
    make_ready,
    numba,
    when_compiling,
)
from lastblock.kernels.record_arrays import RecordArray

P = ParamSpec("P")
R = TypeVar("R")
F = TypeVar("F", bound=Callable[..., Any])

DISABLED = numba_on_demand.DISABLED

# No fastmath: compensated sums and reproducible comparisons need IEEE arithmetic as written.
# The numpy error model saves a branch before each division. nogil lets replications run on plain
# Python threads. Kernels own no memory, so _nrt=False drops numba's reference counts, which would
# take three times as long as the work itself. C never calls kernels, hence no wrapper for C; inner
# functions need no wrapper for Python either, which saves a quarter of their compilation.
_FLAGS = {"error_model": "numpy", "nogil": True, "_nrt": False, "no_cfunc_wrapper": True}
_INNER = {**_FLAGS, "no_cpython_wrapper": True}
INLINE = {**_INNER, "forceinline": True}


def kernel(function: Callable[P, R]) -> Callable[P, R]:
    """Make a short function one that is compiled into every kernel that calls it."""
    return _inner(function, INLINE)


def kernel_of(fields: tuple[str, ...]) -> Callable[[Callable[P, R]], Callable[P, R]]:
    """Make a short function a `kernel` that needs only these fields of its records.

    Records that have them in the same places share its code, whatever other fields they have.
    """

    def make(function: Callable[P, R]) -> Callable[P, R]:
        return _inner(function, INLINE, fields)

    return make


def routine(function: Callable[P, R]) -> Callable[P, R]:
    """Make a long function one that kernels call, without copying it into each of them."""
    return _inner(function, _INNER)


def routine_of(fields: tuple[str, ...]) -> Callable[[Callable[P, R]], Callable[P, R]]:
    """Make a long function a `routine` that needs only these fields of its records."""

    def make(function: Callable[P, R]) -> Callable[P, R]:
        return _inner(function, _INNER, fields)

    return make


def checked_kernel(function: Callable[P, R]) -> Callable[P, R]:
    """Compile a function that kernels call, with a check of every index in it and below it."""
    return _inner(plain(function), {**INLINE, "boundscheck": True})


def _inner(
    function: Callable[P, R], options: dict[str, Any], fields: tuple[str, ...] = ()
) -> Callable[P, R]:
    called: Any = function
    called.kernel_options = options

    def let_kernels_call_it() -> None:
        from lastblock.kernels.bounds import CHECKED, KernelType  # noqa: PLC0415  # needs numba

        def compiler(**more: Any) -> Any:
            return numba().njit(**linked({**options, **more}))(_compilable(function))

        called.dispatcher = compiler()
        # Numba reads this attribute of a global in the code that it compiles.
        called._numba_type_ = KernelType(called.dispatcher, lambda: compiler(**CHECKED), fields)

    when_compiling(let_kernels_call_it)
    return function


def is_kernel(function: object) -> bool:
    """Return whether kernels can call a function: it is a `kernel` or a `routine`."""
    return hasattr(function, "kernel_options")


def uncompiled(attributes: Mapping[str, Any]) -> dict[str, Any]:
    """Return the attributes of a kernel without those that only this process can use."""
    own = ("dispatcher", "_numba_type_")
    return {name: value for name, value in attributes.items() if name not in own}


def make_kernel_again(function: Any) -> None:
    """Make a function with the `uncompiled` attributes of a kernel one again, in any process."""
    _inner(function, function.kernel_options)


def in_kernels(function: Callable[..., Any]) -> Callable[[F], F]:
    """Let kernels run other code instead of a Python function.

    The decorated function gets the numba types of the arguments and returns that code, a function
    with the same arguments; None if it has none for these types.
    """

    def register(find: F) -> F:
        def replace() -> None:
            from numba.extending import overload  # noqa: PLC0415  # slow to import

            overloaded: Any = overload  # not strict: the annotations of the two may differ
            overloaded(function, jit_options=linked(INLINE), strict=False)(find)

        when_compiling(replace)
        return find

    return register


def entry(function: Callable[P, R]) -> Callable[P, R]:
    """Make a function one that is compiled when Python calls it; the result is kept on disk."""
    return _outer(function, nogil=True)


def moment(function: Callable[P, R]) -> Callable[P, R]:
    """Do the same for a very short function; it keeps the GIL while it runs."""
    return _outer(function, nogil=False)


def _outer(function: Callable[P, R], nogil: bool) -> Callable[P, R]:
    made: Any = Entry
    return function if DISABLED else made(function, nogil)


class Entry:
    """A function that is compiled when Python calls it, for the types of its arguments.

    Parameters
    ----------
    function
        The Python function.
    nogil
        Whether the compiled code releases the GIL.
    """

    def __init__(self, function: Any, nogil: bool) -> None:
        functools.update_wrapper(self, function)
        self.py_func = function
        self.nogil = nogil
        self._dispatcher: Any = None

    @property
    def dispatcher(self) -> Any:
        """What compiles it for given types, and finds the code that it has compiled."""
        if self._dispatcher is None:
            make_ready()
            with importing:
                if self._dispatcher is None:
                    self._dispatcher = self._cached()
        return self._dispatcher

    def _cached(self) -> Any:
        folder = cache_folder()
        if folder is None:
            return _in_memory(self.py_func, self.nogil)
        with numba_cache_folder(folder):
            options = linked({**_FLAGS, "nogil": self.nogil})
            return _uninterrupted(keep_apart(numba().njit(cache=True, **options)(self.py_func)))

    def __call__(self, *arguments: Any) -> Any:
        return self.dispatcher(*arguments)

    @property
    def _numba_type_(self) -> Any:
        return self.dispatcher._numba_type_  # numba reads this where a kernel calls an entry


def compiled(function: Callable[P, R]) -> Callable[P, R]:
    """Return a kernel as compiled code that Python can call; it is compiled in memory only."""
    made: Callable[P, R] = function if DISABLED else _in_memory(_compilable(plain(function)))
    return made


def plain(function: Callable[P, R]) -> Callable[P, R]:
    """Return the Python function behind a kernel, for calls too rare to be worth compiling."""
    uncompiled: Callable[P, R] = getattr(function, "py_func", function)
    return uncompiled


def wrapping(function: Callable[P, R]) -> Callable[P, R]:
    """Silence NumPy's overflow warnings of unsigned arithmetic where plain Python runs it."""
    quiet: Any = np.errstate(over="ignore")(function)
    quiet.compilable = function
    silenced: Callable[P, R] = quiet
    return silenced


def _compilable(function: Any) -> Any:
    """Return the function to compile, without what `wrapping` adds for plain Python."""
    return getattr(function, "compilable", function)


def specialise(function: Callable[P, R], *arguments: Any) -> Callable[P, R]:
    """Return the compiled code of an `entry` for arguments of these types, without its dispatcher.

    A call takes about 0.2 µs instead of 1 µs, because it does not check the types.

    Parameters
    ----------
    function
        A function decorated with `entry` or `moment`.
    *arguments
        Examples of the arguments. Every later call must pass arguments of the same types.

    Returns
    -------
    callable
        The compiled code, or `function` itself when the JIT is disabled.
    """
    if DISABLED:
        return function
    dispatcher = _dispatcher(function, arguments)
    signature = signature_of(*arguments)
    dispatcher.compile(signature)
    code: Callable[P, R] = dispatcher.overloads[signature].entry_point
    return code


def specialised_before(function: Callable[P, R], *arguments: Any) -> Callable[P, R] | None:
    """Return what `specialise` would return, or None if that would have to compile or to load."""
    if not is_ready():
        return None
    known = _dispatcher(function, arguments).overloads.get(signature_of(*arguments))
    return None if known is None else known.entry_point


def is_kept(function: Callable[P, R], *arguments: Any) -> bool:
    """Return whether `specialise` needs no compilation for these arguments.

    So it is if the code is in memory or in the cache on disk, from which this call loads it.
    """
    if DISABLED:
        return True
    dispatcher = _dispatcher(function, arguments)
    signature = signature_of(*arguments)
    if signature in dispatcher.overloads:
        return True
    with compiler_lock():
        kept = dispatcher._cache.load_overload(signature, dispatcher.targetctx)
        if kept is None:
            return False
        dispatcher.targetctx.insert_user_function(kept.entry_point, kept.fndesc, [kept.library])
        dispatcher.add_overload(kept)
    return True


def signature_of(*arguments: Any) -> tuple[Any, ...]:
    """Return the types of the arguments, as numba sees them: code is compiled for these."""
    return tuple(_type_of(argument) for argument in arguments)


_LARGE = 1 << 63  # numba takes an int that is not below for another type

_types: dict[Any, Any] = {}
"""Numba's types by what they depend on: to find that of a record or a policy takes a millisecond.
They are no more than there are layouts of records, and kinds of policies."""


def _type_of(value: Any) -> Any:
    try:
        known_as = _look_of(value)
    except LookupError:
        return numba().typeof(value)
    found = _types.get(known_as)
    if found is None:
        make_ready()  # or numba would not know the types of records
        found = _types[known_as] = numba().typeof(value)
    return found


def _look_of(value: Any) -> Any:
    """Return all of a value that its type depends on; raise a LookupError for other values."""
    cls = type(value)
    if cls is RecordArray:
        return cls, value.outline
    if cls in (np.ndarray, np.recarray):
        flags, dtype = value.flags, value.dtype
        layout = flags.c_contiguous, flags.f_contiguous, flags.writeable, flags.aligned
        return cls, dtype, dtype.isalignedstruct, value.ndim, layout
    is_usual = cls in (float, bool) or (cls is int and -_LARGE <= value < _LARGE)
    if is_usual or isinstance(value, Enum):
        return cls
    if isinstance(value, tuple):
        return cls, *map(_look_of, value)
    raise LookupError


def _dispatcher(function: Any, arguments: tuple[Any, ...]) -> Any:
    """Return what compiles an entry for these arguments, with the right cache."""
    make_ready()
    classes = tuple(dict.fromkeys(own_code.foreign_classes(arguments)))
    if not classes:
        return getattr(function, "dispatcher", function)
    nogil = getattr(function, "nogil", True)
    mark = None if cache_folder() is None else own_code.mark_of(classes)
    return _in_memory(function.py_func, nogil) if mark is None else _own(function, nogil, mark)


@functools.cache
def _own(function: Any, nogil: bool, mark: str) -> Any:
    """Return the dispatcher for classes from outside the package whose code has this hash."""
    folder = cache_folder()
    assert folder is not None
    with importing, numba_cache_folder(own_code.own_folder(folder, mark)):
        options = linked({**_FLAGS, "nogil": nogil})
        made = numba().njit(cache=True, **options)(own_code.named_by(mark, function.py_func))
        return _uninterrupted(keep_apart(own_code.keep_by_name(made)))


@functools.cache
def _in_memory(function: Any, nogil: bool = True) -> Any:
    make_ready()
    return _uninterrupted(numba().njit(**linked({**_FLAGS, "nogil": nogil}))(function))


def _uninterrupted(dispatcher: Any) -> Any:
    """Make `dispatcher` hold back interrupts while it compiles; return it.

    An exception in the middle of a compilation leaves numba in a state in which this process can
    never compile the function again.
    """
    if DISABLED:
        return dispatcher
    compile_now = dispatcher.compile

    def compile_later_interrupted(signature: Any) -> Any:
        if signature in dispatcher.overloads:  # compiled before, so this takes no time
            return compile_now(signature)
        with deferred_interrupts(), rare_collections():
            return compile_now(signature)

    dispatcher.compile = compile_later_interrupted  # the dispatcher itself calls it, too
    return dispatcher


def is_foreign(value: object) -> bool:
    """Return whether `value`, or an item of it, is a NamedTuple defined outside this package."""
    return next(own_code.foreign_classes(value), None) is not None
