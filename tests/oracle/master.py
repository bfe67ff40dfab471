"""MASTER from the boxes of its paper: a list of instances, scheduled one interval at a time."""

from math import sqrt

from oracle.twin import Twin, twin_of

ORDERS = 17


class Instance:
    def __init__(self, policy, arms, stream, start, order):
        self.start, self.end, self.order = start, start + 2**order - 1, order
        self.base = twin_of(policy, arms, stream.child())

    def decide(self):
        """The next arm, and the promise that comes with it: 1 for a first pull."""
        first = len(self.base.pulled) < self.base.arms
        arm = self.base.ask()
        return arm, 1.0 if first else min(1.0, self.base.index(arm))


class Master(Twin):
    t = restarts = 0

    def begin(self):
        for _ in range(1, ORDERS):  # instances that are never asked
            self.stream.child()
        self.new_block(0, 1)

    def new_block(self, order, t):
        self.order, self.first = order, t
        self.running = []
        self.promises, self.told = [], []

    def rho(self, n):
        share = self.arms * self.level / n
        return sqrt(share) + share

    def ask(self):
        self.t += 1
        tau = self.t - self.first
        if tau == 2**self.order:
            self.new_block(min(self.order + 1, ORDERS - 1), self.t)
            tau = 0
        self.running = [each for each in self.running if each.end >= self.t]
        for m in range(self.order, -1, -1):
            if tau % 2**m == 0:
                chance = self.rho(2**self.order) / self.rho(2**m)
                if m == self.order or self.stream.uniform() < chance:
                    self.running.append(Instance(self.policy, self.arms, self.stream, self.t, m))
        self.active = min(self.running, key=lambda each: each.order)
        arm, promise = self.active.decide()
        self.promises.append(promise)
        return arm

    def tell(self, arm, reward):
        self.active.base.tell(arm, reward)
        self.told.append(reward)
        if self.test1() or self.test2():
            self.restarts += 1
            self.new_block(0, self.t + 1)

    def test1(self):
        for each in self.running:
            if each.end == self.t:
                mine = self.told[each.start - self.first :]
                if sum(mine) / len(mine) >= min(self.promises) + self.rise * self.rho(len(mine)):
                    return True
        return False

    def test2(self):
        excess = 0.0
        for promise, reward in zip(self.promises, self.told, strict=True):
            excess += promise - reward
        return excess / len(self.told) >= self.fall * self.rho(len(self.told))
