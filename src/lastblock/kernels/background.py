"""Compile kernels in the background, while plain Python does their work.

A kernel returns the same bits with and without a compiler. So whoever wants an answer at once runs
it as plain Python, some hundred times slower, until its compiled code is there. One thread compiles
for all, first what was run last; it ends when nothing is left to compile. In the child of a fork
there is no such thread; whoever looks for compiled code there starts a new one.
"""

import atexit
import ctypes
import itertools
import logging
import os
import sys
import threading
import time
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from lastblock.kernels.interrupts import deferred_interrupts
from lastblock.kernels.jit import is_kept, plain, signature_of, specialise, specialised_before
from lastblock.kernels.numba_on_demand import DISABLED, hold_compiler, in_background, make_ready
from lastblock.kernels.record_arrays import RecordArray

SLOW = 0.1
"""Seconds of a call in plain Python after which the next call waits for the compiled code: with a
large state to go through, waiting takes less time."""

LARGEST_COPIED = 1 << 20
"""The most bytes that are copied before a call in plain Python, so that an error can be undone."""

LONGEST = 300
"""The most characters of a message of numba that are shown."""

PATIENCE = 10.0
"""The most seconds that the end of the program waits for the compiler to stop."""

GLANCE = 0.002
"""Seconds after which we look again whether the compiler can be stopped, or has stopped."""

TURN = 0.0005
"""Seconds after which threads take turns while the compiler works. It calls LLVM thousands of times
and must wait for its turn after each call, in Python's usual 5 ms for minutes."""

LLVM = os.path.join("llvmlite", "binding", "")
"""What is in the path of every module that calls LLVM."""

_log = logging.getLogger(__name__)

_calls = itertools.count(1)

When = Literal["soon", "at once", "never"]
_when: When = "never" if DISABLED else "soon"


@contextmanager
def compiling(when: When) -> Iterator[None]:
    """Within ``with``, choose when kernels are compiled; for tests, since it holds for all threads.

    "soon": in the background; "at once": before they run; "never": plain Python runs them.
    """
    global _when  # noqa: PLW0603  # one a process
    before = _when
    _when = "never" if DISABLED else when
    try:
        yield
    finally:
        _when = before


