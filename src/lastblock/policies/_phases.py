"""What the policies that know the environment share: the phases between its changes."""

from typing import Any

from lastblock.kit import kernel, whole


@kernel
def reached(starts: Any, t: int, phase: int) -> int:
    """Return the phase that contains time step `t`, given a phase at or before it."""
    while phase + 1 < len(starts) and t >= starts[phase + 1]:
        phase += 1
    return phase


def whole_numbers(values: Any, name: str) -> list[int]:
    """Return `values` as a list of whole numbers.

    Raises
    ------
    ValueError
        If they are not; the message has the argument's `name`.
    """
    try:
        items = list(values)
    except TypeError:
        raise ValueError(f"{name}={values!r} must be an environment or whole numbers") from None
    return [whole(item, name) for item in items]


def phase_starts(times: Any, name: str) -> tuple[int, ...]:
    """Return the first time step of every phase: 0 and the changes.

    Raises
    ------
    ValueError
        If the times are not whole numbers that increase.
    """
    changes = whole_numbers(times, name)
    if changes[:1] == [0]:
        del changes[0]
    if any(t < 1 for t in changes) or changes != sorted(set(changes)):
        raise ValueError(f"{name}={changes} must be increasing time steps, the first at least 1")
    return 0, *changes
