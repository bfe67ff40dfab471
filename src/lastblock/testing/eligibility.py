"""Checks: a live bandit decides among some of its arms, and learns from what others decide."""

import json
import random
from typing import Any

from lastblock.core.protocol import Policy
from lastblock.core.restarts import note_extra
from lastblock.kernels.background import compiling
from lastblock.live.bandit import Bandit, desk_of
from lastblock.testing.expectations import expect, expect_same, expect_value_error
from lastblock.testing.worlds import SEED, answer_some, declares, fields_with_nan, record_within

LABELS = ["a", "b", "c"]


def absent_arms_are_as_if_retired(policy: Policy) -> None:
    """Without some arms it takes the decision that it would take if they had just been retired.

    The other arms lose nothing by that: those that had a turn in the round get it later.
    """
    bandit: Bandit[str] = Bandit(policy, LABELS, seed=SEED)
    if declares(policy, "oracle"):
        told = "knows the arms in advance"
        expect_value_error("ask(without=…)", lambda: bandit.ask(without=["a"]), told)
        expect_value_error("pause_arm", lambda: bandit.pause_arm("a"), told)
        return
    world = random.Random(SEED)
    for step in range(60):
        left_out = world.choice(LABELS)
        if world.random() < 0.6:
            retired = bandit.copy()
            retired.retire_arm(left_out)
            wanted = retired.ask()
            waited = _waiting(bandit)
            decision = bandit.ask(without=[left_out])
            expect(
                (decision.arm, decision.probability) == (wanted.arm, wanted.probability),
                f"step {step}: without {left_out!r} it takes {decision.arm!r}; if {left_out!r} had "
                f"been retired it would take {wanted.arm!r}",
            )
            expect(
                left_out not in waited or left_out in _waiting(bandit),
                f"step {step}: {left_out!r} has lost its turn in the round",
            )
        else:
            bandit.ask()
        answer_some(bandit, world)
    strange = fields_with_nan(record_within(bandit))
    expect(not strange, f"after arms were left out these fields hold NaN: {', '.join(strange)}")


def paused_arms_are_not_taken(policy: Policy) -> None:
    """A paused arm is not taken, keeps its past, and events and state files know of it."""
    if declares(policy, "oracle"):
        return
    _pause_and_resume(policy, None)
    with compiling("never"):  # another check compares compiled code, with floors too
        _pause_and_resume(policy, {"a": 0.2, "c": 0.1})


def _pause_and_resume(policy: Policy, floor: dict[str, float] | None) -> None:
    bandit: Bandit[str] = Bandit(policy, LABELS, seed=SEED, floor=floor)
    events: list[Any] = []
    bandit.attach(events.extend)
    world = random.Random(SEED)
    for step in range(50):
        paused = [arm for arm, state in bandit.arms.items() if state == "paused"]
        active = [arm for arm in LABELS if arm not in paused]
        if world.random() < 0.1 and len(active) > 1:
            bandit.pause_arm(world.choice(active))
        elif world.random() < 0.1 and paused:
            bandit.resume_arm(world.choice(paused))
        paused = [arm for arm, state in bandit.arms.items() if state == "paused"]
        left = len(LABELS) - len(paused)
        for decision in bandit.ask(world.randint(1, left), distinct=True):
            expect(
                decision.arm not in paused,
                f"step {step}: {decision.arm!r} is taken although it is paused",
            )
        if world.random() < 0.2:
            bandit.observe(world.choice(LABELS), float(world.random() < 0.5))
        answer_some(bandit, world)
    expect(
        Bandit.from_json(bandit.to_json()).to_bytes() == bandit.to_bytes(),
        "written as JSON and read again, the state with paused arms is another one",
    )
    twin: Bandit[str] = Bandit(policy, LABELS, seed=SEED, floor=floor)
    for event in json.loads(json.dumps(events)):
        twin.apply(event)
    expect(
        twin.to_bytes() == bandit.to_bytes(),
        "a bandit to which the same events happened, pauses among them, has another state",
    )


def decisions_of_others_are_learnt(policy: Policy) -> None:
    """An observation is learnt like the reward of a decision that the round did not plan."""
    bandit: Bandit[str] = Bandit(policy, LABELS, seed=SEED)
    world = random.Random(SEED)
    for _ in range(40):
        bandit.ask()
        answer_some(bandit, world)
    for arm in LABELS:
        for _ in range(5):
            twin = _after_an_extra_pull(bandit, arm)
            pulls, waiting = bandit.pulls[arm], _waiting(bandit)
            bandit.observe(arm, 1.0)
            expect(bandit.pulls[arm] == pulls + 1, "an observation is not counted as a pull")
            expect_same("the round after an observation", _waiting(bandit), waiting)
            expect(
                twin.to_bytes() == bandit.to_bytes(),
                f"a reward that was observed for {arm!r} leaves another state than one told",
            )
    strange = fields_with_nan(record_within(bandit))
    expect(not strange, f"after observations these fields hold NaN: {', '.join(strange)}")
    one, many = bandit.copy(), bandit.copy()
    for arm in ("a", "c", "c"):
        one.observe(arm, 0.0)
    many.observe_many(["a", "c", "c"], [0.0, 0.0, 0.0])
    expect(one.to_bytes() == many.to_bytes(), "observe_many() differs from several observe()")
    before = bandit.to_bytes()
    expect_value_error("observe of NaN", lambda: bandit.observe("a", float("nan")), "reward")
    expect_value_error(
        "observe_many with NaN",
        lambda: bandit.observe_many(["a", "b"], [0.0, float("nan")]),
        "reward",
    )
    expect(bandit.to_bytes() == before, "an observation was refused, but changed the state")


def _after_an_extra_pull(bandit: Bandit[str], arm: str) -> Bandit[str]:
    """Return a copy in which a decision for `arm`, outside of the round, was taken and told 1."""
    twin = bandit.copy()
    live, place = desk_of(twin).live, LABELS.index(arm)
    out = live.s.stale if live.s.stale[place] > live.s.out[place] else live.s.out
    out[place] += 1
    note_extra(live.s)  # as a traffic floor does
    live.tell(place, 1.0)
    return twin


def _waiting(bandit: Bandit[str]) -> list[str]:
    """Return the arms that still have a turn in the round."""
    s = record_within(bandit)
    active = [arm for arm, state in bandit.arms.items() if state != "retired"]
    return [active[k] for k in s.queue[int(s.taken) : int(s.queued)]]
