"""A guardrail pauses arms that are surely worse by a second number, and no others."""

import random

import pytest

from serve.visitor import Visitor, text_of

BUTTON = "/v1/bandits/button"
GUARDRAIL = {"control": "red", "worse": "higher", "metric": "errors"}
RATES = {"red": 0.1, "green": 0.1, "blue": 0.6}


@pytest.fixture
def shop(service):
    shop = service()
    made = shop.create(guardrail=GUARDRAIL)
    assert made.json["guardrail"] == {**GUARDRAIL, "confidence": 0.99}
    return shop


def use(shop, rounds, rates=RATES, **more):
    """Take decisions for each arm in turn, whatever the policy prefers."""
    random_ = random.Random(5)
    for _ in range(rounds):
        for arm, rate in rates.items():
            made = shop.decide(among=[arm], **more)
            if made.status == 201:  # or the arm is paused
                shop.reward(made.json["token"], 1.0, guardrail=float(random_.random() < rate))


def states(shop, name="button"):
    return {each["label"]: each["state"] for each in shop.get(f"/v1/bandits/{name}").json["arms"]}


def values(shop, name="button"):
    return [each["values"] for each in shop.summary(name)["guardrail"]["arms"]]


def test_an_arm_that_is_surely_worse_is_paused_and_an_alert_says_why(shop):
    use(shop, 80)
    assert states(shop) == {"red": "active", "green": "active", "blue": "paused"}
    shop.look()
    (alert,) = shop.get("/v1/alerts").json["alerts"]
    assert (alert["kind"], alert["data"]["arm"]) == ("arm-paused", "blue")
    assert "errors is worse than that of 'red'" in alert["text"]
    page = text_of(Visitor(shop, shop.key).get("/bandits/button"))
    assert "blue paused" in page
    assert "is worse than that of 'red'" in page
    sure = {each["arm"]: each["sure"] for each in shop.summary()["guardrail"]["arms"]}
    assert sure["blue"] >= 0.99 > sure["green"]
    assert sure["red"] == 0.0
    # Who resumes an arm knows better; the guardrail leaves it alone until it is set again.
    shop.patch(f"{BUTTON}/arms/blue", {"paused": False})
    use(shop, 5)
    assert states(shop)["blue"] == "active"
    shop.patch(BUTTON, {"guardrail": GUARDRAIL})
    use(shop, 1)
    assert states(shop)["blue"] == "paused"


def test_values_survive_a_restart_and_count_once(shop, service):
    use(shop, 5)
    token = shop.decide(among=["red"]).json["token"]
    assert [shop.reward(token, 1.0, guardrail=0.0).status for _ in range(3)] == [204] * 3
    assert values(shop) == [6, 5, 5]
    before = shop.summary()["guardrail"]
    shop.close()
    again = service()
    assert again.summary()["guardrail"] == before
    use(again, 80)
    assert states(again)["blue"] == "paused"
    assert again.state.host.store.verify("button") > 0
    assert [each["name"] for each in again.get("/v1/bandits").json["bandits"]] == ["button"]
    assert again.delete(BUTTON).status == 204
    assert again.state.host.store.names() == ()


def test_lower_values_may_be_the_worse_ones(shop):
    shop.patch(BUTTON, {"guardrail": {**GUARDRAIL, "worse": "lower"}})
    use(shop, 60, {"red": 0.9, "green": 0.1, "blue": 1.0})
    assert states(shop) == {"red": "active", "green": "paused", "blue": "active"}


def test_equal_arms_are_rarely_paused(service):
    """The test is wrong with a probability of at most 0.01, however often it looks."""
    shop = service()
    for n in range(4):
        name, random_ = f"bandit {n}", random.Random(n)
        shop.create(name, guardrail=GUARDRAIL)
        for _ in range(10):
            asked = {"requests": [{"among": [arm], "n": 20} for arm in RATES]}
            made = shop.post(f"/v1/bandits/{name}/decisions:batch", asked).json["answers"]
            told = [
                {"token": each["token"], "reward": 1.0, "guardrail": float(random_.random() < 0.3)}
                for answer in made
                for each in answer
            ]
            assert shop.post("/v1/rewards:batch", {"rewards": told}).json["taken"] == 60
        assert set(states(shop, name).values()) == {"active"}
        assert values(shop, name) == [200, 200, 200]


def test_segments_are_compared_with_themselves(shop):
    use(shop, 80, segment="fr")
    assert states(shop, "button@fr")["blue"] == "paused"
    assert states(shop)["blue"] == "active"
    shop.post(f"{BUTTON}/arms", {"label": "gold"})
    use(shop, 3, {"gold": 0.0}, segment="fr")
    shop.delete(f"{BUTTON}/arms/blue")
    use(shop, 3, segment="fr")
    assert shop.delete(f"{BUTTON}@fr").status == 204
    assert shop.state.host.store.names() == ("button",)


def test_the_holdout_counts_as_the_control(service):
    shop = service()
    shop.create(guardrail=GUARDRAIL, holdout={"share": 0.5, "control": "red"})
    for n in range(40):
        shop.reward(shop.decide(unit=f"user {n}").json["token"], 1.0, guardrail=1.0)
    assert sum(values(shop)) == 40
    assert values(shop)[0] >= shop.summary()["uplift"]["holdout"]["rewards"] > 5


def test_parts_of_a_reward_that_come_again_count_once(service):
    shop = service()
    shop.create(guardrail=GUARDRAIL, aggregation="sum")
    token = shop.decide().json["token"]
    for key in ("a", "b", "b", "a"):
        path, body = f"/v1/decisions/{token}/reward", {"reward": 1.0, "guardrail": 2.0}
        assert shop.put(path, body, headers={"Idempotency-Key": key}).status == 204
    assert sum(values(shop)) == 2


def test_a_guardrail_keeps_its_control_and_ends_when_asked(shop):
    assert shop.delete(f"{BUTTON}/arms/red").kind == "conflict"
    assert shop.patch(BUTTON, {"guardrail": None}).json["guardrail"] is None
    refused = shop.reward(shop.decide().json["token"], 1.0, guardrail=1.0)
    assert "has no guardrail" in refused.json["detail"]