class SoonCompiled:
    """A kernel that plain Python runs until its compiled code is ready.

    Parameters
    ----------
    function
        A function decorated with `entry` or `moment`.
    *examples
        Arguments of the types for which to compile it.
    """

    def __init__(self, function: Callable[..., Any], *examples: Any) -> None:
        self.function, self._examples = function, examples
        self.code: Callable[..., Any] | None = None
        """The compiled code, once it is ready; see `look`."""
        self._error: BaseException | None = None
        self.last_call = 0
        """Which of all calls in plain Python was its last one; 0 if it had none."""
        self._asked: object = None  # the compiler that was asked for the code
        self._is_slow = self._has_warned = False

    def look(self) -> Callable[..., Any] | None:
        """Return the compiled code; None if there is none yet, and have it compiled then."""
        if self.code is None and _when != "never":
            if _when == "at once":
                self.wait()
            elif self._error is not None:
                self._warn()
            elif self._asked is not _compiler:
                found = specialised_before(self.function, *self._examples)
                self.code = None if found is None else self._around(found)
                self._asked = _compiler.ask(self) if self.code is None else None
        return self.code

    def wait(self) -> None:
        """Return when the code is compiled; raise the error if it cannot be compiled."""
        if self.code is None and not DISABLED:
            self.code = self._around(specialise(self.function, *self._examples))

    def is_kept(self) -> bool:
        """Return whether the code is in memory or on the disk, from which this loads it."""
        return self.code is not None or is_kept(self.function, *self._examples)

    @property
    def signature(self) -> tuple[Any, ...]:
        """What its code is compiled for: kernels with the same one share their code."""
        return self.function, *signature_of(*self._examples)

    def run(self, *arguments: Any) -> Any:
        """Run the kernel: its compiled code, or the Python function while there is none.

        An interrupt comes after the call, as it does with compiled code. If plain Python raises an
        error, such as a RecursionError, the arrays among the arguments are as before. Where it only
        cannot compute what compiled code can, such as 1.0 / 0.0, the compiled code decides.
        """
        if self.look() is None and self._is_slow and self._error is None and _when == "soon":
            self.wait()
        if self.code is not None:
            return self.code(*arguments)
        self.last_call = next(_calls)
        begun = time.thread_time()
        try:
            return self.run_plain(*arguments)
        except ArithmeticError:
            if _when == "never" or self._error is not None or not _is_undone(arguments):
                raise
            self.wait()
        finally:
            self._is_slow = time.thread_time() - begun > SLOW
        return self.run(*arguments)

    def run_plain(self, *arguments: Any) -> Any:
        """Run the Python function; interrupts and errors are as for `run`."""
        function = self._around(plain(self.function))
        # Compiled code does not warn of overflows either.
        with deferred_interrupts(), np.errstate(all="ignore"):
            if not _is_undone(arguments):
                return function(*arguments)
            arrays = _arrays(arguments)
            before = [array.copy() for array in arrays]
            try:
                return function(*arguments)
            except BaseException:
                for array, old in zip(arrays, before, strict=True):
                    array[:] = old
                raise

    def _around(self, code: Callable[..., Any]) -> Callable[..., Any]:
        """Return what runs instead of the compiled code, or of the Python function."""
        return code

    def compile(self) -> None:
        """Compile the code, in the background: note an error instead of raising it."""
        begun = time.perf_counter()
        name = plain(self.function).__name__
        try:
            self.wait()
        except Exception as error:
            if _compiler.is_stopping:  # LLVM swallowed the `_Stop`, and numba misses the code
                raise _Stop from None
            self._error = error
            _log.error("%s cannot be compiled for %s: %s", name, self._subject(), _short(error))
        else:
            seconds = time.perf_counter() - begun
            _log.info("%s is compiled for %s, after %.2f s", name, self._subject(), seconds)

    def _subject(self) -> str:
        return type(self._examples[0]).__name__

    def _warn(self) -> None:
        if not self._has_warned:
            self._has_warned = True  # first, since a warning may be an error
            warnings.warn(
                f"{self._subject()} cannot be compiled and goes on in plain Python, some hundred "
                f"times slower: {_short(self._error)}; Bandit(…, compiled=True) shows all of it",
                RuntimeWarning,
                stacklevel=2,
            )


def _short(error: BaseException | None) -> str:
    """Return the beginning of an error's message in one line; numba's fill pages."""
    words = " ".join(str(error).split())
    return words if len(words) <= LONGEST else f"{words[:LONGEST]} …"


def _arrays(arguments: tuple[Any, ...]) -> list[npt.NDArray[Any]]:
    arrays = [argument for argument in arguments if isinstance(argument, np.ndarray)]
    return [each.records if isinstance(each, RecordArray) else each for each in arrays]


def _is_undone(arguments: tuple[Any, ...]) -> bool:
    """Return whether errors are undone: not where the copies would take longer than the call."""
    return sum(array.nbytes for array in _arrays(arguments)) <= LARGEST_COPIED


class _Stop(BaseException):
    """Ends the thread in the middle of its work, when the program ends."""


@contextmanager
def _quiet_in_callbacks() -> Iterator[None]:
    """Print nothing where LLVM's callbacks swallow a `_Stop`: the next one ends the thread."""
    before = sys.unraisablehook

    def hook(unraisable: "sys.UnraisableHookArgs") -> None:
        if unraisable.exc_type is not _Stop:
            before(unraisable)

    sys.unraisablehook = hook
    try:
        yield
    finally:
        sys.unraisablehook = before


