"""What users write. Both type checkers must pass every line, and `main` must run."""

import tempfile
from pathlib import Path
from typing import NamedTuple, assert_type

import numpy as np

import lastblock as lb
from lastblock.client import AsyncClient, Client, RewardResult, ServedDecision
from lastblock.kit import Layout, Record, argmax, enqueue, enqueue_all, history, policy, shuffle
from lastblock.testing import Check, check_policy, policy_checks


@policy(grows=False)
class LastRewards(NamedTuple):
    """A policy of one's own: the best mean of the last rewards."""

    rewards: int = 50

    def layout(self, arms: int, horizon: int | None) -> Layout:
        """A history and an index."""
        kept = history.history_dtype(arms, self.rewards)
        return [("history", kept), ("index", np.float64, (arms,))]

    def start(self, s: Record) -> None:
        """Each arm once."""
        history.clear(s.history)
        enqueue_all(s)
        shuffle(s)

    def plan(self, s: Record) -> None:
        """The largest index."""
        for k in range(s.arms):
            n = s.history.kept[k]
            s.index[k] = history.block_mean(s.history, k, n) if n > 0 else lb.kit.unseen(s, k)
        enqueue(s, argmax(s, s.index))

    def observe(self, s: Record, arm: int, reward: float) -> None:
        """One reward."""
        history.append(s.history, arm, reward)


def choose_policies() -> None:
    """Parameters by their names, families by their words or as members."""
    env = lb.Piecewise({
        0: [lb.Bernoulli(0.9), lb.Bernoulli(0.1)],
        500: [lb.Bernoulli(0.1), lb.Bernoulli(0.9)],
    })  # fmt: skip
    drift = lb.Drifting(
        [lb.Bernoulli(0.5), lb.Gaussian(0.5, 0.1)],
        means=[lb.Sinusoid(0.5, 0.4, period=2000), lb.Table([0.2, 0.8], times=[0, 1000])],
    )
    assert_type(lb.KLUCB(family="gaussian", sigma=0.5), lb.KLUCB)
    assert lb.KLUCB("gaussian") == lb.KLUCB(lb.Family.GAUSSIAN)
    assert lb.KLUCB(family="poisson").family == lb.Family.POISSON
    lb.SWKLUCB.tuned(horizon=1000, changes=2, family="poisson")
    lb.Thompson(family="gaussian", prior_mean=0.0)
    lb.Restarting(lb.KLUCB(), lb.GLR(delta=0.01, family="bernoulli"), alertness=0.5)
    lb.Binarized(lb.LBSDA(), low=0.0, high=2.0)
    assert_type(lb.OracleRestart(lb.LBSDA(), env), lb.OracleRestart)
    lb.OracleRestart(lb.LBSDA(), [500, 700])
    lb.OracleRestart(policy=lb.LBSDA(), changes=(500,))
    assert_type(lb.BestArm(env), lb.BestArm)
    assert lb.BestArm(drift, horizon=100).starts[0] == 0
    assert lb.BestArm((0, 50), (1, 0)) == lb.BestArm(starts=[0, 50], arms=[1, 0])
    lb.theory.kl(0.0, 1.0, "gaussian", sigma=0.5)
    lb.theory.kl(0.1, 0.2, lb.Family.BERNOULLI)


def decide_by_name() -> None:
    """Labels keep their type from the bandit to the decision."""
    colours = ["red", "green", "blue"]
    bandit = lb.Bandit(lb.LBSDALM(), arms=colours, seed=7, floor={"red": 0.05}, room=4)
    assert_type(bandit, lb.Bandit[str])
    decision = bandit.ask()
    assert_type(decision, lb.Decision[str])
    assert_type(decision.arm, str)
    bandit.tell(decision, 1.0)
    assert_type(bandit.ask(2), list[lb.Decision[str]])
    assert_type(bandit.ask(among=["red", "blue"], without={"blue"}), lb.Decision[str])
    assert_type(bandit.ask(2, distinct=True), list[lb.Decision[str]])
    for pending in bandit.pending:
        assert_type(pending.arm, str)
        bandit.forget(pending)
    active: list[str] = [colour for colour, state in bandit.arms.items() if state == "active"]
    assert sum(bandit.pulls[colour] for colour in active) == 1
    bandit.add_arm("violet")
    bandit.pause_arm("violet")
    bandit.resume_arm("violet")
    bandit.set_floors({"violet": 0.1})
    bandit.set_floors(0.1)
    bandit.set_floors(None)
    bandit.observe("red", 0.0)
    bandit.observe_many(["red", "blue"], [0.0, 1.0])
    bandit.learn([("red", 1.0)])
    bandit.learn(lb.Replay({"arm": ["red", "blue"], "reward": [0.0, 1.0]}))
    bandit.retire_arm("red")
    assert_type(bandit.summary().leader, str | None)
    assert_type(bandit.explain().arms, tuple[str, ...])
    again: lb.Bandit[str] = lb.Bandit.from_bytes(bandit.to_bytes())
    assert report(bandit) == report(again)


def compile_ahead() -> None:
    """One policy or several, one room or several."""
    done = lb.warm([lb.LBSDALM(), lb.UCB1()], rooms=(4,), processes=1)
    assert_type(done, lb.Warmth)
    assert [row.room for row in done] == [4, 4]
    assert_type(lb.warm(lb.LBSDALM(), 4, floors=False)[0].was_there, bool)


