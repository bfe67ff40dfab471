"""SW-LB-SDA: algorithm 2 of the paper, with the leader and the flags as section 4 defines them.

The text counts N_k^τ(r) over the rounds r − τ + 1 … r; the box drops a round one step earlier. We
follow the text.
"""

from math import ceil, log, sqrt
from typing import ClassVar

from oracle.rounds import Oracle, last, mean, moved


class SWLBSDA(Oracle):
    # The authors' bookkeeping of the flags, in finished rounds.
    PER_ARM: ClassVar = {"last_drawn": lambda self: self.round - 1 if self.round else 1}
    changed_leader = 0

    def plan(self):
        recent = self.recent()  # what the window holds of each arm
        pulls = [len(rewards) for rewards in recent]
        before = self.leader
        self.leader = self.most_pulled(self.candidates(pulls), pulls, recent)
        if self.leader != before:
            self.changed_leader = self.round - 1
        chosen, flagged = [], []
        for k in self.present:
            if self.is_owed(pulls[k]) and (k != self.leader or self.reference):
                chosen.append(k)
            elif k == self.leader:
                pass
            elif self.has_flag(k, pulls[k]):
                chosen.append(k)
                flagged.append(k)
            elif mean(recent[k]) >= mean(last(recent[self.leader], pulls[k])):
                chosen.append(k)
        for k in chosen or [self.leader]:
            self.last_drawn[k] = self.round - 1
        return chosen, flagged

    def recent(self):
        if self.reference:  # the last τ pulls
            kept = self.pulled[-self.window :]
        else:  # the last τ rounds
            kept = [pull for pull in self.pulled if pull[0] >= self.round - self.window]
        self.pulled = kept
        return [[reward for _, arm, reward in kept if arm == k] for k in range(self.arms)]

    def candidates(self, pulls):
        """Who may lead: the old leader and B_r, or anyone when the old leader has too few pulls."""
        # With r + 1 finished rounds the paper says min(r, τ); the authors' r is all of them.
        finished = self.round - 1
        least = min(finished if self.reference else finished - 1, self.window)
        everyone = self.present
        if self.leader is None or self.naive_leader:
            return everyone
        if pulls[self.leader] < least / (2 * len(self.present)):
            return everyone
        enough = least / len(everyone)
        drawn = self.handed_out
        return [k for k in everyone if k == self.leader or (k in drawn and pulls[k] >= enough)]

    def is_owed(self, pulls):
        """The sampling obligation."""
        if self.reference:
            return pulls < log(self.window) ** 0.333
        return pulls <= sqrt(log(self.window))

    def has_flag(self, k, pulls):
        """D_k^τ: leader and arm k unchanged and unpulled for long, and k scarce."""
        if pulls > log(self.window) ** 2:
            return False
        delay = (len(self.present) - 1) * log(self.window) ** 2
        if self.reference:
            r = self.round - 1
            return (
                r - self.changed_leader >= int(delay)
                and r - self.last_drawn[self.leader] >= int(delay)
                and r - self.last_drawn[k] >= int(delay)
            )
        delay = ceil(delay)
        if len(self.rounds) < delay:
            return False
        return all(
            past.leader == self.leader and self.leader not in past.arms and k not in past.arms
            for past in last(self.rounds, delay)
        )

    def retire_arm(self, arm):
        super().retire_arm(arm)
        self.pulled = [(r, moved(k, arm), reward) for r, k, reward in self.pulled]

    def held(self, k):
        return self.recent()[k]

    def tell(self, arm, reward):
        self.pulled.append((self.round, arm, reward))  # unlike those of other twins
