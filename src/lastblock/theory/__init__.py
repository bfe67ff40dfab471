"""Results from the theory: divergences, bounds on the regret, tunings, the balance function.

>>> import lastblock as lb
>>> env = lb.Stationary([lb.Bernoulli(0.05), lb.Bernoulli(0.15)])
>>> round(lb.theory.lai_robbins(env), 3)
1.971
"""

from lastblock.theory.balance import balance, balance_bound
from lastblock.theory.bounds import characteristic_time, count_changes, lai_robbins, lower_bound
from lastblock.theory.kullback import kl, kl_lower, kl_upper
from lastblock.theory.tunings import TUNINGS

__all__ = [
    "TUNINGS",
    "balance",
    "balance_bound",
    "characteristic_time",
    "count_changes",
    "kl",
    "kl_lower",
    "kl_upper",
    "lai_robbins",
    "lower_bound",
]
