"""Holds back signals such as Ctrl-C while work runs that must not be interrupted."""

import importlib
import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from types import FrameType
from typing import Any

# Calls in plain Python come through here. The functions in `signal` take 100 µs for all signals,
# because they look up names for numbers; those in C, which they wrap, take 4 µs.
_SIGNALS = tuple(map(int, signal.valid_signals()))
_c: Any = signal
with suppress(ImportError):  # another Python than CPython may have no such module
    _c = importlib.import_module("_signal")
_handler_of: Any = _c.getsignal
_handle: Any = _c.signal


@contextmanager
def deferred_interrupts() -> Iterator[None]:
    """Hold back the handlers of signals, such as Ctrl-C, until the block is done.

    A handler may raise an exception, as Python's own for Ctrl-C does, in the middle of the work.
    Signals that arrive in the block are raised again after it. Python calls handlers in the main
    thread only; in any other thread this function does nothing.
    """
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    arrived: dict[int, None] = {}

    def note(number: int, _: FrameType | None) -> None:
        arrived[number] = None

    handlers: list[tuple[int, Any]] = []
    try:
        for number in _SIGNALS:
            handler = _handler_of(number)
            if callable(handler):
                handlers.append((number, handler))
                _handle(number, note)
        yield
    finally:
        _restore(handlers)
        _raise_all(list(arrived))


# A restored handler may raise an exception at once. The functions below go on with the others even
# then, and only afterwards let the exception out.


def _restore(handlers: list[tuple[int, Any]]) -> None:
    """Set all handlers again."""
    if handlers:
        try:
            _handle(*handlers[0])
        finally:
            _restore(handlers[1:])


def _raise_all(numbers: list[int]) -> None:
    """Raise all signals."""
    if numbers:
        try:
            signal.raise_signal(numbers[0])
        finally:
            _raise_all(numbers[1:])
