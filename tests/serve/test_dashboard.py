"""What the dashboard says and does, without a browser."""

import re
import time
from types import SimpleNamespace
from urllib.parse import quote

import pytest

from lastblock.drawing.styles import COLOURS
from lastblock.serve.dashboard import glance as module
from lastblock.serve.dashboard.glance import Traffic, glance, health
from lastblock.serve.dashboard.pages import assets
from serve.visitor import Visitor, text_of

HOSTILE = "</script><script>document.evil = 1</script>\"'><img src=x onerror=document.evil=1>"


def learn(shop, times=30):
    shop.learn([float(number % 3 == 0) for number in range(times)])


def test_arms_and_pauses(shop, admin):
    answer = admin.post("/bandits/button/arms", {"label": "gold", "payload": '{"price": 9}'})
    assert answer.headers["location"] == "/dashboard/bandits/button?done=added#change"
    fields = {"arm": '"green"', "paused": "yes"}
    assert admin.post("/bandits/button/arms/pause", fields).status == 303
    assert "green paused" in admin.read("/bandits/button")
    assert shop.get("/v1/bandits/button").json["arms"][1]["state"] == "paused"
    assert admin.post("/bandits/button/arms/pause", {**fields, "paused": "no"}).status == 303
    assert admin.post("/bandits/button/arms/retire", {"arm": '"red"'}).status == 303
    assert admin.post("/bandits/button/pause", {"paused": "yes"}).status == 303
    found = shop.get("/v1/bandits/button").json
    states = {arm["label"]: arm["state"] for arm in found["arms"]}
    assert states == {"red": "retired", "green": "active", "blue": "active", "gold": "active"}
    assert found["arms"][3]["payload"] == {"price": 9}
    assert found["paused"]
    assert "it takes rewards, but no decisions" in admin.read("/bandits/button?done=paused")
    assert admin.post("/bandits/button/pause", {"paused": "no"}).status == 303
    assert not shop.get("/v1/bandits/button").json["paused"]


@pytest.mark.parametrize(
    ("path", "fields", "said"),
    [
        ("arms", {"label": ""}, "Give the new arm a label"),
        ("arms", {"label": "gold", "payload": "{"}, "payload is not JSON"),
        ("arms", {"label": "red"}, "exists, or has been retired"),
        ("arms/retire", {"arm": '"gold"'}, "has no such arm"),
        ("arms/retire", {"arm": "red"}, "has no such arm"),
        ("arms/pause", {"arm": "[]", "paused": "yes"}, "has no such arm"),
        ("floors", {"every": "x"}, "The floor of every arm is 'x'"),
        ("floors", {"every": "-1"}, "give 0 to 100 percent"),
        ("floors", {"every": "50"}, "the shares of 3 arms add up to 1.5"),
        ("floors", {"every": "5", 'floor "red"': "5"}, "not both"),
        ("floors", {'floor "red"': "nan"}, "The floor of 'red' is 'nan'"),
    ],
)
def test_mistakes_are_explained(shop, admin, path, fields, said):
    before = shop.get("/v1/bandits/button").json
    answer = admin.post(f"/bandits/button/{path}", fields)
    assert 400 <= answer.status < 500
    assert said in text_of(answer)
    assert shop.get("/v1/bandits/button").json == before


def test_the_page_of_a_bandit(shop, admin):
    assert "Nothing" not in admin.read("/bandits/button")
    learn(shop)
    page = admin.read("/bandits/button")
    assert "leads." in page  # the duels of the last round, in words
    assert "The policy has noticed none." in page
    assert '{"price":7}' in page
    assert "30" in admin.read()
    answer = admin.get("/bandits/button/part")
    assert "script-src 'self'" in answer.headers["content-security-policy"]
    assert "unsafe" not in answer.headers["content-security-policy"]
    assert answer.headers["x-content-type-options"] == "nosniff"
    assert b'id="figures"' in answer.body
    assert b'id="details"' in answer.body
    assert "tell" in admin.read("/events?bandit=button")
    assert admin.get("/bandits/nobody").status == 404
    assert admin.get("/events?bandit=nobody").status == 404


def test_the_history_counts_every_event(shop, admin):
    assert admin.get("/bandits/button/history").json["times"] == []
    for times in (30, 12):
        learn(shop, times=times)
        found = admin.get("/bandits/button/history").json
    assert sum(found["decisions"]) == 42
    assert [arm["label"] for arm in found["arms"]] == ["red", "green", "blue"]
    assert [arm["mark"]["colour"] for arm in found["arms"]] == [0, 1, 2]
    for k, begin in enumerate(found["times"]):
        shares = [arm["share"][k] for arm in found["arms"]]
        assert begin % found["length"] == 0
        assert None in shares or sum(shares) == pytest.approx(1.0, abs=1e-4)
    for arm in found["arms"]:
        for mean, low, high in zip(arm["mean"], arm["low"], arm["high"], strict=True):
            assert mean is None or 0.0 <= low <= mean <= high <= 1.0


def test_a_thousand_bandits_come_in_pages(shop, admin):
    hosted = shop.state.host.bandits["button"]
    for number in range(1000):
        shop.state.host.bandits[f"bandit {number:03d}"] = hosted  # the list needs no more of them
    page = admin.get()
    assert page.body.decode().count('scope="row"') == 50
    assert "1 001 bandits, page 1 of 21" in text_of(page)
    assert admin.get("?page=21").body.decode().count('scope="row"') == 1
    assert "page 21 of 21" in admin.read("?page=999")
    assert "10 bandits" in admin.read("?q=BANDIT%2000")
    page = admin.get("?q=" + quote(HOSTILE))
    assert "No bandit has" in text_of(page)
    assert b"<img" not in page.body


