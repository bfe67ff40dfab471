"""What is checked of a policy, detector or arm family from outside the package, and how.

Compiled code goes where its numbers send it, so a mistake in a user's method could end the process
or, worse, give a wrong result. Such a class is therefore *checked*, unless its decorator says
``checked=False``: its methods are compiled with their indices checked (`kernels.bounds`), and the
functions here check the queue of every round. All of them do nothing in the record of a policy of
this package; compiled code does not even call them.

The record of a checked policy has a field `checked` without any bytes: its *type* differs, by which
the compiler knows what to check, and its contents are the same. While a method runs, the field
`end` of the record has the number of the method, so that an error can name it.

An exception in compiled code can hold constants only. `core.failures` reads the rest from the
record and makes the message.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np

from lastblock.kernels.jit import in_kernels, kernel

Record = Any

MARK = ("checked", np.uint8, (0,))
"""The field of a checked record."""

START, PLAN, OBSERVE, FULL, NOTICE, RESET = range(1, 7)
"""What the field `end` holds while a method runs; 0 while none does."""

METHODS = ("", "start", "plan", "observe", "full", "notice", "reset")
"""The names of the methods, by these numbers."""

EMPTY, CROWDED, NO_ARM, TWICE, HEADER, NOT_A_NUMBER = range(1, 7)
"""What may be wrong with a round: see `core.failures`."""


class RoundError(Exception):
    """Raised when a policy breaks a rule of the round; its argument is one of the numbers above.

    `core.failures` turns it into a `PolicyError` with a message for people.
    """


class RewardError(Exception):
    """Raised when an arm family gives a reward that the policy does not take."""


def is_own(cls: type[Any]) -> bool:
    """Return whether a class belongs to this package."""
    return cls.__module__.partition(".")[0] == __name__.partition(".")[0]


def is_checked(value: object) -> bool:
    """Return whether a policy, detector or arm, or one that it wraps, is checked."""
    if not isinstance(value, tuple):
        return False
    return is_checked_class(type(value)) or any(is_checked(item) for item in value)


def is_checked_class(cls: type[Any]) -> bool:
    """Return whether the methods of a class are checked."""
    return cls is not tuple and not is_own(cls) and bool(getattr(cls, "_is_checked", False))


@contextmanager
def checks_on(value: object) -> Iterator[None]:
    """Check a user's classes in here, also those with ``checked=False``: for the conformance suite.

    A record's type says whether its policy is checked, so that the code that was compiled without
    checks is not used.
    """
    classes = [cls for cls in _classes_in(value) if hasattr(cls, "_is_checked") and not is_own(cls)]
    before = [(cls, cls._is_checked) for cls in classes]
    for cls in classes:
        cls._is_checked = True
    try:
        yield
    finally:
        for cls, was in before:
            cls._is_checked = was


def _classes_in(value: object) -> list[Any]:
    if not isinstance(value, tuple):
        return []
    return [type(value), *(cls for item in value for cls in _classes_in(item))]


def is_marked(s: Record) -> bool:
    """Return whether a record is that of a checked policy."""
    return "checked" in s.dtype.names


# Each function has a body for plain Python, and one for compiled code, which knows the fields of
# the record when it is compiled.


def check_arm(s: Record, arm: int) -> None:
    """Raise a RoundError if a policy must not add this arm to the round."""
    if not is_marked(s):
        return
    if isinstance(arm, float | np.floating):
        raise TypeError(f"enqueue(s, {arm}): an arm is a whole number, not a float")
    if s.queued >= s.queue.shape[0]:
        raise RoundError(CROWDED)
    if not 0 <= arm < s.arms:
        raise RoundError(NO_ARM, int(arm))


@in_kernels(check_arm)
def _check_arm(s: Any, arm: Any) -> Any:
    if not hasattr(s, "fields"):
        return None
    if "checked" not in s.fields:
        return lambda s, arm: None
    from numba.core import types  # noqa: PLC0415  # slow to import
    from numba.core.errors import TypingError  # noqa: PLC0415  # slow to import

    if not isinstance(arm, types.Integer | types.Boolean | types.Literal):
        raise TypingError(f"enqueue(s, arm): an arm is a whole number, not a {arm}")

    def check(s: Any, arm: Any) -> None:
        if s.queued >= s.queue.shape[0]:
            raise RoundError(CROWDED)
        if arm < 0 or arm >= s.arms:
            s.queue[s.queued] = arm  # the message says which arm it was
            raise RoundError(NO_ARM)

    return check


def check_round(s: Record) -> None:
    """Raise a RoundError if the round that a policy has queued cannot be played.

    In compiled code this does nothing, because `require_round` has been called by the guard of
    the method that queued.
    """
    if not is_marked(s):
        return
    if s.queued == 0:
        raise RoundError(EMPTY)
    if s.queued > s.queue.shape[0]:
        raise RoundError(CROWDED)
    for i in range(s.queued):
        if s.queue[i] >= s.arms:
            raise RoundError(NO_ARM, int(s.queue[i]))
        for j in range(i):
            if s.queue[i] == s.queue[j]:
                raise RoundError(TWICE, int(s.queue[i]))


@in_kernels(check_round)
def _check_round(s: Any) -> Any:
    return lambda s: None


@kernel
def require_round(s: Record) -> None:
    """Raise a RoundError if the round cannot be played: `check_round` for compiled code."""
    if s.queued == 0:
        raise RoundError(EMPTY)
    if s.queued > s.queue.shape[0]:
        raise RoundError(CROWDED)
    for i in range(s.queued):
        if s.queue[i] >= s.arms:
            s.queued = i  # the message says which arm it was
            raise RoundError(NO_ARM)
        for j in range(i):
            if s.queue[i] == s.queue[j]:
                s.queued = i
                raise RoundError(TWICE)


def check_index(s: Record, index: Any) -> None:
    """Raise a RoundError if the index of an arm is not a number."""
    if is_marked(s):
        for k in range(s.arms):
            if index[k] != index[k]:
                raise RoundError(NOT_A_NUMBER, k)


@in_kernels(check_index)
def _check_index(s: Any, index: Any) -> Any:
    if not hasattr(s, "fields"):
        return None
    if "checked" not in s.fields:
        return lambda s, index: None

    def check(s: Any, index: Any) -> None:
        for k in range(s.arms):
            if index[k] != index[k]:
                s.queue[0] = k
                raise RoundError(NOT_A_NUMBER)

    return check


def note_method(s: Record, method: int) -> None:
    """Note that a part of a wrapper runs one of METHODS, or 0 when it has returned.

    For methods of what has no record with a header of its own, such as a detector.
    """


@in_kernels(note_method)
def _note_method(s: Any, method: Any) -> Any:
    if not hasattr(s, "fields"):
        return None
    if "checked" not in s.fields:
        return lambda s, method: None

    def note(s: Any, method: Any) -> None:
        s.end = method

    return note
