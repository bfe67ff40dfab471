"""Errors to tell apart. Each is a ValueError and leaves the state as it was."""


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
