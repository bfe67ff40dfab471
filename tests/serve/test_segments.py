"""A bandit for each segment, made when it is first seen, and a pooled one for the rest."""

import pytest

BUTTON = "/v1/bandits/button"
DECIDE = f"{BUTTON}/decisions"


@pytest.fixture
def shop(service):
    shop = service()
    shop.create(segments=2, aggregation="sum")
    return shop


def test_each_segment_learns_for_itself_up_to_a_number(shop):
    for segment in ("de-mobile", "fr", "fr", "us", "it"):
        (made,) = shop.learn([1], segment=segment)
        assert made["segment"] == (segment if segment in ("de-mobile", "fr") else None)
    found = shop.get(BUTTON).json
    assert found["seen_segments"] == ["de-mobile", "fr"]
    assert found["decisions"] == 2  # of the pooled bandit
    assert [each["name"] for each in shop.get("/v1/bandits").json["bandits"]] == ["button"]
    assert shop.get(f"{BUTTON}@fr").json["decisions"] == 2
    assert shop.create("other").json["segments"] == 100  # nothing was said


def test_segments_have_the_arms_and_the_keys_of_their_bandit(service, shop):
    shop.decide(segment="fr")
    shop.post(f"{BUTTON}/arms", {"label": "gold", "payload": 5})
    shop.patch(f"{BUTTON}/arms/red", {"paused": True})
    shop.delete(f"{BUTTON}/arms/green")
    shop.decide(segment="de")
    for segment in ("fr", "de"):
        made = shop.decide(segment=segment, n=2, distinct=True).json["decisions"]
        assert {each["arm"] for each in made} == {"blue", "gold"}
        assert {each["payload"] for each in made} == {None, 5}
    key, _ = shop.state.keys.create(["ask", "tell"], bandits=["button"])
    made = shop.post(DECIDE, {"segment": "fr"}, key=key)
    path = f"/v1/decisions/{made.json['token']}/reward"
    assert shop.put(path, {"reward": 1}, key=key).status == 204
    shop.close()
    again = service()
    assert again.get(BUTTON).json["seen_segments"] == ["de", "fr"]
    assert again.decide(segment="fr", among=["gold"]).json["payload"] == 5
    assert again.delete(BUTTON).status == 204
    assert again.state.host.store.names() == ()


def test_a_segment_that_many_ask_for_at_once_is_made_once(shop):
    request = {"method": "POST", "path": DECIDE, "body": {"segment": "fr"}}
    assert [each.status for each in shop.send(*[request] * 10)] == [201] * 10
    assert shop.get(f"{BUTTON}@fr").json["decisions"] == 10


def test_the_seed_of_a_bandit_is_that_of_its_segments(service):
    shop, found = service(), []
    for _ in range(2):
        shop.create()
        made = [shop.decide(segment=segment, n=30).json["decisions"] for segment in ("a", "b")]
        found.append([[each["arm"] for each in decisions] for decisions in made])
        shop.delete(BUTTON)
    assert found[0] == found[1]
    assert found[0][0] != found[0][1]


def test_a_key_gets_its_decision_again_when_segments_come_and_go(shop):
    for segment in ("a", "b"):
        shop.decide(segment=segment)
    first = shop.decide(key="view 1", segment="c").json
    assert shop.delete(f"{BUTTON}@a").status == 204
    assert shop.decide(key="view 1", segment="c").json["token"] == first["token"]
    requests = [{"segment": "d", "key": "k"}, {"segment": "d", "key": "k"}, {"segment": "b"}]
    made = shop.post(f"{DECIDE}:batch", {"requests": requests}).json["answers"]
    assert made[0][0]["token"] == made[1][0]["token"]
    assert [each[0]["segment"] for each in made] == ["d", "d", "b"]


def test_what_a_crash_kept_from_a_segment_comes_when_it_is_opened(service, shop):
    shop.decide(segment="fr")
    shop.state.host.bandits["button"].bandit.add_arm("gold")
    shop.state.host.store.documents.put("bandits", "button@it", {"parent": "button"})
    shop.close()
    again = service()
    assert again.decide(segment="fr", among=["gold"]).json["arm"] == "gold"
    assert again.decide(segment="it").json["segment"] == "it"
    for method, path, body in (
        ("PATCH", f"{BUTTON}@fr", {"paused": True}),
        ("POST", f"{BUTTON}@fr/arms", {"label": "x"}),
        ("DELETE", f"{BUTTON}@fr/arms/red", None),
        ("POST", f"{BUTTON}@fr/decisions", {}),
    ):
        assert again.call(method, path, body).kind == "conflict"
