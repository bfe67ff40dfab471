"""What a live bandit hands out."""

from bisect import bisect_right
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Generic, NamedTuple

from lastblock.live.labels import L
from lastblock.support.errors import UnknownDecisionError, short

TAG_BITS, TAGS = 40, 1 << 13
"""An id is the number of a decision (0, 1, 2, …), plus 2⁴⁰ times the tag of its generation: the
generation modulo 2¹³. So ids stay below 2⁵³, and floats and other languages can hold them."""


@dataclass(slots=True)
class Decision(Generic[L]):
    """An arm to pull, and the number under which its reward is reported.

    It cannot be hashed; to keep decisions in a dictionary, take their `id` as the key.
    """

    # Not a named tuple, nor frozen: those take a tenth of ask and tell to make and to read. What
    # can be changed must not be hashed: a dictionary would lose it.

    arm: L
    id: int
    probability: float | None = None
    """With which the arm was chosen, where a traffic floor makes it known."""

    def __iter__(self) -> Iterator[Any]:
        return iter((self.arm, self.id, self.probability))


class Pending(NamedTuple, Generic[L]):
    """A decision whose reward is still out."""

    arm: L
    id: int
    probability: float | None
    age: int
    """Decisions asked for since."""


def never_asked(id: object) -> UnknownDecisionError:
    """What to say to an id that was never given."""
    return UnknownDecisionError(f"decision {short(id)} was never asked for; tell what ask() gave")


class Generations:
    """In which generation each decision was asked for: what ids are made of.

    A store's bandit enters a new generation whenever it is opened. Decisions that a crash has lost
    have numbers that are given again, but in another generation. Any other bandit lives in
    generation 0, where ids are numbers.

    Parameters
    ----------
    begun
        The first decision of each generation that is known, and the generation; in order.
    """

    def __init__(self, begun: Sequence[tuple[int, int]] = ((0, 0),)) -> None:
        if not begun:
            raise ValueError("there must be a generation")
        self._firsts = [first for first, _ in begun]
        self._tags = [(generation % TAGS) << TAG_BITS for _, generation in begun]
        self.first = self._firsts[-1]
        """The first decision of the latest generation."""
        self._generation = begun[-1][1]
        self.tag = self._tags[-1]
        """What its ids have more than their numbers."""

    def id_of(self, number: int) -> int:
        """The id of a decision that was asked for."""
        return number + self._tags[max(0, bisect_right(self._firsts, number) - 1)]

    def number_of(self, id: int) -> int:
        """The number of the decision with this id, or an error if that is another one's by now."""
        if id < 0:
            return id
        tag, number = id >> TAG_BITS << TAG_BITS, id % (1 << TAG_BITS)
        if number < self._firsts[0] or tag == self.id_of(number) - number:
            return number
        if tag == self.tag or tag >> TAG_BITS >= min(TAGS, self._generation):
            raise never_asked(id)
        raise UnknownDecisionError(
            f"decision {id} was lost: it was asked for before the bandit was opened again, and a "
            "crash came before it was written; drop its reward"
        )
