"""Errors to tell apart. Each is a ValueError and leaves the state as it was."""

_LONGEST = 60


def short(value: object) -> str:
    """A value in a message, whatever it is."""
    try:
        text = repr(value)
    except Exception:  # a whole number of thousands of digits, or somebody's own class
        return f"a {type(value).__name__}"
    return text if len(text) <= _LONGEST else f"{text[:_LONGEST]}…"


UNREADABLE = (
    ArithmeticError,
    AttributeError,
    LookupError,
    MemoryError,
    RecursionError,
    TypeError,
    ValueError,
)
"""What reading a file may raise whose contents are not what its checksum promises."""


class UnknownDecisionError(ValueError):
    """A reward for a decision that was never asked for, or that has been answered already."""


class StateFileError(ValueError):
    """A state file that is corrupt, truncated, foreign, or made by a newer version."""


class ScenarioError(ValueError):
    """A scenario that cannot be: what is wrong, where, and what would be right."""


class ResultError(ValueError):
    """Results that are missing, damaged, or of another version."""


class StoreError(ValueError):
    """A store that cannot be opened, read or written, or a bandit that is not to be had there."""
