"""Who may see and change what on the dashboard."""

import re

import pytest

from lastblock.serve.dashboard.sign_in import HOURS, Sessions
from serve.visitor import Visitor, text_of


def test_every_page_needs_a_session(shop):
    visitor, seen = Visitor(shop), 0
    for route in shop.app.dashboard.routes():
        path = route.path.replace("{name}", "button").removeprefix("/dashboard")
        if route.path in ("/", "/dashboard/assets/{file}") or "/sign-" in path:
            continue
        seen += 1
        if route.method == "GET":
            answer = visitor.get(path)
            assert answer.headers["location"].startswith("/dashboard/sign-in?next="), path
            assert answer.body == b""
        else:
            assert visitor.post(path).status == 401, path
    assert seen > 12
    way = visitor.get("/bandits/button").headers["location"]
    assert way == "/dashboard/sign-in?next=%2Fbandits%2Fbutton"
    assert "Sign in" in visitor.read("/sign-in")
    assert shop.get("/", key="").headers["location"] == "/dashboard"


def test_sign_in_and_out(shop):
    visitor = Visitor(shop)
    assert visitor.sign_in("lb_000000000000_" + 43 * "x").status == 401
    answer = visitor.sign_in(f" {shop.key} ", next="/bandits/button")
    assert answer.headers["location"] == "/dashboard/bandits/button"
    cookie = answer.headers["set-cookie"]
    assert {"HttpOnly", "SameSite=Strict", "Path=/dashboard"} <= set(cookie.split("; "))
    assert shop.key not in cookie
    assert visitor.get().status == 200
    assert visitor.post("/sign-out").headers["set-cookie"].startswith("lastblock_session=;")
    assert visitor.get().status == 303  # the cookie is worth nothing, even if somebody kept it


def test_a_sign_in_never_leads_away(shop):
    evil = "//evil.example", "https://evil.example", "/\\evil", "evil", "/sign-out", "/a\r\nX: 1"
    for away in evil:
        answer = Visitor(shop).sign_in(shop.key, next=away)
        assert (answer.status, answer.headers["location"]) == (303, "/dashboard"), away


def test_a_session_ends_with_its_key_and_by_itself(shop):
    text, key = shop.state.keys.create(["read"])
    reader = Visitor(shop, text)
    assert reader.get().status == 200
    shop.state.keys.revoke(key.id)
    assert reader.get().status == 303
    now = [1000.0]
    sessions = Sessions(shop.state.host.store.documents, shop.state.keys, clock=lambda: now[0])
    cookie = sessions.begin(shop.admin, shop.key)
    assert sessions.read(cookie).key == shop.admin
    for read in (shop.admin.digest, "x"):  # what a reader of the store has, with its secret
        assert sessions.read(sessions.begin(shop.admin, f"lb_{shop.admin.id}_{read}")) is None
    assert sessions.read(cookie[:-1] + ("0" if cookie[-1] != "0" else "1")) is None
    id, ends, *rest = cookie.split(".")
    assert sessions.read(".".join([id, str(int(ends) + 1), *rest])) is None
    now[0] += HOURS * 3600
    assert sessions.read(cookie) is None


def test_who_cannot_read_cannot_sign_in(shop):
    key, _ = shop.state.keys.create(["ask", "tell"])
    assert "no scope 'read'" in text_of(Visitor(shop).sign_in(key))


FORMS = [
    ("/bandits/button/pause", {"paused": "yes"}),
    ("/bandits/button/arms", {"label": "gold"}),
    ("/bandits/button/arms/pause", {"arm": '"red"', "paused": "yes"}),
    ("/bandits/button/arms/retire", {"arm": '"red"'}),
    ("/bandits/button/floors", {"every": "5"}),
]


@pytest.mark.parametrize(("path", "fields"), FORMS)
def test_forms_are_for_admins_and_for_this_page_only(shop, admin, reader, path, fields):
    before = shop.get("/v1/bandits/button").json
    assert reader.post(path, fields).status == 403
    assert admin.post(path, fields, token="").status == 403
    assert admin.post(path, fields, token=reader.token).status == 403
    for headers in ({"sec-fetch-site": "cross-site"}, {"origin": "https://evil.example"}):
        foreign = {"host": "shop.example", **headers}
        assert admin.post(path, fields, headers=foreign).status == 403
    assert admin.post(path, fields, headers={"content-type": "text/plain"}).status == 415
    assert shop.get("/v1/bandits/button").json == before


def test_readers_see_no_forms(reader, admin):
    assert "<h2" in admin.get("/bandits/button").body.decode()
    page = reader.get("/bandits/button").body.decode()
    assert re.findall(r'action="([^"]*)"', page) == ["/dashboard/sign-out"]
    assert "/dashboard/bandits/button/arms" in admin.get("/bandits/button").body.decode()


def test_a_key_for_one_bandit_shows_no_other(shop):
    shop.create("other")
    key, _ = shop.state.keys.create(["read"], bandits=["other"])
    visitor = Visitor(shop, key)
    assert "button" not in text_of(visitor.get())
    for path in ("", "/history", "/part", "/events", "/pulse"):
        assert visitor.get(f"/bandits/button{path}").status == 403
    assert visitor.get("/events?bandit=button").status == 403
    assert visitor.get("/bandits/other").status == 200
