"""Bandits over HTTP: made, listed, read, changed, paused, deleted; arms that come and go."""

from typing import NamedTuple
from unittest import mock

import pytest

import lastblock as lb
from lastblock.kernels.background import compiling
from lastblock.serve.policies import read_policy
from lastblock.store.storage import TakenOverError

NEW = {"name": "a/b ü", "arms": ["x", 7, {"label": "z", "floor": 0.1}], "description": "of a page"}
PATH = "/v1/bandits/a%2Fb%20%C3%BC"
BUTTON = "/v1/bandits/button"


def test_of_is_an_ordinary_parameter_of_a_policy_that_wraps_none():
    class Share(NamedTuple):
        of: float = 0.5

    with mock.patch.dict(lb.POLICIES, Share=Share):
        assert read_policy({"policy": "Share", "of": 0.25}) == Share(0.25)


def test_a_bandit_is_made_read_and_found_after_a_restart(service):
    shop = service()
    made = shop.create(**NEW)
    assert made.headers["location"] == PATH
    assert made.json["policy"]["policy"] == "LBSDAGM"
    assert [arm["label"] for arm in made.json["arms"]] == ["x", 7, "z"]
    assert [arm["floor"] for arm in made.json["arms"]] == [None, None, 0.1]
    read = shop.get(PATH)
    assert read.json == made.json
    assert read.headers["etag"] == made.headers["etag"]
    same = shop.get(PATH, headers={"If-None-Match": read.headers["etag"]})
    assert (same.status, same.body) == (304, b"")
    tokens = [each["token"] for each in shop.post(f"{PATH}/decisions", {"n": 2}).json["decisions"]]
    shop.patch(PATH, {"paused": True})
    assert shop.reward(tokens[0], 1.0).status == 204  # it is paused for decisions only
    found = shop.get(PATH).json
    changed = {"paused": True, "version": 2, "decisions": 2, "waiting": 1}
    assert found == {**made.json, **changed, "arms": found["arms"]}
    shop.close()
    again = service()
    assert again.get(PATH).json == found
    assert again.reward(tokens[1], 1.0).status == 204
    again.patch(PATH, {"paused": False})
    assert again.post(f"{PATH}/decisions").status == 201


@pytest.mark.parametrize(
    ("policy", "text"),
    [
        ({}, "AdaptiveLBSDA"),
        ({"policy": "SWLBSDA", "window": 50}, "SWLBSDA(window=50)"),
        (
            {"policy": "Restarting", "of": "UCB1", "detector": {"detector": "MeanShift"}},
            "Restarting(UCB1(), MeanShift())",
        ),
        ({"policy": "KLUCB", "family": "bernoulli"}, "KLUCB"),
    ],
)
def test_policies_are_written_as_in_scenario_files(service, policy, text):
    shop, new = service(), {"name": "b", "arms": ["x", "y"]}
    with compiling("never"):
        made = shop.post("/v1/bandits", new | ({"policy": policy} if policy else {}))
        again = shop.create("c", policy=made.json["policy"])
    assert again.json["policy"] == made.json["policy"]
    assert shop.get("/v1/bandits").json["bandits"][0]["policy"].startswith(text)


def test_whole_numbers_may_have_a_point_as_in_json(service):
    shop, policy = service(), {"policy": "SWLBSDA", "window": 50.0}
    made = shop.create(policy=policy, segments=3.0, arms=[1.0, 2], alert_after=60)
    assert made.json["segments"] == 3
    assert [arm["label"] for arm in made.json["arms"]] == [1, 2]
    headers = {"content-type": "Application/JSON ; charset=utf-8"}
    asked = shop.post(f"{BUTTON}/decisions", raw=b'{"n": 2.0}', headers=headers)
    assert len(asked.json["decisions"]) == 2
    numbered = {"policy": "KLUCB", "family": 0}
    wrong = shop.post("/v1/bandits", {"name": "b", "arms": [1, 2], "policy": numbered})
    assert "family=0 is not a value for a parameter" in wrong.json["detail"]


def test_bandits_are_listed_in_pages(service):
    shop = service()
    for name in ("c", "a", "b"):
        shop.create(name)
    first = shop.get("/v1/bandits?limit=2").json
    assert [each["name"] for each in first["bandits"]] == ["a", "b"]
    second = shop.get(f"/v1/bandits?limit=2&after={first['following']}").json
    assert [each["name"] for each in second["bandits"]] == ["c"]
    assert second["following"] is None


