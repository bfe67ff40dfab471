"""The dashboard's floors, alerts, holdout, guardrail, segments, and bandits of others."""

import random

import lastblock as lb
from lastblock.serve.dashboard.glance import webhook
from lastblock.serve.dashboard.pages import difference
from lastblock.serve.uplift import uplift
from serve.visitor import Visitor, text_of

BUTTON = "/v1/bandits/button"
RED, BLUE = 'floor "red"', 'floor "blue"'


def floors(shop):
    return [arm["floor"] for arm in shop.get(BUTTON).json["arms"]]


def test_floors_are_set(shop, admin):
    assert 'name="every"' in admin.get("/bandits/button").body.decode()
    assert admin.post("/bandits/button/floors", {"every": "5"}).status == 303
    assert floors(shop) == [0.05, 0.05, 0.05]
    assert 'name="every" inputmode="decimal" maxlength="20" placeholder="none" value="5"' in (
        admin.get("/bandits/button").body.decode()
    )
    single = {"every": "", RED: "12,5 %", BLUE: "10"}
    assert admin.post("/bandits/button/floors", single).status == 303
    assert floors(shop) == [0.125, None, 0.1]
    assert "12.5" in admin.get("/bandits/button").body.decode()
    assert "floors hold" in admin.read("/bandits/button?done=floors")
    admin.post("/bandits/button/floors", {"every": "", RED: "", BLUE: "0"})
    assert floors(shop) == [None, None, None]


def test_the_time_line_has_what_happened_to_arms(shop, admin):
    shop.learn([1.0, 0.0])
    assert admin.get("/bandits/button/history").json["milestones"] == []
    shop.post(f"{BUTTON}/arms", {"label": "gold"})
    shop.patch(f"{BUTTON}/arms/gold", {"paused": True})
    shop.patch(f"{BUTTON}/arms/gold", {"paused": False})
    shop.patch(BUTTON, {"floor": 0.1})
    shop.delete(f"{BUTTON}/arms/green")
    for _ in range(2):  # what was counted before is not counted twice
        found = admin.get("/bandits/button/history").json["milestones"]
        said = ", ".join(each["text"] for each in found)
        assert said == "gold added, gold paused, gold resumed, floors set, green retired"


def test_alerts_are_listed(shop, admin):
    assert "All quiet" in admin.read("/alerts")
    shop.state.alerts.note("arm-paused", "button", "Arm 'red' is paused.", {"arm": "red"})
    shop.state.alerts.note("change", "other", "A change.", {})
    assert "A change." in admin.read("/alerts")
    assert "no webhook" in admin.read("/alerts")
    key, _ = shop.state.keys.create(["read"], bandits=["button"])
    pages = [admin.read("/bandits/button"), Visitor(shop, key).read("/alerts")]
    for page in pages:
        assert "Arm 'red' is paused." in page
        assert "A change." not in page


def test_deliveries_are_shown_with_the_host_of_the_webhook_only(service):
    shop = service(
        alert_url="https://u:p@shop.example/hooks/a?b=c", alert_secret="of the webhook, long enough"
    )
    kept = {"id": "1", "time": "2026-01-01T00:00:00+00:00", "kind": "change", "bandit": "gone"}
    kept |= {"text": "It changed.", "data": {}, "state": "failed", "attempts": 20}
    kept["problem"] = "the webhook answered 500"
    shop.state.host.store.documents.put("alerts", "1", kept)
    shop.state.alerts.load()
    page = Visitor(shop, shop.key).read("/alerts")
    assert "20 attempts: the webhook answered 500" in page
    assert "https://shop.example/…" in page
    assert "hooks" not in page  # an address may have a secret in it
    assert "u:p" not in page
    urls = ["", "http://a", "https://k@a:1/", "http://a?k"]
    assert [webhook(url) for url in urls] == ["", "http://a", "https://a:1", "http://a/…"]


def test_the_page_shows_holdout_guardrail_and_segments(shop, admin):
    rail = {"control": "red", "worse": "higher", "metric": "load time"}
    shop.create("held", guardrail=rail, holdout={"share": 0.5, "control": "red"})
    page = admin.read("/bandits/held")
    assert "No values have come yet" in page
    assert "too few rewards yet" in page
    rng, values = random.Random(1), {"red": 1.0, "green": 2.0, "blue": 9.0}
    for segment in [None] * 30 + ["de-mobile"] * 10:
        made = shop.decide("held", unit=f"user {rng.random()}", segment=segment).json
        guardrail = values[made["arm"]] + rng.random()
        reward = float(rng.random() < 0.5)
        assert shop.reward(made["token"], reward, guardrail=guardrail).status == 204
    page, listed = admin.read("/bandits/held"), admin.read()
    found = difference(uplift(shop.state.host.bandits["held"]).difference, True)
    gained = " ".join(found.split())
    for words in (
        "50 % of the units always get red",
        "Guardrail: load time",
        "surely higher than those of red",
        "de-mobile",
        "Decisions 40",
        f"Uplift over the holdout {gained}",
    ):
        assert words in page
    assert gained in listed
    assert "40" in listed
    assert "@@holdout" not in listed
    assert "@@holdout" in admin.read("?q=holdout")
    segment = admin.read("/bandits/held%40de-mobile")
    assert "This is the segment de-mobile of held" in segment
    assert "Add an arm" not in segment
    assert "This is the holdout of held" in admin.read("/bandits/held%40%40holdout")


def test_bandits_that_others_have_open_are_listed_and_served_once_released(service, tmp_path):
    with lb.Store(tmp_path / "shop.db", keep_events=True) as store:
        theirs = store.create("theirs", lb.LBSDAGM(), ["a", "b"], seed=1)
        theirs.tell(theirs.ask(), 1.0)
        shop = service()
        shop.create("mine")
        lines = {each["name"]: each for each in shop.get("/v1/bandits").json["bandits"]}
        assert lines["mine"]["waiting"] == 0
        found = [lines["theirs"][each] for each in ("decisions", "waiting", "policy")]
        assert found == [1, None, "LBSDAGM()"]
        admin = Visitor(shop, shop.key)
        assert "theirs" in admin.read()
        assert "open elsewhere" in admin.read()
        answer = admin.get("/bandits/theirs")
        assert answer.status == 503
        assert "is open" in text_of(answer)
        busy = shop.decide("theirs")
        assert (busy.status, busy.kind) == (503, "unavailable")
        assert "open in" in busy.json["detail"]
        store.release("theirs")
        assert shop.decide("theirs").status == 201
    assert shop.get("/v1/bandits/theirs").json["created"] is None


def test_a_key_for_a_bandit_reads_its_segments(service, shop):
    for segment in ("de", "fr"):
        shop.decide(segment=segment)
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
