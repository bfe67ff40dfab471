"""Checks: a policy is what it says of itself, and its record and parameters are sound."""

import json
import math
import random
from collections.abc import Callable
from functools import partial
from typing import Any, get_type_hints

import numpy as np

from lastblock.arms.dirac import Dirac
from lastblock.arms.discrete import Discrete
from lastblock.core.failures import specialise
from lastblock.core.families import Arm
from lastblock.core.layout import state_dtype
from lastblock.core.protocol import Policy, Record
from lastblock.core.registry import build, describe
from lastblock.core.support import support_of
from lastblock.engine.simulate import Outcome, play
from lastblock.environments.piecewise import Stationary
from lastblock.kernels.jit import DISABLED
from lastblock.kernels.record_arrays import RecordArray
from lastblock.kernels.streams import key_of
from lastblock.live.bandit import Bandit
from lastblock.live.state import Live, state_size
from lastblock.simulation.simulate import simulate, trace
from lastblock.support.errors import PolicyError
from lastblock.testing.expectations import expect, expect_same, expect_value_error, fail
from lastblock.testing.worlds import (
    ARMS,
    HORIZON,
    SEED,
    declares,
    environment,
    live_arms,
    live_with_delays,
)

FAR = 1e3
"""Stands for an infinite end of a support."""

SHIFTS = (-3.0, 0.25, 1024.0)
SCALES = (0.125, 4.0, 2.0**20, 2.0**-600, 2.0**900)

WRONG: dict[Any, list[Any]] = {
    int: ["7", 1.5, True, None],
    float: ["x", None, math.nan, math.inf],
    bool: [1, "x"],
}


def arms_have_no_favourites(policy: Policy) -> None:
    """Permuting the arms permutes the law of the pulls, except for an oracle."""
    if declares(policy, "oracle"):
        return
    order = (2, 0, 1)
    replications = 40 if DISABLED else 400
    plain, permuted = (
        simulate(policy, env, horizon=HORIZON, replications=replications, seed=seed).pulls
        for env, seed in [(environment(), SEED), (environment(order), SEED + 1)]
    )
    expected = plain[:, order]
    variance = (expected.var(axis=0, ddof=1) + permuted.var(axis=0, ddof=1)) / replications
    gap = np.abs(expected.mean(axis=0) - permuted.mean(axis=0))
    # An arm may be one pull ahead in a round that the horizon cuts short.
    limit = 5.0 * np.sqrt(variance) + 1.0
    expect(
        bool(np.all(gap <= limit)),
        f"with the arms in another order their mean pulls differ by {gap.round(2).tolist()}, more "
        f"than five standard errors and one: {limit.round(2).tolist()}. Are ties broken at random, "
        "and is the first round shuffled?",
    )


def shift_is_as_declared(policy: Policy) -> None:
    """With `shift_invariant=True`, no decision changes when a constant is added to all rewards."""
    if declares(policy, "shift_invariant"):
        _expect_same_arms(policy, "plus", SHIFTS, lambda x, c: x + c)


def scale_is_as_declared(policy: Policy) -> None:
    """With `scale_invariant=True`, no decision changes when all rewards are multiplied by 2ʲ."""
    if declares(policy, "scale_invariant"):
        _expect_same_arms(policy, "times", SCALES, lambda x, a: a * x)


def _expect_same_arms(
    policy: Policy,
    word: str,
    numbers: tuple[float, ...],
    change: Callable[[float, float], float],
) -> None:
    plain = live_arms(policy, HORIZON)
    for number in numbers:
        with np.errstate(over="ignore"):  # squares of 2⁹⁰⁰, in what is noted beside the record
            changed = live_arms(
                policy,
                HORIZON,
                lambda x, c=number: change(x, c),  # type: ignore[misc]  # mypy infers no lambda with defaults
            )
        expect_same(f"arms for rewards {word} {number}", changed, plain)


def environments_fit(policy: Policy) -> None:
    """The policy plays environments whose rewards it takes, and refuses all others."""
    support = support_of(policy)
    low, high = max(support.low, -FAR), min(support.high, FAR)
    arms: list[Arm] = [Dirac(low), Dirac(high), Discrete([low, high], [0.5, 0.5])]
    pulls = int(simulate(policy, Stationary(arms), horizon=HORIZON, seed=SEED).pulls.sum())
    expect(pulls == HORIZON, f"on arms of its support it has {pulls} pulls in {HORIZON} steps")
    for end in (support.low - 0.5, support.high + 0.5):
        if math.isfinite(end):
            world = Stationary([*arms[:2], Dirac(end)])
            for name, run in (("simulate", simulate), ("trace", trace)):
                expect_value_error(
                    f"{name} with rewards of {end}, outside its support",
                    partial(run, policy, world, horizon=HORIZON),
                    "the environment gives",
                )


