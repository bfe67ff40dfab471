"""Checks: a live bandit works under a policy, whatever users do."""

import json
import math
import random
from collections.abc import Callable
from functools import partial
from typing import Any

from lastblock.core.describing import held
from lastblock.core.protocol import Held, Policy
from lastblock.core.support import support_of
from lastblock.kernels.background import compiling
from lastblock.live.bandit import Bandit
from lastblock.live.decisions import Decision
from lastblock.testing.expectations import expect, expect_value_error
from lastblock.testing.worlds import (
    ARMS,
    SEED,
    declares,
    fields_with_nan,
    live_with_delays,
    record_within,
)

FAR = 1e6
"""Stands for an infinite end of a support."""


def asking_never_waits(policy: Policy) -> None:
    """Many decisions can be out, and their rewards can come all at once, in any order."""
    world = random.Random(SEED)
    bandit = Bandit(policy, ARMS, seed=SEED)
    for _ in range(3):
        decisions = [bandit.ask() for _ in range(40)]
        strange = {decision.arm for decision in decisions} - set(range(ARMS))
        expect(not strange, f"with many decisions out it takes arms that do not exist: {strange}")
        world.shuffle(decisions)
        for i, decision in enumerate(decisions):
            if i % 10 == 0:
                bandit.forget(decision)
            else:
                bandit.tell(decision, float(world.random() < 0.5))
    expect(bandit.pending == (), f"after all rewards decisions are still out: {bandit.pending}")
    told = sum(bandit.pulls.values())
    expect(told == 3 * 36, f"{3 * 36} rewards were told, {told} are counted")


def bad_rewards_change_nothing(policy: Policy) -> None:
    """A reward that is not a number, too large or told twice is refused and changes nothing."""
    bandit = Bandit(policy, ARMS, seed=SEED)
    live_with_delays(bandit, 20, random.Random(SEED))
    decision = bandit.ask()

    before = bandit.to_bytes()
    bad: list[Any] = [math.nan, math.inf, -math.inf, 1e300, None, "x"]
    for reward in bad:
        expect_value_error(
            f"reward {reward!r}",
            lambda r=reward: bandit.tell(decision, r),  # type: ignore[misc]  # mypy infers no lambda with defaults
            "reward",
        )
        expect(bandit.to_bytes() == before, f"reward {reward!r} was refused, but changed the state")
    bandit.tell(decision, 1.0)
    after = bandit.to_bytes()
    expect_value_error("a reward told twice", lambda: bandit.tell(decision, 1.0), "already")
    expect(bandit.to_bytes() == after, "a reward told twice was refused, but changed the state")


def only_its_support_is_taken(policy: Policy) -> None:
    """Rewards within the support are taken; others are refused and change nothing."""
    support = support_of(policy)
    low, high = max(support.low, -FAR), min(support.high, FAR)
    inside = [low, high, (low + high) / 2.0, 0.75 * low + 0.25 * high]
    bandit = Bandit(policy, ARMS, seed=SEED)
    for t in range(60):
        bandit.tell(bandit.ask(), inside[t % len(inside)])
    strange = fields_with_nan(record_within(bandit))
    expect(not strange, f"after rewards of its support these fields hold NaN: {', '.join(strange)}")
    decisions = bandit.ask(2)
    before = bandit.to_bytes()
    for reward in (support.low - 0.5, support.high + 0.5):
        if math.isinf(reward):
            continue
        ways: dict[str, Callable[[], object]] = {
            "tell": partial(bandit.tell, decisions[0], reward),
            "tell_many": partial(bandit.tell_many, decisions, [low, reward]),
            "expire": partial(bandit.expire, older_than=0, reward=reward),
        }
        for way, action in ways.items():
            expect_value_error(f"{way} of {reward}, outside its support", action, "takes numbers")
            expect(bandit.to_bytes() == before, f"{way} of {reward} changed the state")
    bandit.tell_many(decisions, [low, high])


