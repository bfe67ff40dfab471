"""Trials: what is done again and again, at random moments or for long.

`make trials` runs them. A short form of each is part of `make test`, so that every kind of promise
is looked at there.
"""

import pytest

trial = pytest.mark.trial

QUICK_POLICIES = {
    "LBSDA",
    "LBSDAGM",
    "LBSDALM",
    "SWLBSDA",
    "AdaptiveLBSDA",
    "UCB1",
    "KLUCB",
    "Thompson",
    "EXP3",
    "Restarting",
}
"""The policies whose kernels `make quick` needs. Some checks are trials for all others."""


def short_and_long(name, short, long):
    """Give a test a parameter with two values: that of `make test`, and that of `make trials`.

    Parameters
    ----------
    name
        The parameter, such as a number of kills.
    short, long
        Its values. A value may be a dictionary, for tests that need several numbers.
    """
    forms = [pytest.param(short, id="short"), pytest.param(long, id="long", marks=trial)]
    return pytest.mark.parametrize(name, forms)


def mostly_trials(cases, kept):
    """Return cases for `parametrize`: those in `kept` are tests, all others are trials."""
    return [case if case in kept else pytest.param(*as_values(case), marks=trial) for case in cases]


def as_values(case):
    """Return the values of a case, which may be one value or a tuple of several."""
    return case if isinstance(case, tuple) else (case,)
