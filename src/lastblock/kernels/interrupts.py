"""Holds back signals such as Ctrl-C while work runs that must not be interrupted."""

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType
from typing import Any


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
        for number in signal.valid_signals():
            handler = signal.getsignal(number)
            if callable(handler):
                handlers.append((number, handler))
                signal.signal(number, note)
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
            signal.signal(*handlers[0])
        finally:
            _restore(handlers[1:])


def _raise_all(numbers: list[int]) -> None:
    """Raise all signals."""
    if numbers:
        try:
            signal.raise_signal(numbers[0])
        finally:
            _raise_all(numbers[1:])