def test_a_change_needs_the_version_that_was_read(shop):
    match = {"If-Match": shop.get(BUTTON).headers["etag"]}
    changed = shop.patch(BUTTON, {"description": "new"}, headers=match)
    assert changed.json["description"] == "new"
    late = shop.patch(BUTTON, {"description": "newer"}, headers=match)
    assert (late.status, late.kind) == (412, "changed-meanwhile")
    assert late.headers["etag"] == changed.headers["etag"]
    assert shop.get(BUTTON).json["description"] == "new"


def test_arms_come_and_go_and_hand_back_what_was_given(shop):
    shop.post(f"{BUTTON}/arms", {"label": "gold", "payload": [1, "ü"]})
    made = shop.decide(n=4).json["decisions"]
    payloads = {each["arm"]: each["payload"] for each in made}
    assert payloads == {"red": None, "green": None, "blue": {"price": 7}, "gold": [1, "ü"]}
    shop.patch(f"{BUTTON}/arms/gold", {"payload": 9})
    state = shop.delete(f"{BUTTON}/arms/red").json
    assert {arm["label"]: arm["state"] for arm in state["arms"]}["red"] == "retired"
    assert {arm["label"]: arm["payload"] for arm in state["arms"]}["gold"] == 9


def test_a_deleted_bandit_is_gone(shop):
    token = shop.decide().json["token"]
    assert shop.delete(BUTTON).status == 204
    assert shop.get(BUTTON).kind == "not-found"
    assert shop.decide().kind == "not-found"
    assert shop.reward(token, 1.0).status == 410
    assert shop.state.host.store.names() == ()


def test_a_bandit_that_was_taken_over_is_opened_again(shop):
    hosted = shop.state.host.bandits["button"]
    taken = TakenOverError({hosted.number: "another machine has it"})
    with mock.patch.object(hosted, "ask", side_effect=taken):
        lost = shop.decide()
    assert (lost.status, lost.headers["retry-after"]) == (503, "1")
    assert shop.decide().status == 201
    assert shop.state.host.bandits["button"] is not hosted


def floors(shop, name="button"):
    return {arm["label"]: arm["floor"] for arm in shop.get(f"/v1/bandits/{name}").json["arms"]}


def test_floors_are_set_and_taken_away(shop):
    before = shop.get(BUTTON).headers["etag"]
    assert shop.decide().json["probability"] is None
    changed = shop.patch(BUTTON, {"floor": 0.1}, headers={"If-Match": before})
    assert changed.headers["etag"] != before
    assert changed.json["floor"] == 0.1
    assert floors(shop) == {"red": 0.1, "green": 0.1, "blue": 0.1}
    assert shop.decide().json["probability"] > 0.09
    assert shop.patch(BUTTON, {"floor": {"red": 0.25}}).json["floor"] is None
    assert floors(shop) == {"red": 0.25, "green": None, "blue": None}
    shop.patch(f"{BUTTON}/arms/blue", {"floor": 0.25})
    shop.post(f"{BUTTON}/arms", {"label": "gold", "floor": 0.25})
    shop.patch(BUTTON, {"description": "of a page"})  # what is left out stays
    assert floors(shop) == {"red": 0.25, "green": None, "blue": 0.25, "gold": 0.25}
    shop.patch(f"{BUTTON}/arms/red", {"floor": None})
    assert floors(shop) == {"red": None, "green": None, "blue": 0.25, "gold": 0.25}
    shop.patch(BUTTON, {"floor": None})
    assert shop.decide().json["probability"] is None


def test_segments_have_floors_too(service, shop):
    shop.decide(segment="de")
    shop.patch(BUTTON, {"floor": 0.2})
    assert floors(shop, "button%40de")["red"] == 0.2
    assert shop.decide(segment="de").json["probability"] > 0.19
    shop.decide(segment="fr")  # made after the change
    assert floors(shop, "button%40fr")["green"] == 0.2
    # As after a crash between the two writes: whoever opens them brings them together.
    shop.state.host.bandits["button@de"].bandit.set_floors(None)
    shop.close()
    assert floors(service(), "button%40de")["red"] == 0.2


def test_floors_of_single_arms_by_text(service):
    shop = service()
    shop.create(arms=[1, 2, "x"], floor={"1": 0.1, "x": 0.2})
    assert floors(shop) == {1: 0.1, 2: None, "x": 0.2}
