"""Several servers on one database: each bandit has one of them, and the others forward to it."""

import contextlib
import http.client
import re
import signal
import time

import pytest

import lastblock as lb
from lastblock.serve.forwarding import COLLECTION, HEADER, ElsewhereError, Peers, address_for
from lastblock.serve.settings import Settings
from serve.client import Service
from serve.program import NEW, Program

DECIDE = "/v1/bandits/button/decisions"


@pytest.fixture(scope="module")
def place(server):
    return server.url(schema="several")


@pytest.fixture(scope="module")
def servers(place):
    """The first has the bandit "button", the second "price"."""
    with Program(place) as first:
        assert first.call("POST", "/v1/bandits", NEW)[0] == 201
        with Program(place) as second:
            second.key = first.key
            assert second.call("POST", "/v1/bandits", {**NEW, "name": "price"})[0] == 201
            yield first, second


@pytest.fixture
def one(servers):
    """A connection to the second server."""
    with contextlib.closing(http.client.HTTPConnection(*servers[1].at, timeout=30)) as made:
        yield made


def test_any_server_answers_for_any_bandit(servers):
    for each in servers:
        for bandit in ("button", "price"):
            status, made = each.call("POST", f"/v1/bandits/{bandit}/decisions", {})
            assert status == 201
            path = f"/v1/decisions/{made['token']}/reward"
            assert [each.call("PUT", path, {"reward": r})[0] for r in (1, 1, 0)] == [204, 204, 409]
    first, second = servers
    assert first.call("GET", "/v1/bandits/price") == second.call("GET", "/v1/bandits/price")
    assert first.call("POST", "/v1/bandits", {**NEW, "name": "price"})[0] == 409
    assert first.call("GET", "/v1/bandits/nobody")[0] == 404


def test_the_list_has_the_bandits_of_all_servers_in_pages(servers):
    for each in servers:
        page = each.call("GET", "/v1/bandits?limit=1")[1]
        assert ([b["name"] for b in page["bandits"]], page["following"]) == (["button"], "button")
        page = each.call("GET", "/v1/bandits?limit=1&after=button")[1]
        assert ([b["name"] for b in page["bandits"]], page["following"]) == (["price"], None)


def test_rewards_for_bandits_of_several_servers_have_results_or_are_atomic(servers):
    first = servers[0]
    made = [
        first.call("POST", f"/v1/bandits/{bandit}/decisions", {"n": 2})[1]["decisions"]
        for bandit in ("button", "price")
    ]
    tokens = [each["token"] for pair in made for each in pair]

    def batch(*rewards, atomic=True):
        told = [{"token": t, "reward": r} for t, r in zip(tokens, rewards, strict=True)]
        body = {"rewards": told, "atomic": atomic}
        return [each.call("POST", "/v1/rewards:batch", body) for each in servers]

    def waiting():
        return [first.call("GET", f"/v1/bandits/{b}")[1]["waiting"] for b in ("button", "price")]

    assert first.call("PUT", f"/v1/decisions/{tokens[3]}/reward", {"reward": 1})[0] == 204
    assert waiting() == [2, 1]
    for status, problem in batch(1, 0, 1, 0):
        assert (status, problem["place"], problem["token"]) == (409, 3, tokens[3])
    assert waiting() == [2, 1]
    for status, found in batch(1, 0, 1, 0, atomic=False):
        problems = [each.get("problem", {}).get("status") for each in found["results"]]
        assert (status, problems, found["taken"]) == (200, [None, None, None, 409], 3)
    assert waiting() == [0, 0]
    assert [found["taken"] for _, found in batch(1, 0, 1, 1)] == [4, 4]


def test_long_answers_are_forwarded_and_loops_are_not(servers, one):
    _, second = servers
    headers = {"Authorization": f"Bearer {second.key}"}
    one.request("GET", "/v1/bandits/button/export?format=parquet", headers=headers)
    assert one.getresponse().read()[:4] == b"PAR1"
    one.request("HEAD", "/v1/bandits/button", headers=headers)
    answer = one.getresponse()
    assert (answer.status, answer.read()) == (200, b"")
    one.request("POST", DECIDE, headers={**headers, HEADER.decode(): "another"})
    answer = one.getresponse()
    assert (answer.status, answer.headers["retry-after"]) == (503, "1")
    answer.read()
    assert second.call("POST", DECIDE, {})[0] == 201
    one.request("GET", "/v1/bandits/button/events?after=0", headers=headers)
    with one.getresponse() as answer:
        while not answer.readline().startswith(b"event: ask"):
            pass


