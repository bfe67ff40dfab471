"""What other policies would have earned on the log of a bandit, beside what the bandit earned."""

import json
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from lastblock.core.protocol import Policy
from lastblock.core.support import support_of
from lastblock.live.bandit import Bandit
from lastblock.live.labels import Label
from lastblock.live.mean_rewards import MeanAndInterval, mean_rewards, model_of, statistics_of
from lastblock.replay.evaluation import Evaluations
from lastblock.replay.replay import Replay
from lastblock.support.columns import CHOICES

COLUMNS = ("arm", "reward", "probability", CHOICES)
"""The columns of a bandit's decisions that this needs."""


class OwnLog(NamedTuple):
    """The mean reward of a bandit, and estimates of what other policies would have earned."""

    decisions: int
    """The decisions with a reward and a probability."""
    arms: tuple[Label, ...]
    """The arms that could be chosen in the decisions that count: those that there are now, or, if
    these never were there together, those of the last decision."""
    logged: MeanAndInterval
    """The mean reward of the decisions that count."""
    used: int
    """Those that are left when all arms are equally likely."""
    policies: Evaluations
    """The estimates, by replay."""


def evaluate_own_log(
    bandit: Bandit[Any],
    log: Mapping[str, Iterable[Any]],
    policies: Mapping[str, Policy],
    *,
    replications: int,
    bootstrap: int,
    seed: int,
) -> OwnLog:
    """Replay the log of a bandit to other policies.

    Parameters
    ----------
    bandit
        The bandit as it is now.
    log
        Its decisions with a reward, in `COLUMNS`.
    policies
        The policies, by name.
    replications, bootstrap, seed
        As for `Replay.evaluate`.

    Raises
    ------
    ValueError
        If the log cannot be used.
    """
    rows = zip(*(log[name] for name in COLUMNS), strict=True)
    known = [row for row in rows if row[COLUMNS.index("probability")] is not None]
    if not known:
        raise ValueError(
            "the log does not say with which probability each arm was chosen; set a traffic floor "
            "for that, such as 0.05 for every arm, and wait for decisions with it"
        )
    columns = dict(zip(COLUMNS, map(list, zip(*known, strict=True)), strict=True))
    replay = Replay(columns, propensity="probability")
    part = _comparable(replay, columns[CHOICES], bandit)
    usable = part.uniform(seed=seed)
    found = usable.evaluate(policies, replications=replications, bootstrap=bootstrap, seed=seed)
    told = statistics_of(np.array([reward for _, reward in part]))
    (logged,) = mean_rewards(model_of([told], support_of(bandit.policy), None), [told])
    return OwnLog(len(replay), part.arms, logged, len(usable), found)


def _comparable(replay: Replay, choices: Sequence[str | None], bandit: Bandit[Any]) -> Replay:
    """Return the decisions among the present arms; without one, those like the last decision."""
    present = {label for label, state in bandit.arms.items() if state == "active"}
    texts = dict.fromkeys(text for text in reversed(choices) if text is not None)
    sets = [set(json.loads(text)) for text in texts]  # the last decision's first
    as_json = {json.dumps(label, ensure_ascii=False) for label in present}
    both = (present, as_json)  # a log has text and numbers among its labels as JSON
    wanted = next((each for each in both if each in sets), next(iter(sets), None))
    for part in replay.by_choices():
        if set(part.arms) == wanted:
            return part
    raise ValueError(
        "the log does not have the decisions of all arms that could be chosen; give every arm a "
        "traffic floor, such as 0.05"
    )
