"""Random streams that are stored in records.

A stream is four unsigned 64-bit words, the state of xoshiro256++ (Blackman & Vigna, 2021). NumPy's
`SeedSequence` turns the user's seed into a key of four words. The state of each stream mixes this
key with the number of the replication and a role (`POLICY` or `ENVIRONMENT`). A stream therefore
depends on (seed, replication, role) only, and not on threads, chunks or the order of the work.
"""

from collections.abc import Sequence
from typing import TypeAlias

import numpy as np
import numpy.typing as npt

from lastblock.kernels.jit import kernel, routine, wrapping

Stream: TypeAlias = npt.NDArray[np.uint64]

Seed: TypeAlias = int | Sequence[int] | np.random.SeedSequence | None

POLICY = 0

ENVIRONMENT = 1

STREAM_WORDS = 4

_GOLDEN = np.uint64(0x9E3779B97F4A7C15)

_MIX_1 = np.uint64(0xBF58476D1CE4E5B9)

_MIX_2 = np.uint64(0x94D049BB133111EB)

_ROLES = np.uint64(2)

_1, _11, _12, _17, _19, _23, _27, _30, _31, _41, _45 = (
    np.uint64(shift) for shift in (1, 11, 12, 17, 19, 23, 27, 30, 31, 41, 45)
)

_ULP = 2.0**-53


def key_of(seed: Seed) -> Stream:
    """Return the key of four words for `seed`.

    Parameters
    ----------
    seed
        Anything that `numpy.random.SeedSequence` takes; None takes fresh entropy from the system.

    Raises
    ------
    ValueError
        If `seed` is none of these.
    """
    try:
        root = seed if isinstance(seed, np.random.SeedSequence) else np.random.SeedSequence(seed)
    except (TypeError, ValueError) as error:
        raise ValueError(
            f"seed={seed!r} cannot seed a random stream ({error}); "
            "give a whole number ≥ 0, a sequence of them, a numpy SeedSequence, or None"
        ) from None
    return root.generate_state(STREAM_WORDS, np.uint64).astype(np.uint64)


@kernel
@wrapping
def mix(word: np.uint64) -> np.uint64:
    """Return `word` after the finaliser of splitmix64, a bijection in which every bit counts."""
    word = (word ^ (word >> _30)) * _MIX_1
    word = (word ^ (word >> _27)) * _MIX_2
    return word ^ (word >> _31)


@routine
@wrapping
def seed_stream(stream: Stream, key: Stream, replication: int, role: int) -> None:
    """Fill `stream` with the initial state for this key, replication and role."""
    tag = mix(np.uint64(replication) * _ROLES + np.uint64(role) + _GOLDEN)
    for word in range(STREAM_WORDS):
        stream[word] = mix(key[word] + tag * (np.uint64(word) * np.uint64(2) + _1))


@kernel
@wrapping
def expand(stream: Stream, draw: np.uint64) -> None:
    """Fill `stream` with a state made from the word `draw`.

    For samplers that need a random number of words but may take only one from their environment.
    """
    for word in range(STREAM_WORDS):
        draw += _GOLDEN
        stream[word] = mix(draw)


@kernel
@wrapping
def next_word(stream: Stream) -> np.uint64:
    """Return the next 64 random bits and advance the stream (xoshiro256++)."""
    s0, s1, s2, s3 = stream[0], stream[1], stream[2], stream[3]
    total = s0 + s3
    result = ((total << _23) | (total >> _41)) + s0
    shifted = s1 << _17
    s2 ^= s0
    s3 ^= s1
    stream[1] = s1 ^ s2
    stream[0] = s0 ^ s3
    stream[2] = s2 ^ shifted
    stream[3] = (s3 << _45) | (s3 >> _19)
    return np.uint64(result)


@kernel
def to_unit(word: np.uint64) -> float:
    """Return a uniform number in [0, 1) made from 64 random bits."""
    return float(word >> _11) * _ULP


@kernel
def to_open_unit(word: np.uint64) -> float:
    """Return a uniform number in (0, 1), never 0 or 1, where quantile functions are infinite."""
    return (float(word >> _12) + 0.5) * (2.0 * _ULP)


@kernel
def uniform(stream: Stream) -> float:
    """Draw a uniform number in [0, 1)."""
    return to_unit(next_word(stream))


@kernel
def below(stream: Stream, n: int) -> int:
    """Draw a whole number from 0, …, n − 1, all equally likely."""
    return int(to_unit(next_word(stream)) * n)
