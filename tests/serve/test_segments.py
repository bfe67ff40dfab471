"""A bandit for each segment, made when it is first seen, and a pooled one for the rest."""

import pytest

NEW = {"name": "button", "policy": "LBSDAGM", "arms": ["red", "green", "blue"], "segments": 2}
DECIDE = "/v1/bandits/button/decisions"


@pytest.fixture
def shop(service):
    shop = service()
    assert shop.post("/v1/bandits", {**NEW, "aggregation": "sum"}).status == 201
    return shop


def ask(shop, segment, **more):
    return shop.post(DECIDE, {"segment": segment, **more})


def test_each_segment_learns_for_itself_up_to_a_number(shop):
    for segment in ("de-mobile", "fr", "fr", "us", "it"):
        made = ask(shop, segment)
        assert made.status == 201, made.body
        assert made.json["segment"] == (segment if segment in ("de-mobile", "fr") else None)
        assert shop.put(f"/v1/decisions/{made.json['token']}/reward", {"reward": 1}).status == 204
    found = shop.get("/v1/bandits/button").json
    assert found["seen_segments"] == ["de-mobile", "fr"]
    assert found["decisions"] == 2  # of the pooled bandit
    assert [each["name"] for each in shop.get("/v1/bandits").json["bandits"]] == ["button"]
    assert shop.get("/v1/bandits/button@fr").json["decisions"] == 2


def test_segments_have_the_arms_and_the_keys_of_their_bandit(service, shop):
    ask(shop, "fr")
    shop.post("/v1/bandits/button/arms", {"label": "gold", "payload": 5})
    shop.patch("/v1/bandits/button/arms/red", {"paused": True})
    shop.delete("/v1/bandits/button/arms/green")
    ask(shop, "de")
    for segment in ("fr", "de"):
        made = ask(shop, segment, n=2, distinct=True).json["decisions"]
        assert {each["arm"] for each in made} == {"blue", "gold"}
        assert {each["payload"] for each in made} == {None, 5}
    key, _ = shop.state.keys.create(["ask", "tell"], bandits=["button"])
    made = shop.post(DECIDE, {"segment": "fr"}, key=key)
    path = f"/v1/decisions/{made.json['token']}/reward"
    assert shop.put(path, {"reward": 1}, key=key).status == 204
    shop.close()
    again = service()
    assert again.get("/v1/bandits/button").json["seen_segments"] == ["de", "fr"]
    assert ask(again, "fr", among=["gold"]).json["payload"] == 5
    assert again.delete("/v1/bandits/button").status == 204
    assert again.state.host.store.names() == ()


def test_a_bandit_without_segments_says_so(shop):
    shop.post("/v1/bandits", {**NEW, "name": "plain", "segments": None})
    refused = shop.post("/v1/bandits/plain/decisions", {"segment": "fr"})
    assert refused.kind == "invalid"
    assert "has no segments" in refused.json["detail"]
    for wrong in ("", "a\nb", "x" * 101):
        assert ask(shop, wrong).kind == "invalid"
