"""Twins of policies: how one is found and made, and what all of them can do."""

from enum import Enum
from functools import cache
from importlib import import_module
from pathlib import Path

import lastblock as lb
from oracle.sampling import Sampler


class Twin:
    """A slow, obvious form of a policy, with the policy's parameters as attributes."""

    rounding = 1e-14
    """Values that differ by a smaller share may be equal but for rounding."""
    rounding_has_decided = False
    """Whether a choice was between values that are equal but for rounding: the policy may have
    chosen otherwise, or without luck."""

    def __init__(self, policy, arms, stream):
        for name, value in policy._asdict().items():
            setattr(self, name, value.name.lower() if isinstance(value, Enum) else value)
        self.arms, self.stream = arms, stream
        self.pulled = []  # (arm, reward), oldest first
        self.begin()

    def begin(self):
        pass

    def tell(self, arm, reward):
        self.pulled.append((arm, reward))

    def rewards(self, arm):
        return of(arm, self.pulled)

    def largest(self, values):
        """The arm with the largest value, ties at random."""
        best = max(values)
        ties = [k for k in range(self.arms) if values[k] == best]
        least = best - self.rounding * abs(best)
        close = [k for k in range(self.arms) if k in ties or values[k] >= least]
        if ties != close or (len(ties) > 1 and not self.are_exact(ties)):
            self.rounding_has_decided = True
        return self.one_of(ties)

    def are_exact(self, ties):
        """Whether the policy computes the same values for these arms, too."""
        return not hasattr(self, "discount") or not any(map(self.rewards, ties))

    def one_of(self, arms):
        return arms[0] if len(arms) == 1 else arms[self.stream.below(len(arms))]


def of(arm, pulled):
    return [reward for k, reward in pulled if k == arm]


@cache
def twins():
    """The twin of each policy: the class of the same name in a file of this folder."""
    names = (path.stem for path in Path(__file__).parent.glob("[!_]*.py"))
    modules = [import_module(f"oracle.{name}") for name in names if not name.startswith("test_")]
    return {
        name: cls for each in modules for name, cls in vars(each).items() if name in lb.POLICIES
    }


def twin_of(policy, arms, stream=None, *, seed=0):
    stream = Sampler(seed) if stream is None else stream
    return twins()[type(policy).__name__](policy, arms, stream)
