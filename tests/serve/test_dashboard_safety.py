"""The dashboard's floors, alerts, holdout, guardrail, segments, and bandits of others."""

import random

import pytest

import lastblock as lb
from lastblock.serve.dashboard.glance import webhook
from serve.visitor import Visitor, text_of

BUTTON = "/v1/bandits/button"
RED, BLUE = 'floor "red"', 'floor "blue"'


def floors(shop):
    return {arm["label"]: arm["floor"] for arm in shop.get(BUTTON).json["arms"]}


def learn(shop, times, name="button", values=None, **asked):
    rng = random.Random(times)
    for number in range(times):
        unit = {"unit": f"user {number}"} if "holdout" in name else {}
        made = shop.post(f"/v1/bandits/{name}/decisions", {**asked, **unit}).json
        told = {"reward": float(rng.random() < 0.5)}
        if values is not None:
            told["guardrail"] = values[made["arm"]] + rng.random()
        assert shop.put(f"/v1/decisions/{made['token']}/reward", told).status == 204


def test_floors_are_set(shop, admin):
    page = admin.get("/bandits/button").body.decode()
    assert 'name="every"' in page
    assert admin.post("/bandits/button/floors", {"every": "5"}).status == 303
    assert floors(shop) == {"red": 0.05, "green": 0.05, "blue": 0.05}
    assert 'name="every" inputmode="decimal" maxlength="20" placeholder="none" value="5"' in (
        admin.get("/bandits/button").body.decode()
    )
    single = {"every": "", RED: "12,5 %", BLUE: "10"}
    assert admin.post("/bandits/button/floors", single).status == 303
    assert floors(shop) == {"red": 0.125, "green": None, "blue": 0.1}
    assert "12.5" in admin.get("/bandits/button").body.decode()
    assert "floors hold" in text_of(admin.get("/bandits/button?done=floors"))
    admin.post("/bandits/button/floors", {"every": "", RED: "", BLUE: "0"})
    assert floors(shop) == {"red": None, "green": None, "blue": None}


def test_the_time_line_has_what_happened_to_arms(shop, admin):
    learn(shop, 5)
    assert admin.get("/bandits/button/history").json["milestones"] == []
    shop.post(f"{BUTTON}/arms", {"label": "gold"})
    shop.patch(f"{BUTTON}/arms/gold", {"paused": True})
    shop.patch(f"{BUTTON}/arms/gold", {"paused": False})
    shop.patch(BUTTON, {"floor": 0.1})
    shop.delete(f"{BUTTON}/arms/green")
    found = admin.get("/bandits/button/history").json["milestones"]
    assert [each["text"] for each in found] == [
        "gold added",
        "gold paused",
        "gold resumed",
        "floors set",
        "green retired",
    ]
    again = admin.get("/bandits/button/history").json["milestones"]
    assert again == found  # what was counted before is not counted twice


def test_alerts_are_listed(shop, admin):
    assert "All quiet" in text_of(admin.get("/alerts"))
    shop.state.alerts.note("arm-paused", "button", "Arm 'red' is paused.", {"arm": "red"})
    shop.state.alerts.note("change", "other", "A change.", {})
    page = text_of(admin.get("/alerts"))
    assert "Arm 'red' is paused." in page
    assert "A change." in page
    assert "no webhook" in page
    assert "Arm 'red' is paused." in text_of(admin.get("/bandits/button"))
    assert "A change." not in text_of(admin.get("/bandits/button"))
    key, _ = shop.state.keys.create(["read"], bandits=["button"])
    reader = Visitor(shop, key)
    assert "A change." not in text_of(reader.get("/alerts"))
    assert "Arm 'red' is paused." in text_of(reader.get("/alerts"))


def test_deliveries_are_shown(service):
    secret = "of the webhook, long enough"
    shop = service(alert_url="https://u:p@shop.example/hooks/a?b=c", alert_secret=secret)
    admin = Visitor(shop, shop.key)
    kept = {
        "id": "1",
        "time": "2026-01-01T00:00:00+00:00",
        "kind": "change",
        "bandit": "gone",
        "text": "It changed.",
        "data": {},
        "state": "failed",
        "attempts": 20,
        "problem": "the webhook answered 500",
    }
    shop.state.host.store.documents.put("alerts", "1", kept)
    shop.state.alerts.load()
    page = text_of(admin.get("/alerts"))
    assert "20 attempts: the webhook answered 500" in page
    assert "https://shop.example/…" in page
    assert "hooks" not in page  # an address may have a secret in it
    assert "u:p" not in page


