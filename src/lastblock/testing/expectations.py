"""What a check says when it fails.

The checks do not use `assert`: Python drops such statements with the option -O, and only a test
runner would add what was seen.
"""

from collections.abc import Callable, Sequence
from typing import NoReturn


def fail(message: str) -> NoReturn:
    """Raise an AssertionError with this message."""
    __tracebackhide__ = True  # test runners show the check itself
    raise AssertionError(message)


def expect(holds: bool, message: str) -> None:
    """Raise an AssertionError with this message unless `holds`."""
    __tracebackhide__ = True
    if not holds:
        fail(message)


def expect_same(what: str, seen: Sequence[object], expected: Sequence[object]) -> None:
    """Raise an AssertionError that names the first place where two sequences differ."""
    __tracebackhide__ = True
    for i, (one, other) in enumerate(zip(seen, expected, strict=False)):
        if one != other:
            fail(f"{what}: first difference at {i}, {one!r} instead of {other!r}")
    expect(len(seen) == len(expected), f"{what}: {len(seen)} instead of {len(expected)}")


def expect_value_error(what: str, action: Callable[[], object], mention: str) -> None:
    """Raise an AssertionError unless `action` raises a ValueError that contains `mention`."""
    __tracebackhide__ = True
    try:
        action()
    except ValueError as error:
        if mention not in str(error):
            fail(f"{what}: the ValueError does not mention {mention!r}, it says {str(error)!r}")
    except Exception as error:
        raise AssertionError(
            f"{what}: raised {type(error).__name__} instead of a ValueError: {error}"
        ) from error
    else:
        fail(f"{what}: accepted; it must raise a ValueError that mentions {mention!r}")