def arms_come_and_go(policy: Policy) -> None:
    """Arms can be added and retired while decisions are out, and the events replay it all."""
    bandit: Bandit[str] = Bandit(policy, ["a", "b", "c"], seed=SEED)
    events: list[Any] = []
    bandit.attach(events.extend)
    world = random.Random(SEED)
    live_with_delays(bandit, 60, world)
    before = bandit.to_bytes()
    if declares(policy, "oracle"):
        told = "knows the arms in advance"
        expect_value_error("retire_arm", lambda: bandit.retire_arm("b"), told)
        expect_value_error("add_arm", lambda: bandit.add_arm("d"), told)
        expect(bandit.to_bytes() == before, "a refused change of the arms changed the state")
        return
    pulls = dict(bandit.pulls)
    for old, new in [("b", "d"), ("a", "e"), ("e", "f"), ("f", "g")]:  # every place, twice the last
        _replace_arm(bandit, old, new, pulls, world)
        pulls = dict(bandit.pulls)
    active = {arm for arm, state in bandit.arms.items() if state == "active"}
    expect(active == {"c", "d", "g"}, f"the arms c, d and g are left, not {sorted(active)}")
    for decision in bandit.pending:
        bandit.tell(decision, 1.0)
    late = {arm: bandit.pulls[arm] - pulls[arm] for arm in ("a", "b")}
    expect(not any(late.values()), f"late rewards of retired arms were counted: {late}")
    strange = fields_with_nan(record_within(bandit))
    expect(not strange, f"after arms came and went these fields hold NaN: {', '.join(strange)}")
    expect(
        Bandit.from_json(bandit.to_json()).to_bytes() == bandit.to_bytes(),
        "written as JSON and read again, the state is another one",
    )
    twin: Bandit[str] = Bandit(policy, ["a", "b", "c"], seed=SEED)
    for event in json.loads(json.dumps(events)):
        twin.apply(event)
    expect(
        twin.to_bytes() == bandit.to_bytes(),
        "a bandit to which the same events happened has another state",
    )


def _replace_arm(
    bandit: Bandit[str], old: str, new: str, pulls: dict[str, int], world: random.Random
) -> None:
    bandit.retire_arm(old)
    expect(bandit.pulls == pulls, f"retiring {old!r} changed the pulls: {bandit.pulls}")
    taken = live_with_delays(bandit, 40, world)
    expect(all(decision.arm != old for decision in taken), f"{old!r} is taken after it was retired")
    s = record_within(bandit)
    round_left = int(s.queued - s.taken)
    pulls = dict(bandit.pulls)
    bandit.add_arm(new)
    expect(bandit.pulls == {**pulls, new: 0}, f"adding {new!r} changed the pulls: {bandit.pulls}")
    arms = [decision.arm for decision in bandit.ask(round_left + 1)]
    expect(new in arms, f"the new arm {new!r} is not pulled in the round being handed out: {arms}")
    taken = live_with_delays(bandit, 60, world)
    expect(all(decision.arm != old for decision in taken), f"{old!r} has come back")


def room_changes_no_decision(policy: Policy) -> None:
    """Decisions do not depend on the room that is reserved for arms, nor on when it must grow."""
    lives = [_decisions_with_room(policy, room) for room in (4, 16)]
    for step, (small, large) in enumerate(zip(*lives, strict=True)):
        expect(
            small == large,
            f"step {step}: with room for 4 arms it decides {small}, with room for 16 {large}",
        )


def _decisions_with_room(policy: Policy, room: int) -> list[Decision[int]]:
    world = random.Random(SEED)
    with compiling("never"):  # plain Python decides the same; compiling takes longer
        bandit = Bandit(policy, ARMS, seed=SEED, room=room)
        taken = live_with_delays(bandit, 40, world)
        for arm in () if declares(policy, "oracle") else (ARMS, ARMS + 1):
            bandit.add_arm(arm)
            taken += live_with_delays(bandit, 20, world)
    return taken


