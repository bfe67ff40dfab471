"""Damaged bandits, on either database: the others are served, and each says what is wrong."""

import contextlib
import itertools

import pytest

import lastblock as lb
from serve.client import Service
from serve.visitor import Visitor, text_of
from store.databases import fetch

_numbers = itertools.count()

OF = "WHERE bandit = (SELECT bandit FROM bandits WHERE name = '{}')"
MOVE = "UPDATE bandits SET last_event = last_event {} WHERE name = '{}'"
DAMAGE = {
    "blob": f"UPDATE bandits SET snapshot = substr(snapshot, 1, 99) {OF}",
    "hole": f"DELETE FROM events {OF} AND event = 2",
    "text": "UPDATE documents SET body = '{{' WHERE name = '{}'",
    "form": "UPDATE documents SET body = '{{\"payloads\": 7}}' WHERE name = '{}'",
    "shop": MOVE.replace("{}", "+ 500", 1),
    "part@de": MOVE.replace("{}", "+ 500", 1),
    "kept@@holdout": MOVE.replace("{}", "+ 500", 1),
}
UNITS = range(40)
"""Some are in a holdout of a half, and some are not, whatever its secret."""

ROOTS = ("blob", "hole", "text", "form", "shop")
BODIES = {
    "PATCH": {},
    "/arms": {"label": "new"},
    ":batch": {"requests": [{}]},
    "/reward": {"reward": 1},
    "/observations": {"observations": [{"arm": "red", "reward": 1}]},
    "/evaluate": {"policies": ["UCB1"]},
}


@pytest.fixture(params=["sqlite", "postgres"])
def place(request, tmp_path):
    if request.param == "sqlite":
        return tmp_path / "shop.db"
    return request.getfixturevalue("server").url(schema=f"damaged{next(_numbers)}")


@pytest.fixture
def tokens(place):
    """A token of each bandit, which is damaged then."""
    holdout = {"share": 0.5, "control": "red"}
    found, shop = {}, Service(place)
    for name in ("sound", *ROOTS, "part", "kept"):
        shop.create(name, holdout=holdout if name in ("shop", "kept") else None)
        for unit in UNITS if name in ("shop", "kept") else ():
            made = shop.decide(name, segment="de" if unit % 2 else None, unit=str(unit))
            assert made.status == 201, made.body
            if unit % 2 == 0:
                found[name] = made.json["token"]
        if name not in found:
            found[name] = shop.decide(name, n=5).json["decisions"][0]["token"]
    found["part@de"] = shop.decide("part", segment="de").json["token"]
    shop.close()
    for name, damage in DAMAGE.items():
        fetch(place, damage.format(name))
    return found


@pytest.fixture
def shop(place, tokens):
    with contextlib.closing(Service(place)) as made:
        yield made


def kinds(answers):
    return {each.status if each.status < 300 else each.kind for each in answers}


