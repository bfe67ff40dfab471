"""What the three algorithms share: rounds, the leader, means."""

from dataclasses import dataclass
from fractions import Fraction
from math import fsum
from typing import ClassVar

from oracle.twin import Twin


@dataclass
class Round:
    """What happened in a round, for the tests of invariants."""

    leader: int | None
    arms: list
    flagged: list


class Oracle(Twin):
    """Pulls round after round; a subclass says which arms, and takes in the rewards."""

    PER_ARM: ClassVar = {"history": lambda self: []}
    """The lists that have an entry for each arm, and what an arm gets."""

    reference = False
    round = 0  # the paper's r: the round being planned, then pulled
    leader = None

    def begin(self):
        self.queue, self.rounds = [], []
        self.handed_out = []  # of the arms that had a turn, those since the last plan
        self.present = list(range(self.arms))  # the arms that can be chosen now
        for name, new in self.PER_ARM.items():
            setattr(self, name, [new(self) for _ in self.present])

    def held(self, k):
        return self.history[k]

    def tell(self, arm, reward):
        self.history[arm].append(reward)

    def ask(self, without=()):
        """The next arm, none of those `without`: these keep their turns until they are back."""
        self.present = [k for k in range(self.arms) if k not in without]
        if self.round == 0:
            self.begin_round()
        if len(self.present) == 1:  # nothing to decide
            (arm,) = self.present
            if arm in self.queue:
                self.queue.remove(arm)
                self.handed_out.append(arm)
            return arm
        if not any(k in self.present for k in self.queue):
            self.begin_round()
        arm = next(k for k in self.queue if k in self.present)
        self.queue.remove(arm)
        self.handed_out.append(arm)
        return arm

    def begin_round(self):
        self.round += 1
        flagged = []
        if self.round == 1:
            chosen = list(range(self.arms))
        else:
            if self.leader not in self.present:
                self.leader = None
            self.handed_out = [k for k in self.handed_out if k in self.present]
            chosen, flagged = self.plan()
            if len(chosen) == 0:
                chosen = [self.leader]
        self.rounds.append(Round(self.leader, chosen, flagged))
        self.handed_out = []
        new = list(chosen)
        # The authors' code goes through the first round in order.
        if self.round > 1 or not self.reference:
            self.stream.shuffle(new)
        self.queue += new

    def add_arm(self):
        """One more arm, pulled at the end of the round."""
        for name, new in self.PER_ARM.items():
            getattr(self, name).append(new(self))
        self.queue.append(self.arms)
        self.rounds[-1].arms.append(self.arms)
        self.arms += 1

    def retire_arm(self, arm):
        """One arm less: nothing that remains knows of it."""
        for name in self.PER_ARM:
            del getattr(self, name)[arm]
        self.arms -= 1
        self.leader = moved(self.leader, arm)
        self.queue = [moved(k, arm) for k in self.queue if k != arm]
        self.handed_out = [moved(k, arm) for k in self.handed_out if k != arm]
        for past in self.rounds:
            past.leader = moved(past.leader, arm)
            past.arms = [moved(k, arm) for k in past.arms if k != arm]
            past.flagged = [moved(k, arm) for k in past.flagged if k != arm]

    def against(self, leader, n):
        """The leader's block in a duel with an arm that holds n rewards."""
        return last(self.held(leader), n)

    def most_pulled(self, candidates, pulls, rewards):
        """The arm pulled most, then that with the largest sum of rewards, then any of them.

        With the authors' choices the old leader stays if it is one of them.
        """
        most = max(pulls[k] for k in candidates)
        tied = [k for k in candidates if pulls[k] == most]
        if len(tied) > 1:
            largest = max(fsum(rewards[k]) for k in tied)
            tied = [k for k in tied if fsum(rewards[k]) == largest]
        if self.reference and self.leader in tied:
            return self.leader
        return self.one_of(tied)


def moved(arm, gone):
    """The number of an arm after another one is gone; None for the one that is."""
    if arm is None or arm == gone:
        return None
    return arm - 1 if arm > gone else arm


def mean(rewards):
    return Fraction(fsum(rewards)) / len(rewards)


def last(rewards, n):
    """The last block: n rewards, or all if there are fewer."""
    return rewards[max(0, len(rewards) - n) :]
