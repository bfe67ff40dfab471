"""Random streams that live in a record.

A stream is four unsigned words, the state of xoshiro256++ (Blackman & Vigna, 2021). All streams of
a run derive from one root: the user's seed becomes a key of four words through numpy's
`SeedSequence`, and the key, the number of the replication and a role are mixed into the state. A
stream therefore depends on nothing but (seed, replication, role): not on threads, chunks or order.
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
    """The key of a seed: anything `numpy.random.SeedSequence` takes, or None for a fresh one."""
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
    """The finaliser of splitmix64: a bijection that spreads every bit over the word."""
    word = (word ^ (word >> _30)) * _MIX_1
    word = (word ^ (word >> _27)) * _MIX_2
    return word ^ (word >> _31)


@routine
@wrapping
def seed_stream(stream: Stream, key: Stream, replication: int, role: int) -> None:
    """Derive the stream of one role in one replication."""
    tag = mix(np.uint64(replication) * _ROLES + np.uint64(role) + _GOLDEN)
    for word in range(STREAM_WORDS):
        stream[word] = mix(key[word] + tag * (np.uint64(word) * np.uint64(2) + _1))


@kernel
@wrapping
def expand(stream: Stream, draw: np.uint64) -> None:
    """Turn one draw into a stream, for samplers that need a random number of draws."""
    for word in range(STREAM_WORDS):
        draw += _GOLDEN
        stream[word] = mix(draw)


@kernel
@wrapping
def next_word(stream: Stream) -> np.uint64:
    """The next 64 random bits (xoshiro256++)."""
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
    """A uniform on [0, 1) from 64 random bits."""
    return float(word >> _11) * _ULP


@kernel
def to_open_unit(word: np.uint64) -> float:
    """A uniform on (0, 1), never an end, for quantile functions that are infinite there."""
    return (float(word >> _12) + 0.5) * (2.0 * _ULP)


@kernel
def uniform(stream: Stream) -> float:
    """A uniform on [0, 1)."""
    return to_unit(next_word(stream))


@kernel
def below(stream: Stream, n: int) -> int:
    """A uniform whole number in 0 … n − 1."""
    return int(to_unit(next_word(stream)) * n)
