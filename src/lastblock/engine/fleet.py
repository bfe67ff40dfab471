"""Batches of decisions and rewards for many bandits: the loops over a fleet.

A batch is sorted first. The work of one thread is a list of words in increasing order; the upper
half of a word is the number of a bandit, the lower half a position in the batch. So one thread does
everything that concerns one bandit, in the order of the batch, and the result does not depend on
the number of threads. This is also fast: a fleet is much larger than any cache, and records load
sooner when visited in the order in which they lie in memory. Since we know which record comes next,
we tell the processor to fetch it some time before.

Checks never write, and the whole batch is checked before any part of it is done.
"""

from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from lastblock.core.protocol import Policy, States
from lastblock.core.rounds import begin, lose_arm, next_arm, reward_arm
from lastblock.kernels.jit import entry, kernel
from lastblock.kernels.record_memory import fetch
from lastblock.kernels.streams import Stream

Words: TypeAlias = npt.NDArray[np.uint64]
Numbers: TypeAlias = npt.NDArray[np.int64]

NOWHERE = 1 << 32
"""Stands for no position, and is larger than any."""

DIGIT_BITS = 11
"""The bits of a digit in the radix sort: few enough for the counts to stay in the fastest cache."""

AHEAD = 8
"""A record is fetched this number of words before its turn."""

BLOCK = 64
"""The number of records in a block: neighbours in memory, which the same thread handles."""

_BLOCK = np.uint64(BLOCK.bit_length() - 1)
_32 = np.uint64(32)
_POSITION = np.uint64(NOWHERE - 1)


@kernel
def bandit_of(word: np.uint64) -> Any:
    """Return the number of the bandit."""
    return word >> _32


@kernel
def position_of(word: np.uint64) -> Any:
    """Return the position in the batch."""
    return word & _POSITION


@entry
def sort_own(
    ids: Numbers, owner: int, owners: int, bits: int, words: Words, spare: Words, counts: Numbers
) -> int:
    """Fill `words`, in order, with the words of the bandits of one owner; return how many.

    Each of `ids` has at most `bits` bits; `words` and `spare` have room for one word more than
    there are ids.
    """
    n = 0
    last = np.uint64(0)
    sorted_already: Any = True
    for p in range(ids.shape[0]):
        word = (np.uint64(ids[p]) << _32) | np.uint64(p)
        # There is no branch here, since the processor could not predict it.
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
    """Sort words by one digit into `ordered`, by counting; equal digits keep their order."""
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
    """Tell the processor to fetch the record of word `j`, which comes later."""
    if j < words.shape[0]:
        fetch(states, bandit_of(words[j]))


@entry
def ask_own(
    policy: Policy,
    states: States,
    arms: int,
    key: Stream,
    words: Words,
    decisions: Numbers,
) -> None:
    """Take a decision for each word; start the bandits that nobody has asked before."""
    for j in range(words.shape[0]):
        _foresee(states, words, j + AHEAD)
        i = bandit_of(words[j])
        s = states[i]
        if s.round == 0:
            begin(policy, s, arms, key, i)
        decisions[position_of(words[j])] = next_arm(policy, s)


@entry
def first_unasked(states: States, words: Words, arms: Numbers, tally: Numbers) -> int:
    """Return the first position whose decision is not out, or NOWHERE.

    Repeated decisions of a bandit for an arm are counted. `tally` has a zero for each arm, before
    and afterwards.
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
    """Return the place after the last word of the bandit of word `j`."""
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
    """Return the first position whose reward does not fit into its record, or NOWHERE.

    Several rewards of one bandit are tried on a copy of its record.
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
    words: Words,
    arms: Numbers,
    rewards: npt.NDArray[np.float64],
) -> None:
    """Learn a reward for each word."""
    for j in range(words.shape[0]):
        _foresee(states, words, j + AHEAD)
        p = position_of(words[j])
        reward_arm(policy, states[bandit_of(words[j])], arms[p], rewards[p])


@entry
def forget_own(states: States, words: Words, arms: Numbers) -> None:
    """Drop, for each word, a decision whose reward will never come."""
    for j in range(words.shape[0]):
        lose_arm(states[bandit_of(words[j])], arms[position_of(words[j])])
