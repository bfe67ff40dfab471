"""MASTER from the boxes of its paper: a list of instances, scheduled one interval at a time."""

from math import sqrt

from oracle.stream import WORD, Stream, mix
from oracle.ucb import UCB1

ORDERS = 17


def child(stream):
    """A stream of its own, made from one word of another."""
    draw = stream.word()
    new = Stream(0)
    new.state = [mix((draw + (i + 1) * 0x9E3779B97F4A7C15) % WORD) for i in range(4)]
    return new


class Instance:
    def __init__(self, arms, stream, start, order):
        self.start, self.end, self.order = start, start + 2**order - 1, order
        self.base = UCB1(arms, 0)
        self.base.stream = child(stream)
        self.base.queue = list(range(arms))
        self.base.stream.shuffle(self.base.queue)

    def decide(self):
        """The next arm, and the promise that comes with it: 1 for a first pull."""
        first = len(self.base.pulled) < self.base.arms
        arm = self.base.ask()
        return arm, 1.0 if first else min(1.0, self.base.index(arm))


class Master:
    def __init__(self, arms, seed, level=20.0, rise=9.0, fall=3.0):
        self.arms, self.level, self.rise, self.fall = arms, level, rise, fall
        self.stream = Stream(seed)
        for _ in range(1, ORDERS):  # instances that are never asked
            child(self.stream)
        self.restarts = 0
        self.new_block(0, 1)
        self.t = 0

    def new_block(self, order, t):
        self.order, self.first = order, t
        self.running = []
        self.promises, self.rewards = [], []

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
                    self.running.append(Instance(self.arms, self.stream, self.t, m))
        self.active = min(self.running, key=lambda each: each.order)
        arm, promise = self.active.decide()
        self.promises.append(promise)
        return arm

    def tell(self, arm, reward):
        self.active.base.tell(arm, reward)
        self.rewards.append(reward)
        if self.test1() or self.test2():
            self.restarts += 1
            self.new_block(0, self.t + 1)

    def test1(self):
        for each in self.running:
            if each.end == self.t:
                mine = self.rewards[each.start - self.first :]
                if sum(mine) / len(mine) >= min(self.promises) + self.rise * self.rho(len(mine)):
                    return True
        return False

    def test2(self):
        excess = 0.0
        for promise, reward in zip(self.promises, self.rewards, strict=True):
            excess += promise - reward
        return excess / len(self.rewards) >= self.fall * self.rho(len(self.rewards))
