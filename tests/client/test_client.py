"""Both clients against a real server, and against one that fails."""

import asyncio
import json
import logging
import math
import re
import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import quote

import pytest

from lastblock.client import AsyncClient, Client, ServedDecision, ServiceError
from lastblock.client.options import CreateOptions, DecideOptions
from lastblock.serve.messages import NewBandit, NewDecision
from serve.program import Program

NONE = ServedDecision("red", None)
"""A fallback."""

ARMS = ["red", "green", {"label": "blue", "payload": [1]}]


@pytest.fixture(scope="module")
def service(tmp_path_factory):
    with Program(tmp_path_factory.mktemp("client") / "shop.db") as program:
        yield program


class Waiting:
    """The methods of an `AsyncClient`, called one after the other."""

    def __init__(self, *arguments, **options):
        self.runner = asyncio.Runner()
        self.client = AsyncClient(*arguments, **options)

    def __getattr__(self, name):
        return lambda *a, **o: self.runner.run(getattr(self.client, name)(*a, **o))

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.runner.run(self.client.close())
        self.runner.close()


@pytest.fixture(params=[Client, Waiting], ids=["sync", "async"])
def kind(request):
    return request.param


def test_decisions_and_rewards(service, kind):
    url, key = service.url, service.key
    name = f"a/b {kind.__name__}"
    with kind(url, key, timeout=30) as client:
        made = client.create(name, ARMS, policy="LBSDAGM", seed=1)
        assert made["name"] == name
        decision = client.decide(name, why=True)
        assert isinstance(decision, ServedDecision)
        assert decision.payload == ([1] if decision.arm == "blue" else None)
        assert decision.why
        assert client.reward(decision, 1.0)
        assert client.reward(decision.token, 1.0)
        several = client.decide(name, 3)
        pairs = [(each, 0.0) for each in several]
        for atomic in (False, True):  # sent again: the same
            told = client.reward_many(pairs, atomic=atomic)
            assert told == [(each.token, True, None) for each in several]
        good, late, fallback = client.reward_many([pairs[0], (several[1], 1.0), (NONE, 1.0)])
        assert good.is_taken
        assert not late.is_taken
        assert (late.error.status, late.error.kind) == (409, "conflict")
        assert fallback == (None, False, None)
        with pytest.raises(ServiceError, match=r"^rewards\[1\], token ") as caught:
            client.reward_many([pairs[0], (several[1], 1.0)], atomic=True)
        assert caught.value.status == 409
        assert client.decide(name, key="k") == client.decide(name, key="k")
        assert client.bandit(name)["decisions"] == 5
        assert client.summary(name)["asked"] == 5
        with pytest.raises(ServiceError, match="before") as caught:
            client.reward(decision, 0.5)
        assert (caught.value.status, caught.value.kind) == (409, "conflict")
        with pytest.raises(ServiceError, match="no bandit") as caught:
            client.decide("nothing")
        assert (caught.value.status, caught.value.kind) == (404, "not-found")


def test_segments_holdouts_and_observations(service, kind):
    url, key = service.url, service.key
    name = f"safe {kind.__name__}"
    with kind(url, key, timeout=30) as client:
        more = {"policy": "LBSDAGM", "guardrail": {"control": "red", "worse": "higher"}}
        client.create(name, ARMS, **more, seed=1, holdout={"share": 0.5, "control": "red"})
        made = [client.decide(name, unit=str(unit), segment="de") for unit in range(30)]
        assert {(each.held_out, each.segment) for each in made} == {(True, None), (False, "de")}
        assert client.reward(made[0], 1.0, guardrail=0.3)
        client.create(f"{name} 3", ARMS, policy="LBSDAGM")
        assert client.decide(f"{name} 3").held_out is None
        for key in ("import 1", "import 1", None):
            client.observe(f"{name} 3", [("red", 1.0), ("blue", 0.0)], key=key)
        assert [arm["pulls"] for arm in client.bandit(f"{name} 3")["arms"]] == [2, 0, 2]


class Moody(BaseHTTPRequestHandler):
    """A server that fails in the ways of a list, then answers."""

    moods: list[str]
    keys: list[str | None]
    protocol_version = "HTTP/1.1"

    def do_POST(self):
        self.rfile.read(int(self.headers["Content-Length"]))
        self.keys.append(self.headers["Idempotency-Key"])
        mood = self.moods.pop(0) if self.moods else "good"
        if mood == "break":
            self.close_connection = True
            return
        if mood == "sleep":
            self.server.woken.wait(20)
            self.close_connection = True
            return
        later = {"problem": {"status": 503, "type": "urn:x:unavailable"}} if mood == "later" else {}
        result = {"token": "t", "taken": not later, **later}
        answer = {"arm": "red", "token": "t", "detail": "not now", "results": [result]}
        body = json.dumps(answer, separators=(",", ":")).encode()
        self.send_response(201 if mood in ("good", "later") else int(mood))
        self.send_header("Content-Length", str(len(body)))
        if mood == "503":
            self.send_header("Retry-After", "0")
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_):
        pass


