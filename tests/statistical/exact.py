"""The exact law of a small bandit: all histories, with their probabilities."""

from functools import cache

import numpy as np


def law_of_pulls(choose, laws, horizon):
    """The law of the number of pulls of arm 0 after `horizon` pulls.

    `laws` holds a dictionary {reward: probability} for each arm; every arm is pulled once first;
    then `choose(histories, r)` gives the probability of each arm in round r, in which one is
    pulled. Histories are tuples of rewards in order of time.
    """
    arms = len(laws)

    @cache
    def law(histories, queue, r):
        done = sum(len(history) for history in histories)
        if done == horizon:
            result = np.zeros(horizon + 1)
            result[len(histories[0])] = 1.0
            return result
        if queue:
            return after(histories, queue[0], queue[1:], r)
        chances = choose(histories, r)
        assert abs(sum(chances) - 1.0) < 1e-12
        return sum(
            chance * after(histories, arm, (), r)
            for arm, chance in enumerate(chances)
            if chance > 0.0
        )

    def after(histories, arm, queue, r):
        return sum(
            chance
            * law(
                (*histories[:arm], (*histories[arm], reward), *histories[arm + 1 :]),
                queue,
                r if queue else r + 1,
            )
            for reward, chance in laws[arm].items()
        )

    return law(((),) * arms, tuple(range(arms)), 1)


def chances(weights_against):
    """Probabilities of two arms from that of the first."""
    return [weights_against, 1.0 - weights_against]


def larger(first, second):
    """P(X > Y) + ½ P(X = Y) for independent X, Y given as {value: probability}."""
    return sum(
        p * q * (1.0 if x > y else 0.5 if x == y else 0.0)
        for x, p in first.items()
        for y, q in second.items()
    )
