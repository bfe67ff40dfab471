"""The part of a live bandit whose arms come, go and pause."""

from typing import cast

from lastblock.live.eligibility import check_resizable
from lastblock.live.labels import L, check_label
from lastblock.live.restoring import Restorable


class ChangesArms(Restorable[L]):
    """The part of a live bandit whose arms come, go and pause."""

    def add_arm(self, label: L) -> None:
        """Add an arm. It is pulled once before the next round; from then on the policy decides.

        Parameters
        ----------
        label
            A new label. The labels of retired arms cannot be used again.

        Raises
        ------
        ValueError
            If the label is not new, or the policy cannot play one more arm.
        """
        label = cast(L, check_label(label))
        with self._desk.lock:
            self._desk.settle()
            self._desk.add_arm(label)

    def retire_arm(self, label: L) -> None:
        """Never pull this arm again. Rewards of its pending decisions are accepted and ignored.

        Parameters
        ----------
        label
            The label of an active arm.

        Raises
        ------
        ValueError
            If the arm is not active, or too few arms would be left.
        """
        with self._desk.lock:
            self._desk.settle()
            self._desk.retire_arm(self._desk.find_arm(label))

    def pause_arm(self, label: L) -> None:
        """Take no decision for this arm until `resume_arm`. It keeps its past.

        Rewards of its pending decisions count as always. The other arms go on as if this one had
        been retired, except that a turn that it has in the current round is only postponed.

        Parameters
        ----------
        label
            The label of an active arm. All arms may be paused; then `ask` raises an error.

        Raises
        ------
        ValueError
            If the arm is paused already, was retired or never existed.
        """
        desk = self._desk
        with desk.lock:
            desk.settle()
            number = desk.numbers[desk.find_arm(label)]
            if label in desk.paused:
                raise ValueError(f"arm {label!r} is paused already")
            check_resizable(self.policy, max(2, len(desk.active) - 1))
            desk.log([("pause_arm", None, number, None)], desk.pause, label)

    def resume_arm(self, label: L) -> None:
        """Take decisions for a paused arm again, with all that was learnt about it.

        Parameters
        ----------
        label
            The label of a paused arm.

        Raises
        ------
        ValueError
            If the arm is not paused.
        """
        desk = self._desk
        with desk.lock:
            desk.settle()
            number = desk.numbers[desk.find_arm(label)]
            if label not in desk.paused:
                paused = [each for each in desk.active if each in desk.paused]
                raise ValueError(f"arm {label!r} is not paused; the paused arms are {paused}")
            desk.log([("resume_arm", None, number, None)], desk.resume, label)
