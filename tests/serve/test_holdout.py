"""A share of units always gets the control arm, and shows what the policy is worth."""

import statistics

import pytest

HOLDOUT = {"share": 0.3, "control": "red"}
NEW = {"name": "button", "policy": "LBSDAGM", "arms": ["red", "green", "blue"], "seed": 1}
DECIDE = "/v1/bandits/button/decisions"


@pytest.fixture
def shop(service):
    shop = service()
    assert shop.post("/v1/bandits", {**NEW, "holdout": HOLDOUT}).json["holdout"] == HOLDOUT
    return shop


def test_units_of_the_holdout_get_the_control_arm_and_the_rest_the_policy(shop):
    held, rewards = {}, {True: [], False: []}
    for number in range(200):
        unit = f"visitor {number % 100}"
        made = shop.post(DECIDE, {"unit": unit}).json
        assert held.setdefault(unit, made["held_out"]) == made["held_out"]
        if made["held_out"]:
            assert made["arm"] == "red"
        reward = float(made["arm"] == "green" and number % 4 > 0)
        rewards[made["held_out"]].append(reward)
        assert shop.put(f"/v1/decisions/{made['token']}/reward", {"reward": reward}).status == 204
    # The share is 0.3; of 100 units its standard error is 0.046.
    assert 0.3 - 4 * 0.046 < statistics.mean(held.values()) < 0.3 + 4 * 0.046
    found = shop.get("/v1/bandits/button/uplift").json
    for group, is_held in (("policy", False), ("holdout", True)):
        mine = rewards[is_held]
        assert found[group]["rewards"] == len(mine)
        assert found[group]["mean"] == pytest.approx(statistics.mean(mine))
        error = statistics.stdev(mine) / len(mine) ** 0.5
        assert found[group]["standard_error"] == pytest.approx(error)
    assert found["low"] < found["difference"] < found["high"]
    assert found["difference"] == pytest.approx(found["policy"]["mean"] - found["holdout"]["mean"])
    assert shop.get("/v1/bandits/button").json["decisions"] == len(rewards[False])


def test_a_holdout_needs_units_and_its_control_arm(shop, service):
    assert shop.post(DECIDE).kind == "invalid"
    assert shop.delete("/v1/bandits/button/arms/red").kind == "conflict"
    assert shop.patch("/v1/bandits/button/arms/red", {"paused": True}).kind == "conflict"
    wrong = {**NEW, "name": "other", "holdout": {"share": 0.1, "control": "purple"}}
    assert shop.post("/v1/bandits", wrong).kind == "invalid"
    shop.post("/v1/bandits", {**NEW, "name": "other"})
    assert shop.get("/v1/bandits/other/uplift").kind == "conflict"
    shop.close()
    again = service()
    assert again.post(DECIDE, {"unit": "x"}).json["held_out"] in (True, False)
    listed = again.get("/v1/bandits").json["bandits"]
    assert [each["name"] for each in listed] == ["button", "other"]
    again.delete("/v1/bandits/button")
    assert again.state.host.store.names() == ("other",)


def test_a_holdout_that_a_crash_has_prevented_is_made_at_the_next_start(shop, service):
    shop.state.host.store.documents.drop("bandits", "button@@holdout")
    shop.state.host.store.delete("button@@holdout")
    shop.close()
    again = service()
    assert again.post(DECIDE).kind == "invalid"  # a unit is needed
    assert again.post(DECIDE, {"unit": "x"}).status == 201
