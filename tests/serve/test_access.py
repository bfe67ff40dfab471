"""Keys, scopes, limits, addresses and methods."""

import asyncio
import json
import logging
import re
import time

import pytest

import lastblock as lb
from lastblock.cli.program import main
from lastblock.serve.keys import Keys
from lastblock.serve.limits import Limits
from lastblock.serve.problems import ProblemError
from lastblock.serve.server import open_service
from lastblock.serve.settings import SettingError, Settings
from serve.client import Service
from serve.visitor import Visitor

DECIDE = "/v1/bandits/button/decisions"


@pytest.fixture(scope="module")
def open_shop(tmp_path_factory):
    place = tmp_path_factory.mktemp("open") / "shop.db"
    shop = Service(place, insecure=True, allowed_hosts="a.example, shop.example")
    shop.create()
    yield shop
    shop.close()


def test_without_a_key_nothing_but_health_is_answered(shop):
    for route in shop.app.api:
        path = route.path.replace("{name}", "button").replace("{label}", "red")
        answer = shop.call(route.method, path.replace("{token}", "x"), {}, key="")
        if route.path in ("/livez", "/readyz", "/openapi.json"):
            assert answer.status == 200
        else:
            assert answer.kind == "unauthorized", path
            assert answer.headers["www-authenticate"].startswith("Bearer")


@pytest.mark.parametrize("scopes", [["ask"], ["tell"], ["read"], ["ask", "tell"], ["admin"]])
def test_a_scope_allows_what_it_says(shop, scopes):
    key, _ = shop.state.keys.create(scopes)
    token = shop.decide().json["token"]
    calls = {
        "ask": ("POST", DECIDE, {}),
        "tell": ("PUT", f"/v1/decisions/{token}/reward", {"reward": 1.0}),
        "read": ("GET", "/v1/bandits/button", None),
        "admin": ("PATCH", "/v1/bandits/button", {"description": "x"}),
    }
    for right, (method, path, body) in calls.items():
        answer = shop.call(method, path, body, key=key)
        if right in scopes or "admin" in scopes:
            assert answer.status < 300, right
        else:
            assert answer.kind == "forbidden", right


def test_a_key_for_one_bandit_reaches_no_other(shop):
    shop.create("other", segments=1)
    shop.decide("other", segment="fr")
    token = shop.decide("other").json["token"]
    key, _ = shop.state.keys.create(["ask", "tell", "read"], bandits=["button"])
    assert shop.post(DECIDE, key=key).status == 201
    assert shop.post("/v1/bandits/other/decisions", key=key).kind == "forbidden"
    assert shop.get("/v1/bandits/other", key=key).kind == "forbidden"
    assert shop.put(f"/v1/decisions/{token}/reward", {"reward": 1}, key=key).kind == "forbidden"
    assert [each["name"] for each in shop.get("/v1/bandits", key=key).json["bandits"]] == ["button"]
    metrics = shop.get("/metrics", key=key).body.decode()
    assert 'bandit="button"' in metrics
    assert '"other' not in metrics
    assert "lastblock_bandits 1" in metrics


def test_a_stream_ends_with_its_key(shop):
    text, key = shop.state.keys.create(["read"])
    visitor = Visitor(shop, text)

    async def follow():
        streams = [
            asyncio.ensure_future(shop.request("GET", path, key=text, headers=headers))
            for path, headers in (
                ("/v1/bandits/button/events", {}),
                ("/dashboard/bandits/button/events", {"cookie": visitor.cookie}),
                ("/dashboard/bandits/button/pulse", {"cookie": visitor.cookie}),
            )
        ]
        await asyncio.sleep(0.1)
        shop.state.keys.rotate(key.id)
        return await asyncio.wait_for(asyncio.gather(*streams), 5)

    assert [each.status for each in shop.runner.run(follow())] == [200] * 3


@pytest.mark.parametrize(
    ("given", "status"),
    [
        ({"host": "evil.example"}, 421),
        ({"host": "evil.example:8000"}, 421),
        ({"host": "127.0.0.1.evil.example"}, 421),
        ({"host": "[x"}, 421),
        ({"host": "localhost:8000", "origin": "http://localhost:8000"}, 201),
        ({"host": "127.0.0.1:8000"}, 201),
        ({"host": "[::1]:8000", "sec-fetch-site": "same-origin"}, 201),
        ({"host": "Shop.example"}, 201),
        ({"host": "10.0.0.7", "origin": "https://shop.example"}, 201),
        (
            {"host": "10.0.0.7", "origin": "https://shop.example", "sec-fetch-site": "same-site"},
            201,
        ),
        ({"host": "localhost:8000", "origin": "https://evil.example"}, 403),
        ({"host": "localhost:8000", "origin": "http://localhost:3000"}, 403),
        ({"host": "localhost:8000", "origin": "null"}, 403),
        ({"host": "localhost:8000", "sec-fetch-site": "cross-site"}, 403),
    ],
)
def test_without_keys_pages_of_others_are_refused(open_shop, given, status):
    assert open_shop.post(DECIDE, headers=given, key="").status == status
    read = 421 if status == 421 else 200
    for path in ("/livez", "/v1/bandits", "/openapi.json"):
        assert open_shop.get(path, headers=given, key="").status == read


def test_only_digests_of_keys_are_stored(shop, tmp_path):
    secret = shop.key.split("_", 2)[2]  # which may have more of these
    shop.close()
    for path in tmp_path.iterdir():
        assert secret[:20].encode() not in path.read_bytes()