def test_the_dashboard_of_any_server_shows_and_changes_any_bandit(servers, one):
    first, second = servers
    form = {"Content-Type": "application/x-www-form-urlencoded"}

    def visit(path, body=None):
        one.request("GET" if body is None else "POST", f"/dashboard{path}", body, form)
        answer = one.getresponse()
        return answer.status, answer.headers, answer.read().decode()

    _, headers, _ = visit("/sign-in", f"key={second.key}")
    form["Cookie"] = headers["Set-Cookie"].partition(";")[0]
    for name in ("button", "price"):
        assert f">{name}</bdi>" in visit("")[2]
        status, _, page = visit(f"/bandits/{name}")
        assert status == 200
        token = re.search(r'name="token" value="(\w+)"', page)[1]
        assert visit(f"/bandits/{name}/floors", f"token={token}&every=10")[0] == 303
        assert first.call("GET", f"/v1/bandits/{name}")[1]["floor"] == 0.1
        assert visit(f"/bandits/{name}/history")[0] == 200
        assert visit(f"/bandits/{name}/floors", f"token={token}&every=")[0] == 303


def test_another_server_takes_over_when_one_is_killed(servers, place):
    first, second = servers
    before = first.call("GET", "/v1/bandits/button")[1]["decisions"]
    made = second.call("POST", DECIDE, {})[1]
    mine = second.call("POST", "/v1/bandits/price/decisions", {})[1]
    first.end(signal.SIGKILL)
    rewards = [{"token": each["token"], "reward": 1} for each in (made, mine)]
    status, told = second.call("POST", "/v1/rewards:batch", {"rewards": rewards})
    later, now = told["results"]
    assert (status, now["taken"]) == (200, True)
    assert later["taken"] or later["problem"]["status"] == 503
    until, seen = time.monotonic() + 30, set()
    while True:
        status, told = second.call("POST", DECIDE, {})
        seen.add(status)
        if status == 201:
            break
        assert told["type"].endswith(":unavailable")
        assert time.monotonic() < until
        time.sleep(0.05)
    assert seen <= {201, 503}
    assert second.call("PUT", f"/v1/decisions/{made['token']}/reward", {"reward": 1})[0] == 204
    assert second.call("GET", "/v1/bandits/button")[1]["decisions"] == before + 2
    assert second.end() == 0
    with lb.Store(place) as store:
        assert store.verify("button")
        assert [each.holder for each in store.holders().values()] == ["", ""]


def test_a_server_that_takes_over_tells_of_nothing_twice(place):
    guarded = "/v1/bandits/guarded"
    with contextlib.closing(Service(place)) as first, contextlib.closing(Service(place)) as second:
        first.create("guarded")
        for arm in ("red", "green"):
            first.patch(f"{guarded}/arms/{arm}", {"paused": True})
            first.look()
            first.runner.run(first.state.alerts.keep())
            second.look()
        assert [each.data["arm"] for each in first.state.alerts.latest()] == ["green", "red"]
        token = first.decide("guarded").json["token"]
        first.close()
        assert second.get(guarded, key=first.key).json["waiting"] == 1
        assert second.reward(token, 1.0).status == second.reward(token, 1.0).status == 204
        second.look()
        assert second.state.alerts.latest() == []
        for paused in (False, True):
            second.patch(f"{guarded}/arms/green", {"paused": paused})
            second.look()
        assert [each.data["arm"] for each in second.state.alerts.latest()] == ["green"]


def test_a_bandit_is_looked_for_where_its_holder_is(place):
    with lb.Store(place) as one, lb.Store(place) as other:
        mine, theirs = Peers(one), Peers(other)
        one.create("banner", lb.LBSDAGM(), ["red", "green", "blue"], seed=1)
        theirs.find("banner")  # nobody knows where that is
        mine.publish("http://127.0.0.1:1")
        with pytest.raises(ElsewhereError, match=r"'banner' is at http://127\.0\.0\.1:1"):
            theirs.find("banner")
        mine.find("banner")
        value = other.documents.all(COLLECTION)[mine.me].value
        other.documents.put(COLLECTION, mine.me, {**value, "machine": "another"})
        theirs.find("banner")  # the loopback of another machine
        other.documents.put(COLLECTION, mine.me, {**value, "time": "2020-01-01T00:00:00+00:00"})
        theirs.refresh()
        assert mine.me not in other.documents.all(COLLECTION)
        mine.refresh()
        assert mine.me in other.documents.all(COLLECTION)
        mine.withdraw()
        assert mine.me not in other.documents.all(COLLECTION)
        one.release("banner")
        assert theirs.refresh() == set()  # only now, and maybe only for a moment
        theirs._free["banner"] -= 10
        assert "banner" in theirs.refresh()


@pytest.mark.parametrize(
    ("settings", "url", "found"),
    [
        ({"host": "10.1.2.3"}, "http://10.1.2.3:8000/x", "http://10.1.2.3:8000/x"),
        ({"host": "0.0.0.0"}, "http://0.0.0.0:8000", "http://127.0.0.1:8000"),
        ({"uds": "/run/x"}, "unix:/run/x", ""),
        ({"advertise": "https://a.example/"}, "http://127.0.0.1:1", "https://a.example"),
    ],
)
def test_the_address_for_others(settings, url, found):
    given = Settings(store="postgresql://127.0.0.1/shop", **settings)
    assert address_for(given, url) == found