def test_others_are_served_and_each_route_of_a_damaged_one_says_why(shop, tokens):
    assert kinds([shop.decide("sound"), shop.reward(tokens["sound"], 1)]) == {201, 204}
    one = {name: shop.get(f"/v1/bandits/{name}").json["detail"] for name in DAMAGE}
    for name, detail in one.items():
        assert f"bandit {name!r} in " in detail
        assert "restore" in detail
        assert "DELETE" in detail
    for route in shop.app.api:
        if not {"name", "token"} & set(route.names) or route.method == "DELETE":
            continue
        body = next((BODIES[end] for end in BODIES if route.path.endswith(end)), {})
        for name in ROOTS:
            path = route.path.format(name=name, token=tokens[name], label="red")
            answer = shop.call(route.method, path, body if route.takes else None)
            assert answer.kind == "damaged", (route.method, path, answer.body)
            assert answer.json["detail"] == one[name]
            assert answer.headers["retry-after"] == "60"
    assert shop.get("/v1/bandits/shop@de").json["detail"] == one["shop"]
    rewards = [{"token": tokens[name], "reward": 1} for name in ("sound", "blob")]
    good, bad = shop.post("/v1/rewards:batch", {"rewards": rewards}).json["results"]
    assert (good["taken"], bad["problem"]["detail"]) == (True, one["blob"])

    # Only the segment and the units of a damaged member wait.
    assert kinds([shop.decide("part"), shop.decide("part", segment="fr")]) == {201}
    assert kinds([shop.decide("part", segment="de"), shop.reward(tokens["part@de"], 1)]) == {
        "damaged"
    }
    asked = [[shop.decide("kept", unit=str(unit)) for unit in UNITS] for _ in range(2)]
    assert kinds(asked[0]) == {201, "damaged"}
    assert [each.status for each in asked[0]] == [each.status for each in asked[1]]
    assert {each.json["held_out"] for each in asked[0] if each.status == 201} == {False}
    assert shop.get("/v1/bandits/kept/summary").status == 200
    # The list, the server's health, its metrics and the dashboard show them.
    shown = {each["name"]: each["damage"] for each in shop.get("/v1/bandits").json["bandits"]}
    reasons = {name: reason for name, reason in shown.items() if reason is not None}
    assert shown.keys() - reasons.keys() == {"sound", "part", "kept"}
    assert reasons == shop.state.host.damaged
    assert reasons.keys() == DAMAGE.keys()
    few, _ = shop.state.keys.create(["read"], bandits=["blob", "part"])
    for key, seen in ((shop.key, set(DAMAGE)), (few, {"blob", "part@de"}), ("", set())):
        ready = shop.get("/readyz", key=key)
        assert (ready.status, ready.json["status"]) == (200, "ready")
        assert ready.json["detail"].startswith("damaged bandits: 7;")
        assert ready.json["damaged"] == {name: reasons[name] for name in seen}
        metrics = shop.get("/metrics", key=key).body.decode()
        named = {name for name in DAMAGE if f'damaged_bandits{{bandit="{name}",reason="' in metrics}
        assert named == seen
    visitor = Visitor(shop, shop.key)
    words = visitor.read()
    assert words.count("– damaged ") == len(DAMAGE)
    assert all(reason in words for reason in reasons.values())
    page = visitor.get("/bandits/blob")
    assert page.status == 503
    assert "is damaged" in text_of(page)


def test_a_damaged_one_is_deleted_and_a_mended_one_is_served_again(shop, place, tokens, tmp_path):
    host = shop.state.host
    # Members go without the bandit to which they belong, and all of them with it.
    assert shop.delete("/v1/bandits/kept@@holdout").status == 204
    asked = [shop.decide("kept", unit=str(unit)).json for unit in UNITS]
    assert {each["held_out"] for each in asked} == {False, True}
    assert shop.delete("/v1/bandits/shop@de").status == 204
    assert shop.delete("/v1/bandits/sound").status == 204
    mended = "shop", "part@de"
    for name in mended:
        fetch(place, MOVE.format("- 500", name))
    with lb.Store(place) as store:
        store.repair("hole", tmp_path / "rest.jsonl")
    shop.runner.run(host.mend())
    assert host.damaged.keys() == {"blob", "text", "form"}
    assert shop.get("/v1/bandits/hole").json["decisions"] == 1
    for name in ("shop", "part"):
        asked = [shop.decide(name, segment="de", unit=str(unit)) for unit in UNITS]
        assert kinds(asked) == {201}
        assert shop.reward(tokens[name], 1).status == 204
    fetch(place, MOVE.format("+ 500", "part@de"))
    assert shop.delete("/v1/bandits/part").status == 204
    assert shop.delete("/v1/bandits/blob", headers={"If-Match": '"1-1"'}).kind == (
        "changed-meanwhile"
    )
    for name in tuple(host.damaged):
        assert shop.delete(f"/v1/bandits/{name}").status == 204
        assert shop.get(f"/v1/bandits/{name}").kind == "not-found"
    shop.create("blob")
    assert kinds([shop.decide("blob")]) == {201}
    assert host.damaged == {}
    roots = {name.partition("@")[0] for name in host.store.names()}
    assert roots == {"shop", "kept", "hole", "blob"}
    shop.close()
    fetch(place, "DELETE FROM documents WHERE name = 'kept@@holdout'")
    with contextlib.closing(Service(place)) as again:
        asked = [again.decide("kept", unit=str(unit)) for unit in UNITS]
        assert kinds(asked) == {201, "damaged"}
        assert again.delete("/v1/bandits/kept@@holdout").status == 204
        fetch(place, "UPDATE documents SET body = '[', version = 9 WHERE name = 'kept'")
        assert again.patch("/v1/bandits/kept", {"paused": True}).kind == "damaged"
        assert kinds(again.decide("kept", unit=str(unit)) for unit in UNITS) == {201}
