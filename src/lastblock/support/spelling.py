"""Suggest the name that a user meant to write."""

import re
from collections.abc import Collection


def nearest(name: str, options: Collection[str]) -> str | None:
    """Return the option most similar to `name`, or None; case and punctuation do not matter."""
    from difflib import get_close_matches  # noqa: PLC0415  # only a mistake needs it

    plain = {re.sub(r"[\W_]", "", option).lower(): option for option in options}
    found = get_close_matches(re.sub(r"[\W_]", "", name).lower(), plain, n=1)
    return plain[found[0]] if found else None


def advice(name: str, options: Collection[str]) -> str:
    """Return advice on what to write instead of `name`, for use in a message."""
    near = nearest(name, options)
    if near is not None:
        return f"did you mean {near!r}?"
    return f"choose from {', '.join(options)}" if options else "leave it out"
