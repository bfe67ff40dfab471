"""The replay evaluator, event by event, on a live bandit."""

from fractions import Fraction

import lastblock as lb
from oracle.stream import ENVIRONMENT, Stream


def replay(policy, labels, log, seed, horizon=None):
    """Which of the events (arm, reward) a policy would have learned from."""
    bandit = lb.Bandit(policy, labels, seed=seed)
    matched = []
    decision = bandit.ask()
    for row, (arm, reward) in enumerate(log):
        if len(matched) == horizon:
            break
        if decision.arm == arm:
            bandit.tell(decision, reward)
            matched.append(row)
            decision = bandit.ask()
    return matched


def resample(log, seed):
    """The log of bootstrap pass 0: as many events, drawn with replacement."""
    stream = Stream(seed, role=ENVIRONMENT)
    return [log[stream.below(len(log))] for _ in log]


def mean(values):
    """Exact: sums of large rewards would round."""
    return sum(map(Fraction, values)) / len(values)


def standard_error(values):
    """Of their mean."""
    middle = mean(values)
    squares = sum((Fraction(value) - middle) ** 2 for value in values)
    return float(squares / (len(values) - 1) / len(values)) ** 0.5


def ips(log, target):
    """Events (arm, reward, propensity) and a mapping from arms to probabilities: value, error."""
    worth = [target.get(arm, 0.0) / propensity * reward for arm, reward, propensity in log]
    return float(mean(worth)), standard_error(worth)


def snips(log, target):
    """Value, error to the first order, effective number of events."""
    weights = [target.get(arm, 0.0) / propensity for arm, _, propensity in log]
    rewards = [reward for _, reward, _ in log]
    pairs = list(zip(weights, rewards, strict=True))
    value = sum(w * r for w, r in pairs) / sum(weights)
    error = sum((w * (r - value)) ** 2 for w, r in pairs) ** 0.5 / sum(weights)
    return value, error, sum(weights) ** 2 / sum(w * w for w in weights)


def followed(log, target):
    """The events (arm, reward, propensity, choices) in which all arms of the target were there."""
    taken = [arm for arm, chance in target.items() if chance > 0]
    return [event[:3] for event in log if all(arm in event[3] for arm in taken)]


def renormalised(log, target):
    """Value and error of IPS if, in each event, the target takes only arms that were there."""
    worth = []
    for arm, reward, propensity, choices in log:
        share = sum(target.get(other, 0.0) for other in choices)
        if share > 0:
            worth.append(target.get(arm, 0.0) / share / propensity * reward)
    return float(mean(worth)), standard_error(worth)