def a_forced_arm_is_taken_in(policy: Policy) -> None:
    """The policy works with traffic floors, which send decisions to arms it would not choose."""
    with compiling("never"):  # another check compares compiled code, with floors too
        _live_with_floors(policy)


def _live_with_floors(policy: Policy) -> None:
    bandit = Bandit(policy, ARMS, seed=SEED, floor={0: 0.2, 2: 0.1})
    taken = live_with_delays(bandit, 300, random.Random(SEED))
    # Four standard errors of a share of 300 decisions: √(p (1 − p) / 300).
    for arm, least, error in ((0, 0.2, 0.024), (2, 0.1, 0.018)):
        share = sum(decision.arm == arm for decision in taken) / 300
        expect(
            share > least - 4 * error,
            f"arm {arm} has a floor of {least} and gets {share:.3f} of the decisions",
        )
    later = Bandit(policy, ARMS, seed=SEED)
    later.set_floors({0: 0.2, 2: 0.1})
    again = live_with_delays(later, 60, random.Random(SEED))
    expect(
        again == taken[:60],
        "floors that are set later lead to other decisions than those of a new bandit",
    )
    strange = fields_with_nan(record_within(bandit))
    expect(not strange, f"with traffic floors these fields hold NaN: {', '.join(strange)}")


def held_agrees_with_what_was_told(policy: Policy) -> None:
    """`held` counts no more rewards than were told, and gives the right ones or their sum."""
    world = random.Random(SEED)
    bandit = Bandit(policy, ARMS, seed=SEED)
    told: list[list[float]] = [[] for _ in range(ARMS)]
    for step in range(1, 121):
        decision = bandit.ask()
        reward = float(world.random() < 0.3 + 0.2 * decision.arm)
        bandit.tell(decision, reward)
        told[decision.arm].append(reward)
        if step % 20 == 0:
            s = record_within(bandit)
            for arm in range(ARMS):
                found = held(policy, s, arm)
                if found is not None and found.size is not None:
                    _expect_held(f"step {step}, arm {arm}: held()", found, told[arm])


def _expect_held(where: str, found: Held, told: list[float]) -> None:
    size = -1.0 if found.size is None else found.size
    expect(
        0.0 <= size <= len(told) + 1e-9,
        f"{where} says {found.size} rewards, {len(told)} were told",
    )
    if (found.low, found.width) != (0.0, 1.0):
        return  # the policy was told other numbers
    if found.rewards is not None:
        kept = sorted(found.rewards().tolist())
        last = sorted(told[len(told) - round(size) :])
        same = len(kept) == len(last) and all(map(_is_near, kept, last))
        expect(same, f"{where} returns the rewards {kept}; the last {size:g} told are {last}")
    elif found.total is not None and size == len(told):
        expect(
            _is_near(found.total, sum(told)),
            f"{where} says that all rewards are held and their sum is {found.total}; it is "
            f"{sum(told)}",
        )


def _is_near(one: float, other: float) -> bool:
    return math.isclose(one, other, rel_tol=1e-9, abs_tol=1e-9)


def words_come_for_every_policy(policy: Policy) -> None:
    """`explain` and `summary` work after each decision, and agree with what happened."""
    bandit: Bandit[str] = Bandit(policy, ["a", "b", "c"], seed=SEED)
    for _ in range(60):
        decision = bandit.ask()
        said = bandit.explain()
        expect(
            decision.arm in said.arms,
            f"explain() speaks of the arms {said.arms}, the decision was {decision.arm!r}",
        )
        unnamed = [arm for arm in said.arms if repr(arm) not in str(said)]
        expect(not unnamed, f"explain() does not name the arms {unnamed}: {said}")
        bandit.tell(decision, float(decision.id % 3 == 0))
        expect(bandit.explain().arms == said.arms, "explain() changes when a reward is told")
    summary = bandit.summary()
    told = sum(arm.pulls for arm in summary.arms)
    expect(told == 60, f"60 rewards were told, summary() counts {told}")
    expect(summary.leader in ("a", "b", "c"), f"summary() names the leader {summary.leader!r}")
