"""The part of a live bandit that changes its traffic floors."""

from collections.abc import Mapping

from lastblock.live.changing_arms import ChangesArms
from lastblock.live.floor_events import floors_event
from lastblock.live.labels import L, check_floor


class HasFloors(ChangesArms[L]):
    """The part of a live bandit that changes its traffic floors."""

    def set_floors(self, floor: float | Mapping[L, float] | None) -> None:
        """Replace the traffic floors from the next decision on.

        Decisions that are out keep the probability that they were taken with.

        Parameters
        ----------
        floor
            As for `Bandit`: a share for some arms, or one for every arm including those added
            later; None for no floors. An arm that is not named has none, also if it had one.

        Raises
        ------
        ValueError
            If an arm is not active, a share does not lie between 0 and 1, or their sum exceeds 1.
            The floors stay as they were then.
        """
        desk = self._desk
        with desk.lock:
            desk.settle()
            shares = check_floor(floor, desk.active)
            of_all = shares[0] if shares and not isinstance(floor, Mapping) else None
            event = floors_event(shares, of_all, desk.numbers)
            live = desk.live.with_floors(shares)
            desk.log([event], desk.set_floors, live, of_all)
