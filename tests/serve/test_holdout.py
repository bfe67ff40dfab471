"""A share of units always gets the control arm, and shows what the policy is worth."""

import statistics

import pytest

HOLDOUT = {"share": 0.3, "control": "red"}
BUTTON = "/v1/bandits/button"


@pytest.fixture
def shop(service):
    shop = service()
    assert shop.create(holdout=HOLDOUT).json["holdout"] == HOLDOUT
    return shop


def held_out(shop, units, name="button"):
    """Whether each unit is held out."""
    return [shop.decide(name, unit=f"user {n}").json["held_out"] for n in range(units)]


def lose(shop):
    """Another machine takes all bandits."""
    shop.state.host.lose([each.number for each in shop.state.host.bandits.values()])


def test_units_of_the_holdout_get_the_control_arm_and_the_rest_the_policy(shop):
    held, rewards = {}, {True: [], False: []}
    for number in range(200):
        unit = f"visitor {number % 100}"
        made = shop.decide(unit=unit).json
        assert held.setdefault(unit, made["held_out"]) == made["held_out"]
        if made["held_out"]:
            assert made["arm"] == "red"
        reward = float(made["arm"] == "green" and number % 4 > 0)
        rewards[made["held_out"]].append(reward)
        assert shop.reward(made["token"], reward).status == 204
    # The share is 0.3; of 100 units its standard error is 0.046.
    assert 0.3 - 4 * 0.046 < statistics.mean(held.values()) < 0.3 + 4 * 0.046
    found = shop.get(f"{BUTTON}/uplift").json
    for group, is_held in (("policy", False), ("holdout", True)):
        mine = rewards[is_held]
        assert found[group]["rewards"] == len(mine)
        assert found[group]["mean"] == pytest.approx(statistics.mean(mine))
        assert found[group]["low"] <= found[group]["mean"] < found[group]["high"]
    assert found["low"] < found["difference"] < found["high"]
    assert found["difference"] == pytest.approx(found["policy"]["mean"] - found["holdout"]["mean"])
    assert shop.get(BUTTON).json["decisions"] == len(rewards[False])


def test_a_holdout_keeps_its_control_arm_and_goes_with_its_bandit(shop):
    shop.create("other")
    assert shop.delete(f"{BUTTON}/arms/red").kind == "conflict"
    assert shop.delete(f"{BUTTON}@@holdout").kind == "conflict"
    key, _ = shop.state.keys.create(["read"], bandits=["button"])
    assert shop.get(f"{BUTTON}@@holdout", key=key).status == 200
    seen = {"observations": [{"arm": "red", "reward": 1}]}
    assert shop.post(f"{BUTTON}@@holdout/observations", seen).kind == "conflict"
    listed = shop.get("/v1/bandits").json["bandits"]
    assert [each["name"] for each in listed] == ["button", "other"]
    shop.delete(BUTTON)
    assert shop.state.host.store.names() == ("other",)


@pytest.mark.parametrize("is_restarted", [True, False])
def test_a_holdout_that_a_crash_has_prevented_is_made_when_the_bandit_is_opened(
    shop, service, is_restarted
):
    shop.state.host.store.documents.drop("bandits", "button@@holdout")
    shop.state.host.store.delete("button@@holdout")
    if is_restarted:
        shop.close()
        shop = service()
    else:
        lose(shop)
    assert shop.decide().kind == "invalid"  # a unit is needed
    assert set(held_out(shop, 40)) == {True, False}


def test_the_uplift_is_in_the_summary_with_an_interval_for_any_time(shop):
    assert "too few" in shop.summary()["uplift"]["text"]
    for number in range(80):
        made = shop.decide(unit=f"visitor {number}").json
        for _ in range(2):  # the second time it changes nothing
            assert shop.reward(made["token"], float(not made["held_out"])).status == 204
    found = shop.summary()["uplift"]
    assert found["policy"]["rewards"] + found["holdout"]["rewards"] == 80
    assert (found["difference"], found["relative"], found["better"]) == (1.0, None, "policy")
    assert 0.0 < found["low"] < found["policy"]["low"] < 1.0
    assert found["high"] == 1.0
    assert found["sure"] > 0.99
    assert "difference of +1 (95 %" in found["text"]
    assert shop.get(f"{BUTTON}/uplift?confidence=0.999").json["low"] < found["low"]


def test_who_is_held_out_nobody_can_guess_and_a_restart_does_not_change(shop, service):
    shop.create("other", holdout=HOLDOUT)
    first = held_out(shop, 60)
    assert first != held_out(shop, 60, "other")
    assert "secret" not in shop.get(BUTTON).body.decode()
    before = shop.get(f"{BUTTON}/uplift").json
    shop.close()
    again = service()
    assert again.get(f"{BUTTON}/uplift").json == before
    assert held_out(again, 60) == first


def test_batches_and_keys_find_the_holdout(shop):
    wanted = [{"unit": f"user {n}", "key": f"view {n}", "segment": "fr"} for n in range(20)]
    path = f"{BUTTON}/decisions:batch"
    made = [shop.post(path, {"requests": wanted}).json["answers"] for _ in range(2)]
    assert made[0] == made[1]
    assert {each[0]["held_out"] for each in made[0]} == {True, False}
    assert {each[0]["segment"] for each in made[0]} == {None, "fr"}


def test_whoever_opens_a_bandit_opens_its_holdout(shop):
    shop.decide(unit="a", segment="fr")
    host = shop.state.host
    lose(shop)
    for name in ("button", "button@@holdout"):
        host.store.release(name)
    assert shop.decide().kind == "invalid"  # the holdout is there again, so it needs a unit
    assert host.bandits["button@@holdout"].parent is host.bandits["button"]
