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


def test_there_is_a_bound_without_being_asked_for(service):
    shop = service()
    new = {"name": "button", "policy": "LBSDAGM", "arms": ["red", "green", "blue"], "seed": 1}
    assert shop.post("/v1/bandits", new).json["segments"] == 100
    assert ask(shop, "fr").json["segment"] == "fr"


def test_a_segment_that_many_ask_for_at_once_is_made_once(shop):
    request = {"method": "POST", "path": DECIDE, "body": {"segment": "fr"}}
    assert [each.status for each in shop.send(*[request] * 10)] == [201] * 10
    assert shop.state.host.bandits["button@fr"].bandit.asked == 10


def test_the_seed_of_a_bandit_is_that_of_its_segments(service):
    found = []
    for _ in range(2):
        shop = service()
        shop.delete("/v1/bandits/button")
        shop.post("/v1/bandits", {**NEW, "seed": 1})
        made = [ask(shop, segment, n=30).json["decisions"] for segment in ("a", "b")]
        found.append([[each["arm"] for each in decisions] for decisions in made])
        shop.close()
    assert found[0] == found[1]
    assert found[0][0] != found[0][1]


def test_a_key_gets_its_decision_again_when_segments_come_and_go(shop):
    for segment in ("a", "b"):
        ask(shop, segment)
    key = {"Idempotency-Key": "view 1"}
    first = shop.post(DECIDE, {"segment": "c"}, headers=key).json
    assert shop.delete("/v1/bandits/button@a").status == 204
    assert shop.post(DECIDE, {"segment": "c"}, headers=key).json["token"] == first["token"]
    requests = [{"segment": "d", "key": "k"}, {"segment": "b", "key": "k"}, {"segment": "b"}]
    made = shop.post(f"{DECIDE}:batch", {"requests": requests}).json["answers"]
    assert made[0][0]["token"] == made[1][0]["token"]
    assert [each[0]["segment"] for each in made] == ["d", "d", "b"]


def test_what_a_crash_kept_from_a_segment_comes_when_it_is_opened(service, shop):
    ask(shop, "fr")
    shop.state.host.bandits["button"].bandit.add_arm("gold")
    shop.state.host.store.documents.put("bandits", "button@it", {"parent": "button"})
    shop.close()
    again = service()
    assert ask(again, "fr", among=["gold"]).json["arm"] == "gold"
    assert ask(again, "it").json["segment"] == "it"
    for method, path, body in (
        ("PATCH", "/v1/bandits/button@fr", {"paused": True}),
        ("POST", "/v1/bandits/button@fr/arms", {"label": "x"}),
        ("DELETE", "/v1/bandits/button@fr/arms/red", None),
        ("POST", "/v1/bandits/button@fr/decisions", {}),
    ):
        assert again.call(method, path, body).kind == "conflict"
