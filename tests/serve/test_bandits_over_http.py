"""Bandits over HTTP: made, listed, read, changed, paused, deleted; arms that come and go."""

from typing import NamedTuple
from unittest import mock

import pytest

import lastblock as lb
from lastblock.kernels.background import compiling
from lastblock.serve.policies import read_policy
from lastblock.store.storage import TakenOverError

NEW = {"name": "a/b ü", "policy": "LBSDAGM", "arms": ["x", 7, {"label": "z", "floor": 0.1}]}
PATH = "/v1/bandits/a%2Fb%20%C3%BC"


def test_of_is_an_ordinary_parameter_of_a_policy_that_wraps_none():
    class Share(NamedTuple):
        of: float = 0.5

    with mock.patch.dict(lb.POLICIES, Share=Share):
        assert read_policy({"policy": "Share", "of": 0.25}) == Share(0.25)


def test_a_bandit_is_made_and_read(service):
    shop = service()
    made = shop.post("/v1/bandits", {**NEW, "description": "of a page", "seed": 3})
    assert made.status == 201
    assert made.headers["location"] == PATH
    assert made.json["policy"]["policy"] == "LBSDAGM"
    assert [arm["label"] for arm in made.json["arms"]] == ["x", 7, "z"]
    assert [arm["floor"] for arm in made.json["arms"]] == [None, None, 0.1]
    read = shop.get(PATH)
    assert read.json == made.json
    assert read.headers["etag"] == made.headers["etag"]
    same = shop.get(PATH, headers={"If-None-Match": read.headers["etag"]})
    assert (same.status, same.body) == (304, b"")


@pytest.mark.parametrize(
    ("policy", "text"),
    [
        (None, "AdaptiveLBSDA"),
        ({"policy": "SWLBSDA", "window": 50}, "SWLBSDA(window=50)"),
        (
            {"policy": "Restarting", "of": "UCB1", "detector": {"detector": "MeanShift"}},
            "Restarting(UCB1(), MeanShift())",
        ),
        ({"policy": "KLUCB", "family": "bernoulli"}, "KLUCB"),
    ],
)
def test_policies_are_written_as_in_scenario_files(service, policy, text):
    shop, new = service(), {"arms": ["x", "y"]}
    with compiling("never"):
        made = shop.post(
            "/v1/bandits", {**new, "name": "b"} | ({"policy": policy} if policy else {})
        )
        again = shop.post("/v1/bandits", {**new, "name": "c", "policy": made.json["policy"]})
    assert again.json["policy"] == made.json["policy"]
    assert shop.get("/v1/bandits").json["bandits"][0]["policy"].startswith(text)


def test_a_name_is_taken_once(shop):
    made = shop.post("/v1/bandits", {"name": "button", "arms": ["x", "y"]})
    assert (made.status, made.kind) == (409, "conflict")


def test_bandits_are_listed_in_pages(service):
    shop = service()
    for name in ("c", "a", "b"):
        shop.post("/v1/bandits", {"name": name, "arms": ["x", "y"], "policy": "LBSDAGM"})
    first = shop.get("/v1/bandits?limit=2").json
    assert [each["name"] for each in first["bandits"]] == ["a", "b"]
    second = shop.get(f"/v1/bandits?limit=2&after={first['following']}").json
    assert [each["name"] for each in second["bandits"]] == ["c"]
    assert second["following"] is None


def test_a_change_needs_the_version_that_was_read(shop):
    read = shop.get("/v1/bandits/button")
    change = {"description": "new"}
    match = {"If-Match": read.headers["etag"]}
    changed = shop.patch("/v1/bandits/button", change, headers=match)
    assert changed.json["description"] == "new"
    late = shop.patch("/v1/bandits/button", {"description": "newer"}, headers=match)
    assert (late.status, late.kind) == (412, "changed-meanwhile")
    assert late.headers["etag"] == changed.headers["etag"]
    assert shop.get("/v1/bandits/button").json["description"] == "new"


def test_a_paused_bandit_takes_rewards_only(shop):
    token = shop.post("/v1/bandits/button/decisions").json["token"]
    shop.patch("/v1/bandits/button", {"paused": True})
    assert shop.post("/v1/bandits/button/decisions").kind == "paused"
    assert shop.put(f"/v1/decisions/{token}/reward", {"reward": 1.0}).status == 204
    shop.patch("/v1/bandits/button", {"paused": False})
    assert shop.post("/v1/bandits/button/decisions").status == 201


def test_arms_come_and_go_and_hand_back_what_was_given(shop):
    shop.post("/v1/bandits/button/arms", {"label": "gold", "payload": [1, "ü"]})
    made = shop.post("/v1/bandits/button/decisions", {"n": 4}).json["decisions"]
    payloads = {each["arm"]: each["payload"] for each in made}
    assert payloads == {"red": None, "green": None, "blue": {"price": 7}, "gold": [1, "ü"]}
    shop.patch("/v1/bandits/button/arms/gold", {"payload": 9})
    state = shop.delete("/v1/bandits/button/arms/red").json
    assert {arm["label"]: arm["state"] for arm in state["arms"]}["red"] == "retired"
    assert {arm["label"]: arm["payload"] for arm in state["arms"]}["gold"] == 9


def test_a_deleted_bandit_is_gone(shop):
    token = shop.post("/v1/bandits/button/decisions").json["token"]
    assert shop.delete("/v1/bandits/button").status == 204
    assert shop.get("/v1/bandits/button").kind == "not-found"
    assert shop.post("/v1/bandits/button/decisions").kind == "not-found"
    assert shop.put(f"/v1/decisions/{token}/reward", {"reward": 1.0}).status == 410
    assert shop.state.host.store.names() == ()


def test_bandits_and_notes_survive_a_restart(service):
    shop = service()
    made = shop.post("/v1/bandits", {**NEW, "description": "of a page", "seed": 3})
    token = shop.post(f"{PATH}/decisions").json["token"]
    shop.patch(PATH, {"paused": True})
    shop.close()
    again = service()
    found = again.get(PATH)
    assert found.json == {**made.json, "paused": True, "version": 2, "decisions": 1, "waiting": 1}
    assert again.put(f"/v1/decisions/{token}/reward", {"reward": 1.0}).status == 204


def test_a_bandit_of_another_program_is_served_when_that_releases_it(service, tmp_path):
    with lb.Store(tmp_path / "shop.db") as store:
        store.create("theirs", lb.LBSDAGM(), ["x", "y", "z"], seed=1)
        shop = service()
        busy = shop.post("/v1/bandits/theirs/decisions")
        assert (busy.status, busy.kind) == (503, "unavailable")
        assert "open in" in busy.json["detail"]
        store.release("theirs")
        assert shop.post("/v1/bandits/theirs/decisions").status == 201
    assert shop.get("/v1/bandits/theirs").json["created"] is None


def test_a_bandit_that_was_taken_over_is_opened_again(shop, monkeypatch):
    hosted = shop.state.host.bandits["button"]

    def taken(**_):
        raise TakenOverError(frozenset([hosted.number]), "another machine has it")

    monkeypatch.setattr(hosted.bandit, "ask", taken)
    lost = shop.post("/v1/bandits/button/decisions")
    assert (lost.status, lost.headers["retry-after"]) == (503, "1")
    monkeypatch.undo()
    assert shop.post("/v1/bandits/button/decisions").status == 201
    assert shop.state.host.bandits["button"] is not hosted
