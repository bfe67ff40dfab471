"""Write the files that `test_old_files.py` opens, with the version whose files are to be kept.

python make.py FOLDER
"""

import json
import pickle
import sys
from pathlib import Path

import lastblock as lb

LOG = {"arm": ["a", "b", "b", "a"], "reward": [0.0, 1.0, 0.5, 0.25], "time": [3, 1, 2, 0]}


def reward(arm, step):
    return float((7 * step + 3 * (ord(str(arm)[0]) % 5)) % 10 < 4)


def live(bandit, steps):
    late = []
    for step in range(steps):
        decision = bandit.ask()
        if step % 7 == 6:
            late.append(decision)
        else:
            bandit.tell(decision, reward(decision.arm, step))
    return late


def next_arms(bandit, n=40):
    arms = []
    for step in range(n):
        decision = bandit.ask()
        arms.append(decision.arm)
        bandit.tell(decision, reward(decision.arm, step))
    return arms


def play_fleet(fleet):
    for step in range(30):
        ids = [0, 1, 1, 3]
        arms = fleet.ask(ids)
        fleet.tell(ids, arms, [float((step + k) % 3 == 0) for k in range(4)])
    return fleet.ask([0, 1, 2, 3]).tolist()


def main(folder):
    folder.mkdir(parents=True, exist_ok=True)
    expected = {}
    policies = {
        "lbsdalm": lb.LBSDALM(),
        "lbsda": lb.LBSDA(),
        "swlbsda": lb.SWLBSDA(window=50),
        "restarting": lb.Restarting(lb.UCB1(), lb.MeanShift()),
    }
    for name, policy in policies.items():
        bandit = lb.Bandit(
            policy, ["a", "b", "c"], seed=5, floor={"a": 0.1} if name == "lbsdalm" else None
        )
        live(bandit, 150)
        if name == "lbsdalm":
            bandit.add_arm("d")
            bandit.retire_arm("b")
            live(bandit, 20)
        bandit.save(folder / f"{name}.bandit")
        (folder / f"{name}.json").write_text(bandit.to_json(), encoding="utf-8")
        expected[name] = {
            "asked": bandit.asked,
            "pending": [pending.id for pending in bandit.pending],
            "pulls": dict(bandit.pulls),
            "next": next_arms(bandit),
        }

    with lb.Store(folder / "store.db", keep_events=True) as store:
        for name in ("lbsdalm", "swlbsda"):
            bandit = store.create(name, policies[name], ["a", "b", "c"], seed=5)
            live(bandit, 100)
        expected["store"] = {
            name: {"asked": store.bandit(name).asked, "pending": len(store.bandit(name).pending)}
            for name in ("lbsdalm", "swlbsda")
        }

    for memory in ("full", "compact"):
        with lb.Fleet.create(
            folder / f"{memory}.fleet",
            lb.LBSDALM(minimum=8, scale=0.0),
            arms=3,
            size=4,
            seed=5,
            memory=memory,
        ) as fleet:
            expected[memory] = {"arms": play_fleet(fleet)}

    arms = [lb.Bernoulli(0.3), lb.Bernoulli(0.5)]
    world = lb.Piecewise({0: arms, 50: arms[::-1]})
    scenario = lb.lab.Scenario(
        name="old",
        environment=world,
        policies={"LB-SDA-LM": lb.LBSDALM(), "UCB1": lb.UCB1()},
        horizon=100,
        replications=20,
        seed=1,
    )
    result = lb.lab.run(scenario, out=folder / "lab_results", progress=False)
    expected["result"] = result.final.groupby("policy", observed=True)["regret"].mean().to_dict()

    bandit = lb.Bandit(lb.LBSDALM(), ["a", "b"], seed=1)
    live(bandit, 50)
    objects = {
        "policies": [
            *policies.values(),
            lb.BestArm(world),
            lb.OracleRestart(lb.UCB1(), world),
            lb.Thompson(),
            lb.DiscountedThompson(0.9),
            lb.SlidingWindowThompson(9),
            lb.EXP3S(0.1, 0.1),
            lb.KLUCB(family="gaussian"),
            lb.REXP3(0.1, 10),
        ],
        "world": world,
        "run": lb.simulate(
            lb.LBSDALM(), world, horizon=100, replications=3, seed=1, times=[10, 100]
        ),
        "trace": lb.trace(lb.LBSDALM(), world, horizon=20, seed=1),
        "decision": bandit.ask(),
        "pending": bandit.pending,
        "summary": bandit.summary(),
        "explanation": bandit.explain(),
        "replay": lb.Replay(LOG, propensity=0.5, time="time"),
        "functions": [
            *(lb.policy, lb.detector, lb.family, lb.simulate, lb.trace, lb.state_size),
            *(lb.lab.run, lb.lab.connect),
            *lb.theory.TUNINGS.values(),
        ],
    }
    for name, thing in objects.items():
        (folder / f"{name}.pickle").write_bytes(pickle.dumps(thing))
    (folder / "expected.json").write_text(
        json.dumps(expected, indent=1, default=str), encoding="utf-8"
    )


if __name__ == "__main__":
    main(Path(sys.argv[1]))
