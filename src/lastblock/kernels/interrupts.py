"""Interrupts that wait for what must not be broken off."""

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType
from typing import Any


@contextmanager
def deferred_interrupts() -> Iterator[None]:
    """Hold back the handlers of signals, such as Ctrl-C, until the block is done.

    A handler that raises an exception, as Python's own for Ctrl-C does, would do so in the middle
    of whatever runs. Signals that arrive in the block are raised again after it. Python calls
    handlers in the main thread only, so that in any other one there is nothing to do.
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


# A handler that is back in its place may raise an exception at once; the others follow even then.


def _restore(handlers: list[tuple[int, Any]]) -> None:
    if handlers:
        try:
            signal.signal(*handlers[0])
        finally:
            _restore(handlers[1:])


def _raise_all(numbers: list[int]) -> None:
    if numbers:
        try:
            signal.raise_signal(numbers[0])
        finally:
            _raise_all(numbers[1:])
