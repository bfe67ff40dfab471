"""The suite of random problems, which tests policies that claim to need no tuning."""

from lastblock.lab.suite.halves import scenarios

__all__ = ["scenarios"]
