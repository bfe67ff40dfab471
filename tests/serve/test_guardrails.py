"""A guardrail pauses arms that are surely worse by a second number, and no others."""

import random

import pytest

from lastblock.serve.alerts import Watcher
from serve.visitor import Visitor, text_of

NEW = {"name": "button", "policy": "LBSDAGM", "arms": ["red", "green", "blue"], "seed": 1}
GUARDRAIL = {"control": "red", "worse": "higher", "metric": "errors"}
DECIDE = "/v1/bandits/button/decisions"
RATES = {"red": 0.1, "green": 0.1, "blue": 0.6}


@pytest.fixture
def shop(service):
    shop = service()
    made = shop.post("/v1/bandits", {**NEW, "guardrail": GUARDRAIL})
    assert made.json["guardrail"] == {**GUARDRAIL, "confidence": 0.99}
    return shop


def tell(shop, made, **more):
    return shop.put(f"/v1/decisions/{made['token']}/reward", {"reward": 1.0, **more})


def use(shop, rounds, rates=RATES, **more):
    """Take decisions for each arm in turn, whatever the policy prefers."""
    random_ = random.Random(5)
    for _ in range(rounds):
        for arm, rate in rates.items():
            made = shop.post(DECIDE, {"among": [arm], **more})
            if made.status == 201:  # or the arm is paused
                tell(shop, made.json, guardrail=float(random_.random() < rate))


def states(shop, name="button"):
    return {each["label"]: each["state"] for each in shop.get(f"/v1/bandits/{name}").json["arms"]}


def test_an_arm_that_is_surely_worse_is_paused_and_an_alert_says_why(shop):
    watcher = Watcher(shop.state.host, shop.state.alerts)
    use(shop, 80)
    assert states(shop) == {"red": "active", "green": "active", "blue": "paused"}
    shop.runner.run(watcher.look())
    (alert,) = shop.get("/v1/alerts").json["alerts"]
    assert (alert["kind"], alert["data"]["arm"]) == ("arm-paused", "blue")
    assert "errors is worse than that of 'red'" in alert["text"]
    page = text_of(Visitor(shop, shop.key).get("/bandits/button"))
    assert "blue paused" in page
    assert "is worse than that of 'red'" in page
    found = shop.get("/v1/bandits/button/summary").json["guardrail"]
    sure = {each["arm"]: each["sure"] for each in found["arms"]}
    assert sure["blue"] >= 0.99 > sure["green"]
    assert sure["red"] == 0.0
    # Who resumes an arm knows better; the guardrail leaves it alone until it is set again.
    shop.patch("/v1/bandits/button/arms/blue", {"paused": False})
    use(shop, 5)
    assert states(shop)["blue"] == "active"
    shop.patch("/v1/bandits/button", {"guardrail": GUARDRAIL})
    use(shop, 1)
    assert states(shop)["blue"] == "paused"


def test_values_survive_a_restart_and_count_once(shop, service):
    use(shop, 5)
    made = shop.post(DECIDE, {"among": ["red"]}).json
    for _ in range(3):
        assert tell(shop, made, guardrail=0.0).status == 204
    before = shop.get("/v1/bandits/button/summary").json["guardrail"]
    assert [each["values"] for each in before["arms"]] == [6, 5, 5]
    shop.close()
    again = service()
    assert again.get("/v1/bandits/button/summary").json["guardrail"] == before
    use(again, 80)
    assert states(again)["blue"] == "paused"
    assert again.state.host.store.names() == ("button",)
    assert again.state.host.store.verify("button") > 0
    assert [each["name"] for each in again.get("/v1/bandits").json["bandits"]] == ["button"]
    assert again.delete("/v1/bandits/button").status == 204
    assert again.state.host.store.names() == ()


def test_lower_values_may_be_the_worse_ones(shop):
    shop.patch("/v1/bandits/button", {"guardrail": {**GUARDRAIL, "worse": "lower"}})
    use(shop, 60, {"red": 0.9, "green": 0.1, "blue": 1.0})
    assert states(shop) == {"red": "active", "green": "paused", "blue": "active"}


def test_equal_arms_are_rarely_paused(service):
    """The test is wrong with a probability of at most 0.01, however often it looks."""
    shop = service()
    for n in range(4):
        name = f"bandit {n}"
        shop.post("/v1/bandits", {**NEW, "name": name, "guardrail": GUARDRAIL})
        path, random_ = f"/v1/bandits/{name}/decisions", random.Random(n)
        for _ in range(10):
            asked = [{"among": [arm], "n": 20} for arm in RATES]
            made = shop.post(f"{path}:batch", {"requests": asked}).json["answers"]
            told = [
                {"token": each["token"], "reward": 1.0, "guardrail": float(random_.random() < 0.3)}
                for answer in made
                for each in answer
            ]
            assert shop.post("/v1/rewards:batch", {"rewards": told}).status == 204
        assert set(states(shop, name).values()) == {"active"}
        found = shop.get(f"/v1/bandits/{name}/summary").json["guardrail"]
        assert [each["values"] for each in found["arms"]] == [200, 200, 200]


def test_segments_are_compared_with_themselves(shop):
    use(shop, 80, segment="fr")
    assert states(shop, "button@fr")["blue"] == "paused"
    assert states(shop)["blue"] == "active"
    shop.post("/v1/bandits/button/arms", {"label": "gold"})
    use(shop, 3, {"gold": 0.0}, segment="fr")
    shop.delete("/v1/bandits/button/arms/blue")
    use(shop, 3, segment="fr")
    assert shop.delete("/v1/bandits/button@fr").status == 204
    assert shop.state.host.store.names() == ("button",)


def test_the_holdout_counts_as_the_control(service):
    shop = service()
    holdout = {"share": 0.5, "control": "red"}
    shop.post("/v1/bandits", {**NEW, "guardrail": GUARDRAIL, "holdout": holdout})
    for n in range(40):
        tell(shop, shop.post(DECIDE, {"unit": f"user {n}"}).json, guardrail=1.0)
    found = shop.get("/v1/bandits/button/summary").json
    assert sum(each["values"] for each in found["guardrail"]["arms"]) == 40
    assert found["guardrail"]["arms"][0]["values"] >= found["uplift"]["holdout"]["rewards"] > 5


def test_parts_of_a_reward_that_come_again_count_once(service):
    shop = service()
    shop.post("/v1/bandits", {**NEW, "guardrail": GUARDRAIL, "aggregation": "sum"})
    made = shop.post(DECIDE).json
    for key in ("a", "b", "b", "a"):
        path, body = f"/v1/decisions/{made['token']}/reward", {"reward": 1.0, "guardrail": 2.0}
        assert shop.put(path, body, headers={"Idempotency-Key": key}).status == 204
    found = shop.get("/v1/bandits/button/summary").json["guardrail"]["arms"]
    assert sum(each["values"] for each in found) == 2


def test_a_guardrail_keeps_its_control_and_ends_when_asked(shop):
    assert shop.delete("/v1/bandits/button/arms/red").kind == "conflict"
    assert shop.patch("/v1/bandits/button", {"guardrail": None}).json["guardrail"] is None
    refused = tell(shop, shop.post(DECIDE).json, guardrail=1.0)
    assert "has no guardrail" in refused.json["detail"]
