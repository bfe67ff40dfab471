"""Parameters from the horizon T and the number of changes Γ, as the papers give them."""

import math

from lastblock.protocol import whole


def garivier_window(*, horizon: int, changes: int) -> int:
    """⌊2√(T log T / Γ)⌋, the window of Garivier & Moulines (2011); the whole horizon if Γ = 0.

    >>> garivier_window(horizon=10_000, changes=2)
    429
    """
    horizon = whole(horizon, "horizon")
    changes = whole(changes, "changes")
    if horizon < 2:
        raise ValueError(f"horizon={horizon} must be at least 2 steps")
    if changes < 0:
        raise ValueError(f"changes={changes} must not be negative")
    if changes == 0:
        return horizon
    return max(2, math.floor(2.0 * math.sqrt(horizon * math.log(horizon) / changes)))