def test_keys_are_rotated_revoked_and_end(shop):
    made = shop.post("/v1/keys", {"scopes": ["ask"], "name": "page", "days": 1})
    assert made.status == 201
    assert made.headers["cache-control"] == "no-store"
    old, id = made.json["key"], made.json["id"]
    assert shop.post(DECIDE, key=old).status == 201
    new = shop.post(f"/v1/keys/{id}/rotate").json["key"]
    assert shop.post(DECIDE, key=old).status == 401
    assert shop.post(DECIDE, key=new).status == 201
    assert [key["name"] for key in shop.get("/v1/keys").json["keys"]] == ["", "page"]
    assert "digest" not in shop.get("/v1/keys").body.decode()
    assert shop.delete(f"/v1/keys/{id}").status == 204
    assert shop.post(DECIDE, key=new).status == 401
    assert shop.delete(f"/v1/keys/{id}").kind == "not-found"
    assert shop.delete(f"/v1/keys/{shop.admin.id}").kind == "conflict"
    short, _ = shop.state.keys.create(["ask"], days=1e-9)
    time.sleep(0.001)
    assert shop.post(DECIDE, key=short).status == 401


@pytest.mark.parametrize("key", ["x", "lb_", "lb_000000000000_" + "A" * 43, "ü"])
def test_wrong_keys_are_refused(shop, key):
    assert shop.post(DECIDE, headers={"authorization": f"Bearer {key}"}, key="").status == 401
    good = shop.key
    assert shop.post(DECIDE, key=good[:-1] + ("A" if good[-1] != "A" else "B")).status == 401


def test_secrets_are_not_logged(shop, caplog):
    caplog.set_level(logging.DEBUG)
    shop.post(DECIDE)
    shop.post("/v1/keys", {"scopes": ["ask"]})
    assert not re.search(r"lb_\w{12}_", caplog.text)


def test_the_program_looks_after_keys(tmp_path, capsys, shop):
    store = str(tmp_path / "shop.db")
    options = ["--scope", "ask", "--bandit", "button", "--name", "page"]
    assert main(["keys", "create", store, *options]) == 0
    key = capsys.readouterr().out.strip()
    shop.state.keys.refresh()
    assert shop.post(DECIDE, key=key).status == 201
    assert main(["keys", "list", store]) == 0
    listed = capsys.readouterr().out
    assert "page" in listed
    assert key not in listed
    assert main(["keys", "rotate", store, key.split("_")[1]]) == 0
    newer = capsys.readouterr().out.strip()
    assert main(["keys", "revoke", store, newer]) == 0
    shop.state.keys.refresh()
    assert shop.post(DECIDE, key=newer).status == 401
    assert main(["keys", "revoke", store, "nothing"]) == 2
    assert "there is no key 'nothing'" in capsys.readouterr().err


def test_beyond_the_loopback_a_service_needs_keys(tmp_path):
    settings = Settings(store=str(tmp_path / "new.db"), host="0.0.0.0")
    with pytest.raises(SettingError, match="has no keys yet"):
        open_service(settings)
    with lb.Store(settings.store) as store:
        Keys(store.documents).create(["admin"])
    open_service(settings).host.store.close()


def test_too_many_requests_are_told_when_to_come_again(service):
    shop = service(rate_limit=0.5)
    first = [shop.get("/v1/bandits").status for _ in range(3)]
    assert first == [200, 429, 429]
    assert 1 <= int(shop.get("/v1/bandits").headers["retry-after"]) <= 2
    other, _ = shop.state.keys.create(["read"])
    assert shop.get("/v1/bandits", key=other).status == 200


def test_a_bucket_fills_again():
    now = [0.0]
    limits = Limits(10.0, burst=3.0, clock=lambda: now[0])
    for now[0], times in ((0.0, 3), (0.1, 1)):
        for _ in range(times):
            limits.take("a")
        with pytest.raises(ProblemError):
            limits.take("a")


def test_methods_and_names_that_are_not_known(shop):
    assert shop.get(DECIDE).headers["allow"] == "POST"
    assert shop.call("HEAD", "/livez").status == 200
    key, _ = shop.state.keys.create(["read"], bandits=["buton"])
    hidden = shop.get("/v1/bandits/buton", key=key)  # of which no other name may be told
    assert (hidden.kind, hidden.json["detail"]) == ("not-found", "there is no bandit 'buton'")


def test_the_description_names_every_operation_and_type(shop):
    document = json.loads(shop.get("/openapi.json", key="").body)
    assert document["openapi"] == "3.1.0"
    described = {
        (method.upper(), path) for path, item in document["paths"].items() for method in item
    }
    assert described == {(route.method, route.path) for route in shop.app.api}
    names = [item["operationId"] for path in document["paths"].values() for item in path.values()]
    assert len(set(names)) == len(names)
    references = set(re.findall(r"#/components/schemas/([\w.]+)", json.dumps(document)))
    assert references <= document["components"]["schemas"].keys()


def test_metrics_count_requests_decisions_and_rewards(shop):
    token = shop.decide().json["token"]
    shop.reward(token, 0.5)
    shop.get("/nowhere")
    text = shop.get("/metrics").body.decode()
    for line in (
        f'lastblock_requests_total{{method="POST",path="{DECIDE.replace("button", "{name}")}",'
        'status="201"} 1',
        'lastblock_requests_total{method="GET",path="(unknown)",status="404"} 1',
        'lastblock_waiting_rewards{bandit="button"} 0',
        "lastblock_unwritten_events 0",
    ):
        assert line in text.splitlines(), text
    assert re.search(r'lastblock_decisions_total\{bandit="button",arm="\w+"\} 1\n', text)
    assert re.search(r'lastblock_reward_sum\{bandit="button",arm="\w+"\} 0.5\n', text)