@pytest.mark.parametrize(
    ("url", "shown"),
    [
        ("", ""),
        ("http://a", "http://a"),
        ("https://k@a:1/", "https://a:1"),
        ("http://a?k", "http://a/…"),
    ],
)
def test_only_the_host_of_a_webhook_is_shown(url, shown):
    assert webhook(url) == shown


def test_the_page_shows_holdout_guardrail_and_segments(service):
    shop = service()
    new = {
        "name": "holdout",
        "policy": "LBSDAGM",
        "arms": ["red", "green", "blue"],
        "seed": 1,
        "holdout": {"share": 0.5, "control": "red"},
        "guardrail": {"control": "red", "worse": "higher", "metric": "load time"},
    }
    assert shop.post("/v1/bandits", new).status == 201
    admin = Visitor(shop, shop.key)
    assert "No values have come yet" in text_of(admin.get("/bandits/holdout"))
    values = {"red": 1.0, "green": 2.0, "blue": 9.0}
    learn(shop, 30, "holdout", values)
    learn(shop, 10, "holdout", values, segment="de-mobile")
    page = text_of(admin.get("/bandits/holdout"))
    assert "50 % of the units always get red" in page
    assert "Guardrail: load time" in page
    assert "surely higher than those of red" in page
    assert "de-mobile" in page
    assert "Decisions 40" in page
    segment = text_of(admin.get("/bandits/holdout%40de-mobile"))
    assert "This is the segment de-mobile of holdout" in segment
    assert "Add an arm" not in segment
    assert "This is the holdout of holdout" in text_of(admin.get("/bandits/holdout%40%40holdout"))
    assert "40" in text_of(admin.get())


def test_bandits_that_others_have_open_are_listed(service, tmp_path):
    with lb.Store(tmp_path / "shop.db", keep_events=True) as store:
        theirs = store.create("theirs", lb.LBSDAGM(), ["a", "b"], seed=1)
        theirs.tell(theirs.ask(), 1.0)
        shop = service()
        shop.post("/v1/bandits", {"name": "mine", "policy": "LBSDAGM", "arms": ["a", "b"]})
        lines = {each["name"]: each for each in shop.get("/v1/bandits").json["bandits"]}
        assert lines["mine"]["waiting"] == 0
        assert lines["theirs"]["decisions"] == 1
        assert lines["theirs"]["waiting"] is None
        assert lines["theirs"]["policy"] == "LBSDAGM()"
        admin = Visitor(shop, shop.key)
        page = text_of(admin.get())
        assert "theirs" in page
        assert "open elsewhere" in page
        answer = admin.get("/bandits/theirs")
        assert answer.status == 503
        assert "is open" in text_of(answer)


def test_a_key_for_a_bandit_reads_its_segments(service, shop):
    for segment in ("de", "fr"):
        shop.post(f"{BUTTON}/decisions", {"segment": segment})
    shop.state.host.store.create("button@not", lb.LBSDAGM(), ["x", "y"])  # it could be there
    key, _ = shop.state.keys.create(["read"], bandits=["button"])
    other, _ = shop.state.keys.create(["read"], bandits=["knob"])
    for path in ("button%40de", "button%40fr/summary", "button%40de/changes"):
        assert shop.get(f"/v1/bandits/{path}", key=key).status == 200
        assert shop.get(f"/v1/bandits/{path}", key=other).kind == "forbidden"
    assert shop.get("/v1/bandits/button%40not", key=key).kind == "forbidden"
    assert shop.get("/v1/bandits/button%40missing", key=key).kind == "not-found"
    assert shop.get("/v1/bandits/knob2%40de", key=key).kind == "forbidden"
    # The same when the segment is not open yet.
    shop.close()
    again = service()
    for name in [*again.state.host.bandits]:
        again.state.host.lose([again.state.host.bandits[name].number])
    assert again.get("/v1/bandits/button%40de", key=other).kind == "forbidden"
    visitor = Visitor(again, key)
    assert visitor.get("/bandits/button%40de").status in (200, 503)
    assert visitor.get("/bandits/button%40not").status in (403, 503)
