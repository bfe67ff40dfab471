"""The package's own errors. Each is a ValueError, and leaves the state as it was."""

_LONGEST = 60


def short(value: object, longest: int = _LONGEST) -> str:
    """Return a text of at most `longest` characters for any value, for use in a message."""
    try:
        text = repr(value)
    except Exception:  # an int of thousands of digits, or a user's class, may have no repr
        return f"a {type(value).__name__}"
    return text if len(text) <= longest else f"{text[:longest]}…"


UNREADABLE = (
    ArithmeticError,
    AttributeError,
    LookupError,
    MemoryError,
    RecursionError,
    TypeError,
    ValueError,
)
"""The errors that reading a forged file may raise: its checksum fits, its contents do not."""


class UnknownDecisionError(ValueError):
    """Raised for a decision that was never asked for, or has been told or forgotten already."""


class TokenError(UnknownDecisionError):
    """Raised for a token that is damaged or forged, or of another store, bandit or decision."""


class SettledDecisionError(UnknownDecisionError):
    """Raised for a decision that has its reward, or waits for none any more.

    Parameters
    ----------
    message
        What happened, and what to do.
    outcome
        "told", "closed" or "forgotten" by its token; None if this is not known.
    reward
        The reward that the policy was told; None if there was none, or it is not remembered.
    """

    def __init__(
        self, message: str, *, outcome: str | None = None, reward: float | None = None
    ) -> None:
        super().__init__(message)
        self.outcome, self.reward = outcome, reward


class ToldOtherwiseError(SettledDecisionError):
    """Raised if a decision was told another reward before; `reward` is that one."""


class ExpiredDecisionError(SettledDecisionError):
    """Raised for the token of a decision that expired, or was closed, before its reward came."""


class KeyReusedError(ValueError):
    """Raised if a key that belongs to one request comes with a different one."""


class StateFileError(ValueError):
    """Raised for a state that is damaged, was made by a newer version, or is something else."""


class ScenarioError(ValueError):
    """Raised for a scenario with a mistake; the message says what and where, and what to write."""


class ResultError(ValueError):
    """Raised for results that are missing, damaged, or of another version."""


class StoreError(ValueError):
    """Raised if a store cannot be opened, read or written, or one of its bandits cannot be had."""


class BanditInUseError(StoreError):
    """Raised if another process, or another store of this one, has the bandit open."""


class PolicyError(ValueError):
    """Raised for a mistake in a policy, detector or arm family from outside the package.

    The message names the class, its method and, where they are known, the arm and the round. What
    the compiler said is in the attribute ``__context__``.
    """