@pytest.fixture
def moody():
    handler = type("Mine", (Moody,), {"moods": [], "keys": []})
    with ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        server.woken, handler.running = threading.Event(), server
        thread = threading.Thread(target=server.serve_forever, args=(0.01,))
        thread.start()
        yield handler, f"http://127.0.0.1:{server.server_port}"
        server.woken.set()
        server.shutdown()
        thread.join()


@pytest.mark.parametrize("moods", [["503"], ["break", "503"], ["429", "502"], ["408", "504"]])
def test_a_request_is_sent_again_with_the_same_key(moody, kind, moods):
    handler, url = moody
    handler.moods.extend(moods)
    with kind(url, timeout=20) as client:
        assert client.decide("button").arm == "red"
    assert len(handler.keys) == len(moods) + 1
    assert len(set(handler.keys)) == 1


def test_rewards_that_cannot_be_taken_now_are_sent_again(moody, kind):
    handler, url = moody
    handler.moods.extend(["later"] * 4)
    with kind(url, timeout=20, retries=2) as client:
        (refused,) = client.reward_many([("t", 1.0)])
        assert (refused.is_taken, refused.error.status, refused.error.kind) == (
            False,
            503,
            "unavailable",
        )
        assert client.reward_many([("t", 1.0)]) == [("t", True, None)]
    assert len(handler.keys) == 5
    assert len(set(handler.keys)) == 2


@pytest.mark.parametrize("status", [408, 429, 500, 502, 503, 504])
def test_a_service_that_cannot_now_means_the_fallback(moody, kind, status):
    handler, url = moody
    handler.moods.extend([str(status)] * 9)
    with kind(url, timeout=20, retries=1) as client:
        fallback = client.decide("button", 2, fallback="red", without=["green"])
        assert [each.arm for each in fallback] == ["red", "red"]
        assert all(each.is_fallback for each in fallback)
        assert client.reward_many([(each, 1.0) for each in fallback]) == [(None, False, None)] * 2
        with pytest.raises(ServiceError, match="not now") as caught:
            client.decide("button")
    assert caught.value.status == status
    assert len(handler.keys) == (2 if status == 500 else 4)


@pytest.mark.parametrize("status", [301, 400, 401, 403, 404, 409, 410, 413, 422])
def test_a_mistake_of_the_caller_is_an_error_despite_the_fallback(moody, kind, status):
    handler, url = moody
    handler.moods.append(str(status))
    with kind(url, timeout=20) as client, pytest.raises(ServiceError, match="not now") as caught:
        client.decide("button", fallback="red")
    assert (caught.value.status, len(handler.keys)) == (status, 1)


def test_a_slow_service_means_the_fallback(moody, kind, caplog):
    handler, url = moody
    handler.moods.extend(["sleep"] * 9)
    with kind(url, timeout=0.2) as client, caplog.at_level(logging.WARNING):
        decision = client.decide("button", fallback="green")
        assert (decision.arm, decision.is_fallback) == ("green", True)
        with pytest.raises(ServiceError, match="does not answer"):
            client.decide("button")
    assert "fallback arm" in caplog.text


def test_many_calls_at_once_keep_to_their_time(moody):
    handler, url = moody
    handler.moods.extend(["sleep"] * 500)

    async def ask():
        async with AsyncClient(url, timeout=0.5) as client:
            begun = time.monotonic()
            made = await asyncio.gather(*[client.decide("b", fallback="red") for _ in range(200)])
            return made, time.monotonic() - begun

    made, seconds = asyncio.run(ask())
    assert all(each.is_fallback for each in made)
    assert seconds < 3


def test_a_call_can_be_cancelled_and_a_closed_client_used_again(moody):
    handler, url = moody
    handler.moods.append("sleep")

    async def ask():
        client = AsyncClient(url, timeout=20)
        call = asyncio.create_task(client.decide("button", fallback="green"))
        while not handler.keys:
            await asyncio.sleep(0.01)
        call.cancel()
        with pytest.raises(asyncio.CancelledError):
            await call
        assert (await client.decide("button")).arm == "red"
        moody_server.woken.set()
        await client.close()
        assert (await client.decide("button")).arm == "red"
        await client.close()

    moody_server = handler.running
    asyncio.run(ask())


