"""Errors to tell apart. Each is a ValueError and leaves the state as it was."""


class UnknownDecisionError(ValueError):
    """A reward for a decision that was never asked for, or that has been answered already."""


class StateFileError(ValueError):
    """A state file that is corrupt, truncated, foreign, or made by a newer version."""