def test_everybody_is_admin_without_keys(service):
    shop = service(insecure=True)
    shop.create()
    visitor = Visitor(shop)
    assert visitor.post("/bandits/button/pause", {"paused": "yes"}).status == 403  # no token yet
    answer = visitor.get("/bandits/button")
    visitor.cookie = answer.headers["set-cookie"].partition(";")[0]
    visitor.token = re.search(r'name="token" value="(\w+)"', answer.body.decode())[1]
    assert visitor.post("/bandits/button/pause", {"paused": "yes"}).status == 303
    assert "whoever reaches this page may do everything" in text_of(answer)


@pytest.mark.parametrize("root", ["/shop", "/a/dashboard"])
def test_under_another_path(service, root):
    shop = service(root_path=root)
    assert shop.get(f"{root}/livez").status == 200
    new = {"name": "button", "policy": "LBSDAGM", "arms": ["red", "green", "blue"]}
    made = shop.post(f"{root}/v1/bandits", new)
    assert made.headers["location"] == f"{root}/v1/bandits/button"
    answer = shop.get(f"{root}/dashboard/bandits/button", key="")
    assert answer.headers["location"] == f"{root}/dashboard/sign-in?next=%2Fbandits%2Fbutton"
    visitor = Visitor(shop)
    answer = visitor.post("/sign-in", {"key": shop.key, "next": "/bandits/button"})
    assert answer.headers["location"] == f"{root}/dashboard/bandits/button"
    assert f"Path={root}/dashboard;" in answer.headers["set-cookie"]
    visitor.cookie = answer.headers["set-cookie"].partition(";")[0]
    page = visitor.get("/bandits/button").body.decode()
    links = re.findall(r'(?:href|src|action|data-base)="(/[^"]*)"', page)
    assert links
    assert all(link.startswith(f"{root}/dashboard") for link in links)


def test_the_traffic_of_the_last_minutes(shop, service, monkeypatch):
    clock = SimpleNamespace(now=time.time() // 60 * 60 + 1)
    monkeypatch.setattr(module, "time", SimpleNamespace(time=lambda: clock.now))
    hosted, traffic = shop.state.host.bandits["button"], Traffic(shop.state.host.store, minutes=4)
    for times in (3000, 0, 2, 1):
        if times:
            shop.decide(n=times)
        assert traffic.of(hosted)[-1] == times  # at once, not when the minute is over
        clock.now += 60.0
    assert traffic.of(hosted) == [0, 2, 1, 0]
    traffic.note([])
    assert traffic._rings == {}  # deleted: nothing is kept


def test_the_traffic_of_the_last_hour_outlives_a_restart(shop, service):
    shop.decide(n=3000)
    shop.close()
    shop = service()
    shop.decide(n=5)
    visitor = Visitor(shop, shop.state.keys.create(["read"])[0])
    (most,) = re.findall(r"in the last hour, at most ([\d\s]+)", visitor.get().body.decode())
    assert 1500 <= int("".join(most.split())) <= 3005  # a minute may have ended meanwhile


def test_health_in_a_word(shop):
    hosted = shop.state.host.bandits["button"]

    def word(problem=None):
        return health(glance(hosted), is_silent=hosted.is_silent, problem=problem).word

    assert word() == "no traffic yet"
    shop.decide(n=20)
    assert word() == "no rewards yet"
    learn(shop, times=1)
    assert word() == "healthy"
    for minute in range(12):
        hosted.silence.decide(20, time.monotonic() + 60.0 * minute, hosted.silence_limit)
    assert word() == "rewards have stopped"
    learn(shop, times=1)
    assert word() == "healthy"
    assert word("the disk is full") == "not written"
    hosted.paused = True
    assert word() == "paused"


def test_files_that_pages_load_and_the_colours_of_all_figures(shop):
    for name, (_, data, etag) in assets().items():
        answer = shop.get(f"/dashboard/assets/{name}", key="")
        assert (answer.status, answer.body) == (200, data)
        headers = {"if-none-match": etag}
        assert shop.get(f"/dashboard/assets/{name}", key="", headers=headers).status == 304
        assert not re.search(rb"https?://(?!github.com/leeoniya|www.w3.org)", data)
    assert b"MIT License" in assets()["uplot-LICENSE.txt"][1]
    for path in ("..%2Fpages.py", "x"):
        assert shop.get(f"/dashboard/assets/{path}", key="").status == 404
    css = assets()["dashboard.css"][1].decode().partition("@media")[0]
    found = dict(re.findall(r"--c(\d): (#\w+);", css))
    assert [found[str(k)].upper() for k in range(7)] == [each.upper() for each in COLOURS[:7]]


def test_while_it_starts_the_page_says_so(shop, admin):
    shop.state.host.is_ready, shop.state.host.why_not = False, "opening bandit 3 of 9"
    answer = admin.get()
    assert (answer.status, answer.headers["refresh"]) == (503, "3")
    assert "opening bandit 3 of 9" in text_of(answer)
    shop.state.host.is_ready = True
