"""Every room of the library, once, on any system: what CI runs on macOS and Windows."""

import runpy
from contextlib import closing
from pathlib import Path
from unittest import mock

import numpy as np
import pytest

import lastblock as lb
from serve.client import Service

POLICY = lb.LBSDALM()
LABELS = ["red", "green", "blue"]
CHANCES = np.array([0.2, 0.4, 0.8])


def play(bandit, steps, seed=1):
    """Ask and tell, with late answers in between."""
    world = np.random.default_rng(seed)
    for _ in range(steps):
        for decision in reversed(bandit.ask(2)):
            bandit.tell(decision, float(world.random() < CHANCES[LABELS.index(decision.arm)]))


def test_simulate():
    env = lb.Stationary([lb.Bernoulli(chance) for chance in CHANCES])
    runs = [
        lb.simulate(POLICY, env, horizon=500, replications=8, seed=1, threads=threads)
        for threads in (1, 2)
    ]
    assert np.array_equal(runs[0].regret, runs[1].regret)
    assert (runs[0].pulls.sum(axis=1) == 500).all()


def test_a_bandit_is_saved_and_loaded(tmp_path):
    bandit = lb.Bandit(POLICY, arms=LABELS, seed=7)
    play(bandit, 200)
    assert max(bandit.pulls, key=bandit.pulls.get) == "blue"
    for _ in range(2):  # the second time it replaces a file
        bandit.save(tmp_path / "bandit.lastblock")
    again = lb.Bandit.load(tmp_path / "bandit.lastblock")
    play(bandit, 20)
    play(again, 20)
    assert again.to_bytes() == bandit.to_bytes()


def test_a_store_opens_where_it_was_and_has_one_owner(tmp_path):
    with lb.Store(tmp_path / "shop.db", durability="interval") as store:
        button = store.create("button", POLICY, arms=LABELS, seed=7)
        play(button, 50)
        state = button.to_bytes()
    with lb.Store(tmp_path / "shop.db") as store, lb.Store(tmp_path / "shop.db") as other:
        assert store.bandit("button").to_bytes() == state
        with pytest.raises(lb.StoreError, match="is open"):
            other.bandit("button")


def test_a_fleet_in_a_file(tmp_path):
    ids = np.arange(100)
    policy = lb.LBSDALM(minimum=4, scale=0.5)
    fleet = lb.Fleet(policy, arms=3, size=100, seed=7)
    arms = fleet.ask(ids)
    fleet.save(tmp_path / "pages.fleet")
    fleet = lb.Fleet.load(tmp_path / "pages.fleet")
    fleet.tell(ids, arms, np.ones(100))
    assert fleet.pulls().sum() == 100


def test_the_lab_goes_on_where_it_was(tmp_path):
    scenario = lb.lab.Scenario(
        name="smoke",
        title="Smoke",
        environment=lb.Stationary([lb.Bernoulli(chance) for chance in CHANCES]),
        horizon=500,
        policies={"LB-SDA-LM": POLICY},
        replications=8,
    )
    first = lb.lab.run(scenario, out=tmp_path)
    assert lb.lab.run(scenario, out=tmp_path).final.equals(first.final)
    assert lb.lab.load(tmp_path / "smoke").final.equals(first.final)
    first.plot(tmp_path / "smoke.png")
    assert (tmp_path / "smoke.png").stat().st_size > 1000


def test_the_service_goes_on_where_it_was(tmp_path):
    with closing(Service(tmp_path / "shop.db")) as service:
        new = {"name": "button", "arms": LABELS, "policy": "LBSDALM", "seed": 7}
        assert service.post("/v1/bandits", new).status == 201
        decision = service.post("/v1/bandits/button/decisions", {"without": ["red"]}).json
        assert decision["arm"] in {"green", "blue"}
        reward = f"/v1/decisions/{decision['token']}/reward"
        assert service.call("PUT", reward, {"reward": 1.0}).status == 204
    with closing(Service(tmp_path / "shop.db")) as service:
        assert service.get("/v1/bandits/button").json["decisions"] == 1
        assert service.call("PUT", reward, {"reward": 1.0}).status == 204  # sent again


def test_the_good_user_code_runs():
    """What type checkers pass must work, too; it replays a log, and has a policy of its own."""
    with mock.patch.dict(lb.POLICIES):
        runpy.run_path(str(Path(__file__).parents[1] / "typing" / "good.py"))["main"]()
