"""Batches of decisions and rewards for many bandits: the only loops over a fleet.

A batch is put in order first: the work of one thread is a list of words, each the number of a
bandit and, below it, a position in the batch, in increasing order. So whatever concerns one bandit
is done by one thread, one after the other as it stands in the batch, and the result does not depend
on the number of threads. It is fast, too: a fleet is much larger than any cache, and records that
are visited in the order in which they lie in memory come sooner. Which one is needed next is known,
so that the processor is told some time before.

Checks read and never write: all of a batch is checked before any of it is done.

A record is sealed (see `seals`) after the last of its words. `touched` has a flag for each block of
neighbours in memory: whether one of them has been changed since the file was flushed; `sealed` is
how many words of a record are sealed each time.
"""

from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from lastblock.core.protocol import Policy, States
from lastblock.core.rounds import begin, lose_arm, next_arm, reward_arm
from lastblock.kernels.jit import entry, kernel
from lastblock.kernels.record_memory import fetch
from lastblock.kernels.seals import (
    ALL_SEALED,
    BEGINNING_SEALED,
    Memory,
    break_seal,
    digest,
    kind_of,
    seal_beginning,
)
from lastblock.kernels.streams import Stream

Words: TypeAlias = npt.NDArray[np.uint64]
Numbers: TypeAlias = npt.NDArray[np.int64]
Flags: TypeAlias = npt.NDArray[np.uint8]

NOWHERE = 1 << 32
"""No position: larger than any."""

DIGIT_BITS = 11
"""Digits of a radix sort: the counts of all digits stay in the fastest cache."""

AHEAD = 8
"""How many words before its turn the record of one is fetched."""

BEHIND = 4
"""How many words after its turn a record is sealed: what has just been written is slow to read."""

BLOCK = 64
"""Neighbours in memory, which belong to the same thread."""

_BLOCK = np.uint64(BLOCK.bit_length() - 1)
_32 = np.uint64(32)
_POSITION = np.uint64(NOWHERE - 1)


@kernel
def bandit_of(word: np.uint64) -> Any:
    """The number of the bandit."""
    return word >> _32


@kernel
def position_of(word: np.uint64) -> Any:
    """The position in the batch."""
    return word & _POSITION


