"""Bayes-UCB with SciPy's quantiles of the posteriors, from the whole list of pulls."""

from math import fsum, sqrt

from scipy.special import betainccinv, ndtri

from oracle.ucb import Index


class BayesUCB(Index):
    def are_exact(self, ties):
        return len({tuple(sorted(self.rewards(k))) for k in ties}) == 1

    def tell(self, arm, reward):
        if self.family == "bernoulli" and 0 < reward < 1:
            reward = float(self.stream.uniform() < reward)
        super().tell(arm, reward)

    def index(self, k):
        rewards = self.rewards(k)
        if self.family == "bernoulli":
            return betainccinv(1 + rewards.count(1.0), 1 + rewards.count(0.0), 1 / self.t)
        precision = 1 / self.prior_sigma**2 + len(rewards) / self.sigma**2
        weighed = self.prior_mean / self.prior_sigma**2 + fsum(rewards) / self.sigma**2
        return weighed / precision - ndtri(1 / self.t) / sqrt(precision)