def state_is_bounded(policy: Policy) -> None:
    """The size of the state does not change, unless `grows=True`."""
    if not declares(policy, "grows"):
        sizes = {horizon: state_size(policy, ARMS, horizon) for horizon in (None, 10, 10**6)}
        expect(
            max(sizes.values()) == sizes[None],
            f"the size of the state grows with the horizon: bytes by horizon {sizes}. "
            "A policy that keeps every reward declares grows=True",
        )
    bandit = Bandit(policy, ARMS, seed=SEED)
    size = bandit.state_size
    live_with_delays(bandit, 1200, random.Random(SEED))
    expect(
        bandit.state_size == size or declares(policy, "grows"),
        f"the state has grown from {size} to {bandit.state_size} bytes",
    )


def every_round_can_be_played(policy: Policy) -> None:
    """Every round queues some of the arms, each once, and no method leaves the fields it has."""
    try:
        simulate(policy, environment(), horizon=HORIZON, seed=SEED)
        live_with_delays(Bandit(policy, ARMS, seed=SEED), HORIZON, random.Random(SEED))
    except PolicyError as error:
        fail(str(error))


def start_sets_what_it_reads(policy: Policy) -> None:
    """The run is the same whatever the record held before `start`."""
    env, key = environment(), key_of(SEED)
    outcomes = []
    for garbage in (0x00, 0xA5, 0xFF):
        state = np.empty(1, state_dtype(policy, ARMS, HORIZON))
        state.view(np.uint8)[:] = garbage
        out = Outcome.empty(2, times=1, phases=len(env.changes) + 1, arms=ARMS, traced=HORIZON)
        times, streams = np.array([HORIZON]), np.empty((2, 4), np.uint64)
        arguments = (
            policy,
            env.compile(HORIZON),
            RecordArray(state),
            key,
            streams,
            0,
            times,
            out,
            None,
        )
        specialise(play, *arguments)(*arguments)
        outcomes.append(out)
    for other in outcomes[1:]:
        expect_same(
            "arms after starting in records that held other things: a field is read before it is "
            "set",
            other.arms.ravel().tolist(),
            outcomes[0].arms.ravel().tolist(),
        )
        expect(
            all(a.tobytes() == b.tobytes() for a, b in zip(other, outcomes[0], strict=True)),
            "the outcome depends on what the record held before start()",
        )


def start_sets_every_number(policy: Policy) -> None:
    """`start` sets every single number, so that a new state file holds no garbage."""
    begun = []
    for garbage in (0x00, 0xA5):
        live = Live(policy, ARMS)
        live.states.view(np.uint8)[:] = garbage
        live.start(ARMS, key_of(SEED))
        begun.append(_numbers_in(live.s))
    unset = [name for name in begun[0] if begun[0][name] != begun[1][name]]
    expect(not unset, f"start() does not set {', '.join(unset)}")


def _numbers_in(record: Record, prefix: str = "") -> dict[str, object]:
    """Return the fields of a record, and of records within it, that are single numbers."""
    found: dict[str, object] = {}
    for name in record.dtype.names:
        if record[name].dtype.names is not None:
            found |= _numbers_in(record[name], f"{prefix}{name}.")
        elif record[name].shape == ():
            found[prefix + name] = record[name].item()
    return found


def wrong_types_are_rejected(subject: Any) -> None:
    """A parameter of a wrong type raises a ValueError that names it."""
    for name, kind in get_type_hints(type(subject)).items():
        for value in WRONG.get(kind, [object()]):
            expect_value_error(
                f"{name}={value!r}",
                lambda n=name, v=value: subject._replace(**{n: v}),  # type: ignore[misc]  # mypy infers no lambda with defaults
                name,
            )


def parameters_survive(subject: Any) -> None:
    """Parameters can be written as JSON and read again, as state files and scenarios do."""
    described = json.loads(json.dumps(describe(subject)))
    again = build(described)
    expect(again == subject, f"written as {described} and read again it is {again!r}")
    again = type(subject)(**subject._asdict())
    expect(again == subject, f"made again from its parameters it is {again!r}")
