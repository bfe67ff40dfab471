"""A small world that all checks share, so that few kernels are compiled, and ways to play it."""

import random
from collections.abc import Callable, Sequence
from typing import Any, TypeVar

from lastblock.arms.bernoulli import Bernoulli
from lastblock.core.layout import record_of
from lastblock.core.protocol import Policy, Record
from lastblock.environments.piecewise import Piecewise
from lastblock.live.bandit import Bandit
from lastblock.live.decisions import Decision
from lastblock.live.persistence import unpack
from lastblock.live.state import from_little
from lastblock.simulation.run import Trace
from lastblock.testing.expectations import expect

L = TypeVar("L", str, int)

ARMS = 3
HORIZON = 200
SEED = 20_210_611
MEANS = {0: (0.5, 0.25, 0.4), 100: (0.2, 0.7, 0.3)}


def environment(order: Sequence[int] = (0, 1, 2)) -> Piecewise:
    """Return Bernoulli arms with one change; every policy takes their rewards, 0 and 1.

    Parameters
    ----------
    order
        The order of the arms.

    Returns
    -------
    Piecewise
        Three arms that change after 100 steps.
    """
    return Piecewise(
        {start: [Bernoulli(means[k]) for k in order] for start, means in MEANS.items()}
    )


def declares(policy: Policy, what: str) -> bool:
    """Return whether a policy declares `what` in `@policy`: "grows", "oracle" and so on."""
    return bool(getattr(policy, what))


def follow(bandit: Bandit[int], played: Trace) -> None:
    """Expect the bandit to take the arms of a trace when it gets its rewards."""
    for t, (arm, reward) in enumerate(zip(played.arms, played.rewards, strict=True)):
        decision = bandit.ask()
        expect(
            decision.arm == arm,
            f"step {t}: the live bandit takes arm {decision.arm}, the simulation arm {arm}",
        )
        bandit.tell(decision, float(reward))


def live_arms(
    policy: Policy, steps: int, change: Callable[[float], float] = lambda reward: reward
) -> list[int]:
    """Return the arms that a live bandit takes.

    Its rewards, 0 or 1, depend on the step and the arm alone, and are then passed to `change`.
    """
    world = random.Random(SEED)
    bandit = Bandit(policy, ARMS, seed=SEED)
    arms = []
    for _ in range(steps):
        decision = bandit.ask()
        arms.append(decision.arm)
        bandit.tell(decision, change(float(world.random() < 0.3 + 0.2 * decision.arm)))
    return arms


def live_with_delays(bandit: Bandit[L], steps: int, world: random.Random) -> list[Decision[L]]:
    """Return `steps` decisions of a bandit whose rewards come late, out of order, or never."""
    taken = []
    for _ in range(steps):
        taken.append(bandit.ask())
        answer_some(bandit, world)
    return taken


def answer_some(bandit: Bandit[Any], world: random.Random) -> None:
    """Tell or forget decisions that are out, in any order, until at most four are left."""
    while len(pending := bandit.pending) > world.randint(0, 4):
        late = world.choice(pending)
        if world.random() < 0.1:
            bandit.forget(late)
        else:
            bandit.tell(late, float(world.random() < 0.5))


def record_within(bandit: Bandit[Any]) -> Record:
    """Return the record of a bandit, read from what it would save."""
    about, data = unpack(bandit.to_bytes())
    dtype = record_of(bandit.policy, *about["room"])
    return from_little(data[: dtype.itemsize], dtype)[0]


def fields_with_nan(s: Record, prefix: str = "") -> list[str]:
    """Return the names of a record's fields that hold NaN; infinite numbers may be limits."""
    found = []
    for name in s.dtype.names:
        if s.dtype[name].names:
            found += fields_with_nan(s[name], f"{prefix}{name}.")
        elif s.dtype[name].base.kind == "f" and (s[name] != s[name]).any():
            found.append(prefix + name)
    return found