@contextmanager
def _short_turns() -> Iterator[None]:
    """Let the threads of the program take shorter turns, unless it has chosen such itself."""
    usual = sys.getswitchinterval()
    sys.setswitchinterval(min(TURN, usual))
    ours = sys.getswitchinterval()
    try:
        yield
    finally:
        if sys.getswitchinterval() == ours:  # nobody has set another one meanwhile
            sys.setswitchinterval(usual + 5e-7)  # Python cuts it off to whole microseconds


class _Compiler:
    """What waits to be compiled, and the thread that compiles it.

    What was run last comes first: a bandit may outgrow its records faster than their kernels are
    compiled. Kernels that nobody holds any more are compiled too, for later bandits.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._waiting: list[SoonCompiled] = []
        self._thread: threading.Thread | None = None
        self.is_stopping = False
        """Whether the program ends: an error of the compiler then says nothing of the kernel."""

    def ask(self, kernel: SoonCompiled) -> "_Compiler | None":
        """Have a kernel compiled; return self, or None if no thread can be started now."""
        with deferred_interrupts(), self._lock:
            self._waiting.append(kernel)
            if self._thread is None:
                thread = threading.Thread(target=self._work, name="lastblock-compiler", daemon=True)
                try:
                    thread.start()
                except RuntimeError:  # too many threads, or the program is ending
                    self._waiting.pop()
                    return None
                self._thread = thread
        return self

    def _work(self) -> None:
        try:
            with in_background, _short_turns():
                make_ready()
            atexit.register(self.stop)  # so that it runs before what numba has registered
            while (kernel := self._next()) is not None:
                with in_background, _short_turns():
                    kernel.compile()
        except _Stop:
            pass

    def _next(self) -> SoonCompiled | None:
        """Return the kernel to compile next; None if there is none, and the thread ends."""
        with self._lock:
            waiting = self._waiting  # `stop` may put another list there meanwhile
            if not waiting:
                self._thread = None
                return None
            calls = [kernel.last_call for kernel in waiting]
            return waiting.pop(calls.index(max(calls)))

    def stop(self) -> None:
        """Stop compiling: a thread that is inside the compiler when Python ends may crash it.

        So would an exception in between two steps of llvmlite, which then frees memory twice. The
        thread is stopped as soon as it is in other Python code.
        """
        self.is_stopping = True
        self._waiting = []
        thread, until = self._thread, time.monotonic() + PATIENCE
        with _quiet_in_callbacks():
            while thread is not None and thread.is_alive() and time.monotonic() < until:
                if not _is_in_llvm(thread):
                    stop_in, what = ctypes.c_ulong(thread.ident or 0), ctypes.py_object(_Stop)
                    ctypes.pythonapi.PyThreadState_SetAsyncExc(stop_in, what)
                thread.join(GLANCE)


def _is_in_llvm(thread: threading.Thread) -> bool:
    """Return whether a thread is in the part of llvmlite that calls LLVM, or in LLVM itself."""
    frame = sys._current_frames().get(thread.ident or 0)
    while frame is not None:
        if LLVM in frame.f_code.co_filename:
            return True
        frame = frame.f_back
    return False


_compiler = _Compiler()


_held: dict[int, Callable[[], None]] = {}  # by the thread that forks


def _before_fork() -> None:
    """Wait until no thread compiles: its locks, also those of imports, would stay in the child."""
    _held[threading.get_ident()] = hold_compiler()


def _after_fork() -> None:
    release = _held.pop(threading.get_ident(), None)
    if release is not None:  # None: forked by somebody who does not call what must come before
        release()


def _after_in_child() -> None:
    global _compiler  # noqa: PLW0603  # one a process
    _compiler = _Compiler()
    _after_fork()
    _held.clear()


def _stop() -> None:
    _compiler.stop()


atexit.register(_stop)
if hasattr(os, "register_at_fork"):
    os.register_at_fork(
        before=_before_fork, after_in_parent=_after_fork, after_in_child=_after_in_child
    )
