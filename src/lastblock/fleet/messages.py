"""The errors for fleets that a fork has made unusable, and for files that cannot be used."""

import os
from collections.abc import Sequence

from lastblock.engine.record_check import Damage
from lastblock.support.errors import StateFileError

NAMED = 3
"""The number of damaged records that an error names."""

SHARED = (
    "this fleet belongs to the process that opened {path}, and a forked process cannot use it; "
    "open the file after the fork, in one process, or start workers by spawn"
)
HALF_DONE = (
    "another thread was using this fleet when the process was forked, so its copy here is half "
    "done; fork while no batch is being worked on, or start workers by spawn"
)


def does_not_fit(path: str | os.PathLike[str], error: Exception) -> StateFileError:
    """Return the error for a file of another version."""
    return StateFileError(
        f"{path} does not fit this version of lastblock: {error}; "
        "open it with the version that made it"
    )


def is_corrupt(path: str | os.PathLike[str], damages: Sequence[Damage]) -> StateFileError:
    """Return the error for a file with damaged records."""
    return StateFileError(
        f"{path} is corrupt: {_in_words(damages)}; restore it from a copy, or open it "
        "with repair=True, which restarts these bandits and keeps the others"
    )


def _in_words(damages: Sequence[Damage]) -> str:
    """Return what is wrong with the first damaged records, and how many more there are."""
    named = "; ".join(f"in the record of bandit {i}, {what}" for i, what in damages[:NAMED])
    more = len(damages) - NAMED
    return named if more <= 0 else f"{named}; and in {more} more"
