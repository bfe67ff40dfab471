"""A shadow: the policy decides and learns, and another arm is served.

What is served is a decision of a bandit of its own, so that its token says that it was served in
the policy's place, whenever the reward comes. The policy's decision is logged and forgotten; the
reward is told to it as an observation of the arm that was served.
"""

from typing import Any

from lastblock.live.decisions import TAG_BITS, Decision
from lastblock.live.hooks import BanditEvent
from lastblock.live.labels import Label
from lastblock.live.view import desk_of
from lastblock.serve.hosted import Hosted
from lastblock.serve.messages import NewDecision


class Shadow(Hosted):
    """The bandit whose decisions are served in place of those of another one."""

    def join(self, parent: Hosted | None) -> None:
        """Belong to a bandit, and let it learn what is told from now on."""
        self.parent = parent
        if parent is not None:
            parent.shadows[self.notes["shadows"]] = self
            self.bandit.on_event(self._learn)

    @property
    def decider(self) -> Hosted | None:
        """The bandit that decides; None if it has been deleted."""
        return next(
            (each for each in self.family.members if each.name == self.notes["shadows"]), None
        )

    def _learn(self, event: BanditEvent[Any]) -> None:
        decider = self.decider
        if event.kind != "tell" or decider is None or event.arm is None or event.value is None:
            return
        if decider.bandit.arms.get(event.arm, "retired") != "retired":
            decider.observe([event.arm], [event.value])

    @property
    def shown_segment(self) -> str | None:
        """The segment whose bandit decides; None for the one that all others share."""
        return None if self.decider is None else self.decider.segment

    def _served(self, wanted: NewDecision) -> NewDecision:
        served = self.family.notes.get("shadow") or {"serve": None}
        among = [served["serve"]] if served["serve"] is not None else None
        return NewDecision(n=wanted.n, among=among)

    def check_ask(self, wanted: NewDecision, key: str | None) -> None:
        """Raise an error if `ask` would."""
        super().check_ask(self._served(wanted), key)
        if self.decider is not None:
            self.decider.check_ask(wanted, key)

    def ask(self, wanted: NewDecision, key: str | None) -> list[Decision[Label]]:
        """Let the policy decide, note that, and return what is served instead."""
        self.check_ask(wanted, key)
        self.chosen = []
        decider = self.decider
        if decider is not None:
            self.chosen = decider.ask(wanted, key)
            for decision in self.chosen:
                if decision.id % (1 << TAG_BITS) in desk_of(decider.bandit).out:
                    decider.bandit.forget(decision)
        return super().ask(self._served(wanted), key)