def test_a_real_service_refuses_mistakes_despite_the_fallback_but_may_be_paused(service, kind):
    url, key = service.url, service.key
    name = f"strict {kind.__name__}"
    with kind(url, key, timeout=30) as client:
        client.create(name, ARMS, policy="LBSDAGM")
        with kind(url, "lb_wrong_key", timeout=30) as stranger:
            for caller, bandit, options, status in (
                (client, "nothing", {}, 404),
                (client, name, {"without": ["rd"]}, 422),
                (client, name, {"segment": 3}, 422),
                (stranger, name, {}, 401),
            ):
                with pytest.raises(ServiceError) as caught:
                    caller.decide(bandit, fallback="red", **options)
                assert caught.value.status == status
        assert service.call("PATCH", f"/v1/bandits/{quote(name)}", {"paused": True})[0] == 200
        assert client.decide(name, fallback="red").is_fallback
        with pytest.raises(ServiceError) as caught:
            client.decide(name)
        assert (caught.value.status, caught.value.kind) == (409, "paused")


NOBODY = "http://127.0.0.1:1"
"""An address at which nobody answers: mistakes must be found before anything is sent."""


def asked(**options):
    return lambda client: client.decide("button", fallback="red", **options)


def made(arms=ARMS, **options):
    return lambda client: client.create("button", arms, **options)


def told(wrong):
    """Return calls with a wrong reward or value of a guardrail, with the name of the number."""
    several = [("red", 1.0), ("green", wrong)]
    return [
        (lambda client: client.reward("token", wrong), "reward"),
        (lambda client: client.reward(NONE, wrong), "reward"),
        (lambda client: client.reward_many(several), "rewards[1]: reward"),
        (lambda client: client.observe("button", several), "observations[1]: reward"),
        (lambda client: client.reward("token", 1.0, guardrail=wrong), "guardrail"),
    ]


@pytest.mark.parametrize(
    ("call", "error", "words"),
    [
        (asked(without=["red", "blue"]), ValueError, "fallback='red' is one of `without`; give"),
        (asked(among=["blue"]), ValueError, "fallback='red' is not one of `among`; give an arm"),
        (asked(without="red"), ValueError, "without='red': give a list of labels"),
        (asked(among=3), ValueError, "among=3: give a list of labels"),
        (asked(key="two\nlines"), ValueError, "Idempotency-Key must be one line"),
        (asked(key="a → b"), ValueError, "Idempotency-Key must be one line in Latin-1"),
        (asked(withot=["red"]), TypeError, "decide has no parameter 'withot'; did you mean"),
        (asked(fallbak="red"), TypeError, "no parameter 'fallbak'; did you mean 'fallback'?"),
        (asked(context="de"), TypeError, "there is no context but a segment: give segment="),
        (made(polcy="UCB1"), TypeError, "create has no parameter 'polcy'; did you mean 'policy'?"),
        (made(default_reward=math.nan), ValueError, "default_reward=nan must be finite; leave"),
        (made([{"label": "red", "payload": math.inf}]), ValueError, "cannot be written as JSON"),
        (made(3), ValueError, "arms=3"),
        *(
            (call, ValueError, f"{name}{words}")
            for wrong, words in (
                (math.nan, "=nan must be finite"),
                (-math.inf, "=-inf must be finite"),
                ("1.0", "='1.0' is text; give a number"),
            )
            for call, name in told(wrong)
        ),
        (told(None)[0][0], ValueError, "reward=None is not a number that fits a float; give a"),
    ],
)
def test_mistakes_are_found_before_anything_is_sent(kind, call, error, words):
    with kind(NOBODY, timeout=5) as client, pytest.raises(error, match=f"^.*{re.escape(words)}"):
        call(client)


def test_the_options_are_those_of_the_service():
    asked = {*DecideOptions.__annotations__, "n", "why"}
    assert asked == set(NewDecision.__struct_fields__)
    created = {*CreateOptions.__annotations__, "name", "arms"}
    assert created == set(NewBandit.__struct_fields__)


def test_nobody_at_the_address_means_the_fallback(kind):
    with kind(NOBODY, timeout=5) as client:
        assert client.decide("button", fallback=3).arm == 3


@pytest.mark.parametrize("options", [{"timeout": 0}, {"retries": -1}, {"url": "localhost:80"}])
def test_wrong_options_are_refused(kind, options):
    with pytest.raises(ValueError, match="must"):
        kind(**{"url": "http://localhost", **options})
