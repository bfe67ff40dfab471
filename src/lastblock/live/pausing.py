"""The part of a live bandit that pauses arms and resumes them."""

from lastblock.live.eligibility import check_resizable
from lastblock.live.labels import L
from lastblock.live.restoring import Restorable


class Pausable(Restorable[L]):
    """The part of a live bandit that pauses arms and resumes them."""

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
