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
    shop.post("/v1/bandits", {**NEW, "name": "other"})
    shop.close()
    again = service()
    assert again.post(DECIDE, {"unit": "x"}).json["held_out"] in (True, False)
    listed = again.get("/v1/bandits").json["bandits"]
    assert [each["name"] for each in listed] == ["button", "other"]
    again.delete("/v1/bandits/button")
    assert again.state.host.store.names() == ("other",)


@pytest.mark.parametrize("is_restarted", [True, False])
def test_a_holdout_that_a_crash_has_prevented_is_made_when_the_bandit_is_opened(
    shop, service, is_restarted
):
    host = shop.state.host
    host.store.documents.drop("bandits", "button@@holdout")
    host.store.delete("button@@holdout")
    if is_restarted:
        shop.close()
        shop = service()
    else:
        host.lose([each.number for each in host.bandits.values()])
    assert shop.post(DECIDE).kind == "invalid"  # a unit is needed
    held = {shop.post(DECIDE, {"unit": str(unit)}).json["held_out"] for unit in range(40)}
    assert held == {True, False}


def test_the_uplift_is_in_the_summary_with_an_interval_for_any_time(shop):
    assert "too few" in shop.get("/v1/bandits/button/summary").json["uplift"]["text"]
    for number in range(80):
        made = shop.post(DECIDE, {"unit": f"visitor {number}"}).json
        told = {"reward": float(not made["held_out"])}
        for _ in range(2):  # the second time it changes nothing
            assert shop.put(f"/v1/decisions/{made['token']}/reward", told).status == 204
    found = shop.get("/v1/bandits/button/summary").json["uplift"]
    assert found["policy"]["rewards"] + found["holdout"]["rewards"] == 80
    assert (found["difference"], found["relative"], found["better"]) == (1.0, None, "policy")
    assert 0.0 < found["low"] < found["policy"]["low"] < 1.0
    assert found["high"] == 1.0
    assert found["sure"] > 0.99
    assert "difference of +1 (95 %" in found["text"]
    surer = shop.get("/v1/bandits/button/uplift?confidence=0.999").json
    assert surer["low"] < found["low"]


def test_who_is_held_out_nobody_can_guess_and_a_restart_does_not_change(shop, service):
    shop.post("/v1/bandits", {**NEW, "name": "other", "holdout": HOLDOUT})

    def held(name, shop):
        path = f"/v1/bandits/{name}/decisions"
        return [shop.post(path, {"unit": f"user {n}"}).json["held_out"] for n in range(60)]

    first = held("button", shop)
    assert first != held("other", shop)
    assert "secret" not in shop.get("/v1/bandits/button").body.decode()
    before = shop.get("/v1/bandits/button/uplift").json
    shop.close()
    again = service()
    assert again.get("/v1/bandits/button/uplift").json == before
    assert held("button", again) == first


def test_only_the_policy_itself_counts_as_the_policy(shop):
    seen = {"observations": [{"arm": "red", "reward": 1}]}
    for name in ("button", "button@@holdout"):
        assert shop.post(f"/v1/bandits/{name}/observations", seen).kind == "conflict"
    assert shop.delete("/v1/bandits/button@@holdout").kind == "conflict"
    key, _ = shop.state.keys.create(["read"], bandits=["button"])
    assert shop.get("/v1/bandits/button@@holdout", key=key).status == 200


def test_batches_and_keys_find_the_holdout(shop):
    wanted = [{"unit": f"user {n}", "key": f"view {n}", "segment": "fr"} for n in range(20)]
    made = [shop.post(f"{DECIDE}:batch", {"requests": wanted}).json["answers"] for _ in range(2)]
    assert made[0] == made[1]
    assert {each[0]["held_out"] for each in made[0]} == {True, False}
    assert {each[0]["segment"] for each in made[0]} == {None, "fr"}


def test_whoever_opens_a_bandit_opens_its_holdout(shop):
    shop.post(DECIDE, {"unit": "a", "segment": "fr"})
    host = shop.state.host
    host.lose([each.number for each in host.bandits.values()])
    for name in ("button", "button@@holdout"):
        host.store.release(name)
    assert shop.post(DECIDE).kind == "invalid"  # the holdout is there again, so it needs a unit
    assert host.bandits["button@@holdout"].parent is host.bandits["button"]