@entry
def sort_own(
    ids: Numbers, owner: int, owners: int, bits: int, words: Words, spare: Words, counts: Numbers
) -> int:
    """The words of the bandits that belong to one owner, in order; returns how many.

    `ids` have at most so many `bits`; `words` and `spare` have room for one word more than there
    are ids.
    """
    n = 0
    last = np.uint64(0)
    sorted_already: Any = True
    for p in range(ids.shape[0]):
        word = (np.uint64(ids[p]) << _32) | np.uint64(p)
        # Without a branch, since nobody could predict it.
        words[n] = word
        mine = owners == 1 or (word >> (_32 + _BLOCK)) % np.uint64(owners) == np.uint64(owner)
        sorted_already &= not mine or word >= last
        last = word if mine else last
        n += mine
    if sorted_already:
        return n
    digits = (bits + DIGIT_BITS - 1) // DIGIT_BITS
    width = np.uint64((bits + digits - 1) // digits)
    mask = (np.uint64(1) << width) - np.uint64(1)
    shift = _32
    for digit in range(digits):
        if digit % 2 == 0:
            _sort_digit(words, spare, n, shift, mask, counts)
        else:
            _sort_digit(spare, words, n, shift, mask, counts)
        shift += width
    if digits % 2 == 1:
        for j in range(n):
            words[j] = spare[j]
    return n


@kernel
def _sort_digit(
    words: Words, ordered: Words, n: int, shift: np.uint64, mask: np.uint64, counts: Numbers
) -> None:
    """A stable counting sort by one digit."""
    for value in range(counts.shape[0]):
        counts[value] = 0
    for j in range(n):
        counts[(words[j] >> shift) & mask] += 1
    before = 0
    for value in range(counts.shape[0]):
        count = counts[value]
        counts[value] = before
        before += count
    for j in range(n):
        value = (words[j] >> shift) & mask
        ordered[counts[value]] = words[j]
        counts[value] += 1


@kernel
def _foresee(states: States, words: Words, j: int) -> None:
    """Have the record of a later word fetched."""
    if j < words.shape[0]:
        fetch(states, bandit_of(words[j]))


@kernel
def _is_last(words: Words, j: int) -> bool:
    """Whether no later word is for the same bandit."""
    return bool(j + 1 == words.shape[0] or bandit_of(words[j + 1]) != bandit_of(words[j]))


@kernel
def _done(
    states: States, memory: Memory, touched: Flags, sealed: int, words: Words, j: int
) -> None:
    """A word has been worked on, some words ago."""
    if j >= 0 and _is_last(words, j):
        i = bandit_of(words[j])
        seal_beginning(states[i], memory, sealed, i)
        touched[i >> _BLOCK] = 1


@entry
def ask_own(
    policy: Policy,
    states: States,
    memory: Memory,
    touched: Flags,
    sealed: int,
    arms: int,
    key: Stream,
    words: Words,
    decisions: Numbers,
) -> None:
    """A decision for each word; a bandit that nobody has asked before is started."""
    for j in range(words.shape[0]):
        _foresee(states, words, j + AHEAD)
        i = bandit_of(words[j])
        s = states[i]
        break_seal(s)
        if s.round == 0:
            begin(policy, s, arms, key, i)
        decisions[position_of(words[j])] = next_arm(policy, s)
        _done(states, memory, touched, sealed, words, j - BEHIND)
    for j in range(words.shape[0] - BEHIND, words.shape[0]):
        _done(states, memory, touched, sealed, words, j)


@entry
def first_unasked(states: States, words: Words, arms: Numbers, tally: Numbers) -> int:
    """The first position whose decision is not out, taking repeated ones into account; or NOWHERE.

    `tally` has a zero for each arm, before and afterwards.
    """
    first: Any = NOWHERE
    j = 0
    while j < words.shape[0]:
        i = bandit_of(words[j])
        end = _end_of_run(words, j)
        _foresee(states, words, j + AHEAD)
        for q in range(j, end):
            p = position_of(words[q])
            tally[arms[p]] += 1
            if tally[arms[p]] > states[i].unanswered[arms[p]]:
                first = min(first, np.int64(p))
        for q in range(j, end):
            tally[arms[position_of(words[q])]] = 0
        j = end
    return int(first)


@kernel
def _end_of_run(words: Words, j: int) -> int:
    """Where the words of the same bandit end."""
    end = j + 1
    while end < words.shape[0] and bandit_of(words[end]) == bandit_of(words[j]):
        end += 1
    return end


@entry
def first_without_room(
    policy: Any,
    states: States,
    scratch: States,
    words: Words,
    arms: Numbers,
    rewards: npt.NDArray[np.float64],
) -> int:
    """The first position whose reward does not fit into its record, or NOWHERE.

    Several rewards of one bandit are tried out on a copy.
    """
    first: Any = NOWHERE
    j = 0
    while j < words.shape[0]:
        i = bandit_of(words[j])
        end = _end_of_run(words, j)
        if end > j + 1:
            scratch[0] = states[i]
        for q in range(j, end):
            p = position_of(words[q])
            s = states[i] if end == j + 1 else scratch[0]
            if policy.full(s, arms[p]):
                first = min(first, np.int64(p))
            elif end > j + 1:
                reward_arm(policy, s, arms[p], rewards[p])
        j = end
    return int(first)


@entry
def tell_own(
    policy: Policy,
    states: States,
    memory: Memory,
    touched: Flags,
    sealed: int,
    words: Words,
    arms: Numbers,
    rewards: npt.NDArray[np.float64],
) -> None:
    """A reward for each word."""
    for j in range(words.shape[0]):
        _foresee(states, words, j + AHEAD)
        p = position_of(words[j])
        s = states[bandit_of(words[j])]
        break_seal(s)
        reward_arm(policy, s, arms[p], rewards[p])
        _done(states, memory, touched, sealed, words, j - BEHIND)
    for j in range(words.shape[0] - BEHIND, words.shape[0]):
        _done(states, memory, touched, sealed, words, j)


@entry
def forget_own(
    states: States, memory: Memory, touched: Flags, sealed: int, words: Words, arms: Numbers
) -> None:
    """A decision for each word whose reward will never come."""
    for j in range(words.shape[0]):
        s = states[bandit_of(words[j])]
        break_seal(s)
        lose_arm(s, arms[position_of(words[j])])
        _done(states, memory, touched, sealed, words, j)


@entry
def seal_all(memory: Memory, size: int, touched: Flags, first: int, end: int) -> None:
    """Seal the whole of each record that has been changed, in these blocks.

    `memory` are all records of the fleet, of `size` words each.
    """
    bandits = memory.shape[0] // size
    for block in range(first, end):
        if touched[block]:
            for i in range(BLOCK * block, min(BLOCK * (block + 1), bandits)):
                record = i * size
                if kind_of(memory[record]) == BEGINNING_SEALED:
                    memory[record] = digest(memory, record, size, i) | ALL_SEALED
            touched[block] = 0
