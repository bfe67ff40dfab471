"""Seals: whether a record is as the last kernel left it.

A record of a fleet begins with a word that says what is known about the rest. A kernel that changes
the record writes BUSY first and, when it is done, a checksum of the beginning of the record, which
is in the fastest cache then: counters, sums, the random stream. The rewards that lie further back
are sealed when a file is flushed or closed: the checksum is then one of the whole record. The last
two bits say which it is.

Checksums are made to find damage, not malice: the sum of all words, which any single changed word
changes, and one of words that are masked by their place, so that swapped ones show, too. The number
of the bandit is part of it. Records of the first file format have no seal, and code compiled for
them has no trace of it.
"""

from typing import Any

import numpy as np
import numpy.typing as npt

from lastblock.kernels.fences import fence
from lastblock.kernels.jit import entry, in_kernels, kernel, wrapping
from lastblock.kernels.streams import mix

RecordWords = npt.NDArray[np.uint64]

WORD = 8
BEGINNING = 512
"""Bytes of a record that are sealed with every change: the large fields come last."""

NO_SEAL, BUSY, BEGINNING_SEALED, ALL_SEALED = (np.uint64(kind) for kind in range(4))
_KIND = np.uint64(3)
_GOLDEN = np.uint64(0x9E3779B97F4A7C15)
_32 = np.uint64(32)


@kernel
def kind_of(seal: np.uint64) -> Any:
    """Return what a seal covers: one of NO_SEAL, BUSY, BEGINNING_SEALED and ALL_SEALED."""
    return seal & _KIND


@kernel
@wrapping
def checksum(memory: RecordWords, record: int, words: int, number: int) -> Any:
    """Return a checksum of the first words of a record without its seal; its last two bits are 0.

    The loop becomes a few vector instructions: unsigned places need no test for negative ones, and
    a number of words that the compiler does not know keeps it from writing out every step.
    """
    start = np.uint64(record)
    seal = memory[start]
    total = np.uint64(number) - seal
    placed = np.uint64(0) - seal
    mask = np.uint64(0)
    for i in range(words):
        word = memory[start + np.uint64(i)]
        total += word
        placed += word ^ mask
        mask += _GOLDEN
    # A changed word changes both sums, and often by the same bit: spread one of them.
    total *= _GOLDEN
    total ^= total >> _32
    return mix(total + placed) & ~_KIND


@entry
def checksum_of(memory: RecordWords, record: int, words: int, number: int) -> Any:
    """Return the same number as `checksum`, in a form that Python code can call."""
    return checksum(memory, record, words, number)


def sealed_words(itemsize: int) -> int:
    """Return how many words of a record of `itemsize` bytes are sealed with every change."""
    return min(itemsize, BEGINNING) // WORD


def break_seal(s: Any) -> None:
    """Mark a record as being changed; call this before the change. Without a seal, do nothing."""
    if "seal" in s.dtype.names:
        s.seal = BUSY


def seal_beginning(s: Any, memory: RecordWords, words: int, number: int) -> None:
    """Seal the first `words` words of a record that has been changed. Without a seal, do nothing.

    `memory` holds all records of the fleet, and `number` says which of them `s` is.
    """
    if "seal" in s.dtype.names:
        found = checksum_of(memory, number * (s.dtype.itemsize // WORD), words, number)
        s.seal = np.uint64(found) | BEGINNING_SEALED


@in_kernels(break_seal)
def _break_seal(s: Any) -> Any:
    """Return the `break_seal` of kernels: code that does nothing if the record has no seal."""
    if not hasattr(s, "fields"):
        return None

    def mark(s: Any) -> None:
        s.seal = BUSY
        fence()

    return mark if "seal" in s.fields else lambda s: None


@in_kernels(seal_beginning)
def _seal_beginning(s: Any, memory: Any, words: Any, number: Any) -> Any:
    """Return the `seal_beginning` of kernels: code that does nothing if there is no seal."""
    if not hasattr(s, "fields"):
        return None
    stride = s.size // WORD

    def seal(s: Any, memory: Any, words: Any, number: Any) -> None:
        fence()
        s.seal = checksum(memory, int(number) * stride, words, number) | BEGINNING_SEALED

    return seal if "seal" in s.fields else lambda s, memory, words, number: None
