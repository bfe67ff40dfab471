"""Refuse what Python goes through like a list, and nobody means as one."""


def refuse_unordered(value: object, name: str, of: str = "labels") -> None:
    """Raise a ValueError for a text, a set or a dictionary where a list is needed.

    Parameters
    ----------
    value
        What the user gave.
    name
        The name of the argument.
    of
        What the list is of, for the message.
    """
    if isinstance(value, str | bytes | set | frozenset | dict):
        raise ValueError(f"{name}={value!r} is a {type(value).__name__}; give a list of {of}")