def report(bandit: lb.Bandit) -> str:
    """A bandit whose labels do not matter."""
    return str(bandit.summary())


def decide_by_number() -> None:
    """A number of arms gives whole numbers as labels."""
    bandit = lb.Bandit(lb.LBSDALM(), arms=3, floor={0: 0.1}, room=4)
    assert_type(bandit, lb.Bandit[int])
    assert_type(bandit.ask().arm, int)
    fleet = lb.Fleet(lb.LBSDALM(), arms=3, size=10, seed=1)
    assert_type(fleet.bandit(3), lb.Bandit[int])
    assert_type(fleet.bandit(3).ask().arm, int)


def keep() -> None:
    """A store's bandit is an ordinary one."""
    with (
        tempfile.TemporaryDirectory() as folder,
        lb.Store(Path(folder, "shop.db"), durability="interval", interval=0.1) as store,
    ):
        bandit = store.create("button", lb.LBSDALM(), arms=["red", "green", "blue"])
        assert_type(bandit, lb.Bandit[str])
        same = store.get_or_create("button", lb.LBSDALM(), ["red", "green", "blue"], wait=1.0)
        assert_type(same, lb.Bandit[str])
        stop = same.on_event(lambda event: print(event.kind, event.to_dict()))
        stop()
        assert_type(same.summary(bounds=(0.0, 1.0)).contenders, tuple[str, ...])
        numbered = store.create("slots", lb.LBSDALM(), arms=3)
        assert_type(numbered.ask(), lb.Decision[int])
        bandit.tell(bandit.ask(), 0.0)


def ask_a_service() -> None:
    """Nobody is there, so the fallback decides."""
    with Client("http://127.0.0.1:1", timeout=0.5, retries=0) as client:
        decision = client.decide("button", fallback="red", among=["red", "blue"], segment="de")
        assert_type(decision, ServedDecision)
        assert_type(client.reward(decision, 1.0, guardrail=0.3), bool)
        several = client.decide("button", 2, fallback=0, without={1}, unit="17", distinct=True)
        assert_type(several, list[ServedDecision])
        told = client.reward_many([(each, 1.0) for each in several], atomic=True)
        assert_type(told, list[RewardResult])


def create_on_a_service(client: Client) -> None:
    """Options have the names of the HTTP API. For type checkers only: it needs a service."""
    guardrail = {"control": "red", "worse": "higher"}
    client.create("button", ["red", "green"], guardrail=guardrail, seed=1, segments=None)
    arms = ["red", {"label": "green", "payload": {"css": "#0a0"}}]
    client.create("button", arms, policy="LBSDAGM", reward_window=3600, default_reward=0.0)
    window = {"policy": "SWLBSDA", "window": 500}
    client.create("button", arms, policy=window, floor={"red": 0.1}, aggregation="sum")
    holdout = {"share": 0.2, "control": "red"}
    client.create("button", arms, holdout=holdout, alert_after=60, description="", room=4)
    client.observe("button", [("red", 1.0)])


async def ask_with_asyncio(client: AsyncClient) -> None:
    """The same for asyncio."""
    assert_type(await client.decide("button", among=("red",), why=True), ServedDecision)
    assert_type(await client.decide("button", 2, fallback="red"), list[ServedDecision])
    await client.create("button", ["red", "green"], floor=0.1, policy="LBSDAGM")


def replay_a_log() -> None:
    """One policy has an evaluation, several have theirs by label."""
    replay = lb.Replay({"arm": ["red", "green"] * 20, "reward": [1, 0] * 20}, propensity=0.5)
    assert_type(replay.evaluate(lb.LBSDALM(), seed=1), lb.Evaluation)
    assert_type(replay.evaluate([lb.LBSDALM(), lb.LBSDALM()], seed=1), lb.Evaluations)
    both = replay.evaluate({"one": lb.LBSDALM(), "other": lb.LBSDALM()}, bootstrap=2, seed=1)
    assert_type(both.differences(), dict[str, lb.PairedDifference])
    assert_type(replay.estimate("red", absent="skip"), lb.Estimate)
    assert_type(replay.environment(), lb.Piecewise)


def use_the_lab() -> None:
    """It is imported when it is first used; checkers know it all the same."""
    scenario = lb.lab.Scenario.load("stationary", horizon=100, replications=2)
    assert_type(scenario, lb.lab.Scenario)


def write_a_policy() -> None:
    """It is a policy like any other, and can be checked like ours."""
    own = LastRewards(rewards=20)
    assert_type(own, LastRewards)
    lb.Restarting(own, lb.MeanShift())
    checks = policy_checks(own, skip=["jit_changes_nothing"])
    assert_type(checks, list[Check[lb.kit.Policy]])
    assert str(checks[0]) == "LastRewards(rewards=20)-every_round_can_be_played"
    check_policy(own, skip=set(lb.testing.POLICY_CHECKS) - {"parameters_survive"})


def main() -> None:
    """All of it, at run time."""
    choose_policies()
    decide_by_name()
    decide_by_number()
    compile_ahead()
    keep()
    ask_a_service()
    replay_a_log()
    use_the_lab()
    write_a_policy()
