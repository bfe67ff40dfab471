"""Check: the index of an optimistic policy bounds the best mean from above."""

import random

import numpy as np

from lastblock.core.protocol import Policy
from lastblock.kernels.jit import DISABLED
from lastblock.kernels.streams import key_of
from lastblock.live.state import Live
from lastblock.testing.expectations import expect
from lastblock.testing.worlds import ARMS, HORIZON, MEANS, SEED, declares

MOST_ERRORS = 4.0
"""The promises may be below the best mean by this number of standard errors."""


def promises_are_kept(policy: Policy) -> None:
    """With `optimistic=True`, the index of the arm that is pulled is at least the best mean.

    It is so on average over the rounds after the first, where nothing changes, and each of these
    rounds pulls one arm: this is what `Master` needs.
    """
    if not declares(policy, "optimistic"):
        return
    layout = Live(policy, ARMS).states.dtype
    expect(
        "index" in (layout.names or ())
        and layout["index"].base.kind == "f"
        and layout["index"].shape[:1] >= (ARMS,),
        'it declares optimistic=True, so layout() must have a field "index" of floats with room '
        "for all arms",
    )
    means = MEANS[0]
    world = random.Random(SEED)
    replications = 20 if DISABLED else 80
    promised = np.array([_mean_promise(policy, means, world, key) for key in range(replications)])
    mean, error = promised.mean(), promised.std(ddof=1) / np.sqrt(replications)
    expect(
        bool(mean >= max(means) - MOST_ERRORS * error),
        f"it declares optimistic=True, but the index of the arms that it pulls is {mean:.3f} on "
        f"average, more than {MOST_ERRORS:g} standard errors of {error:.3f} below the best mean, "
        f"{max(means)}. Does `index` hold upper bounds, up to date, in the unit of the rewards, "
        "and is the arm with the largest one pulled?",
    )


def _mean_promise(
    policy: Policy, means: tuple[float, ...], world: random.Random, number: int
) -> float:
    """Return the mean index of the arms that are pulled after the first round of one bandit."""
    live = Live(policy, ARMS)
    live.start(ARMS, key_of(SEED + number))
    promised = []
    for t in range(HORIZON):
        arm = int(live.ask(t))
        s = live.s
        if s.round > 1:
            expect(
                s.queued == 1,
                f"it declares optimistic=True, but queues {int(s.queued)} arms in round "
                f"{int(s.round)}; every round but the first must pull one arm",
            )
            # Rewards lie in [0, 1] here, so larger promises say no more, as in `Master`.
            promised.append(min(1.0, max(0.0, float(s.index[arm]))))
        live.tell(arm, float(world.random() < means[arm]))
    return float(np.mean(promised))
