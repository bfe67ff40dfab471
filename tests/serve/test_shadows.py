"""In the shadow the policy decides and learns, and another arm is served."""

import pytest

from lastblock.serve.server import expire

NEW = {"name": "button", "policy": "LBSDAGM", "arms": ["red", "green", "blue"], "seed": 1}
DECIDE = "/v1/bandits/button/decisions"
SHADOW = {"serve": "red"}


@pytest.fixture
def shop(service):
    shop = service()
    assert shop.post("/v1/bandits", {**NEW, "shadow": SHADOW}).json["shadow"] == SHADOW
    return shop


def tell(shop, made, reward=1.0):
    return shop.put(f"/v1/decisions/{made['token']}/reward", {"reward": reward}).status


def pulls(shop):
    return {each["label"]: each["pulls"] for each in shop.get("/v1/bandits/button").json["arms"]}


def test_one_arm_is_served_and_learnt_while_the_policy_decides(shop, service):
    chosen = []
    for _ in range(12):
        made = shop.post(DECIDE).json
        assert made["arm"] == "red"
        chosen.append(made["shadow"])
        assert [tell(shop, made), tell(shop, made)] == [204, 204]  # the second changes nothing
        assert tell(shop, made, 0.5) == 409
    assert set(chosen) == {"red", "green", "blue"}
    assert pulls(shop) == {"red": 12, "green": 0, "blue": 0}
    found = shop.get("/v1/bandits/button").json
    assert (found["decisions"], found["waiting"]) == (12, 0)
    late = shop.post(DECIDE).json
    shop.close()
    again = service()
    assert tell(again, late) == 204
    assert pulls(again)["red"] == 13
    logged = again.state.host.store.events("button")
    arms = ["red", "green", "blue"]
    assert [each.arm for each in logged if each.kind == "ask"][:12] in (
        chosen,
        [arms.index(each) for each in chosen],
    )
    for name in again.state.host.store.names():
        assert again.state.host.store.verify(name) > 0
    assert again.patch("/v1/bandits/button", {"shadow": None}).json["shadow"] is None
    assert "shadow" not in again.post(DECIDE).json
    assert again.delete("/v1/bandits/button").status == 204
    assert again.state.host.store.names() == ()


def test_a_request_that_is_sent_again_gets_the_same_answer(shop):
    key = {"Idempotency-Key": "view 1"}
    first = shop.post(DECIDE, headers=key).json
    assert shop.post(DECIDE, headers=key).json == first
    wanted = [{"key": "a", "segment": "fr"}, {"n": 3}, {"key": "a", "segment": "fr"}]
    made = shop.post(f"{DECIDE}:batch", {"requests": wanted}).json["answers"]
    assert [len(each) for each in made] == [1, 3, 1]
    assert made[0] == made[2]
    assert made[0][0]["segment"] == "fr"
    shop.patch("/v1/bandits/button", {"shadow": None})
    assert shop.post(DECIDE, headers=key).json["token"] == first["token"]
    assert tell(shop, first) == 204


def test_segments_learn_for_themselves_and_late_rewards_are_the_default(service):
    shop = service()
    late = {"reward_window": 1e-6, "default_reward": 0.0}
    shop.post("/v1/bandits", {**NEW, **late, "shadow": SHADOW})
    for segment in ("fr", "de", "fr"):
        assert shop.post(DECIDE, {"segment": segment}).json["segment"] == segment
    assert expire(shop.state) == 3
    found = shop.get("/v1/bandits/button@fr").json["arms"]
    assert {each["label"]: each["pulls"] for each in found} == {"red": 2, "green": 0, "blue": 0}
    assert shop.delete("/v1/bandits/button@fr").status == 204
    assert len(shop.state.host.store.names()) == 3


def test_shadows_that_cannot_be_are_refused(shop):
    path = "/v1/bandits/button"
    for body in ({"among": ["blue"]}, {"without": ["red"]}, {"n": 2, "distinct": True}):
        assert shop.post(DECIDE, body).kind == "invalid"
    assert shop.patch(path, {"shadow": {"serve": "purple"}}).kind == "invalid"
    assert shop.delete(f"{path}/arms/red").kind == "conflict"
    assert shop.patch(f"{path}/arms/red", {"paused": True}).kind == "conflict"
    both = {**NEW, "name": "other", "shadow": SHADOW, "holdout": {"share": 0.1, "control": "red"}}
    assert shop.post("/v1/bandits", both).kind == "invalid"
    assert shop.get(path).json["decisions"] == 0
