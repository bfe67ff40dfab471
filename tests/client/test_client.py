"""Both clients against a real server, and against one that fails."""

import asyncio
import contextlib
import json
import logging
import math
import re
import socket
import threading
import urllib.request
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import quote

import pytest
import uvicorn

import lastblock as lb
from lastblock.client import AsyncClient, Client, ServedDecision, ServiceError
from lastblock.client.options import CreateOptions, DecideOptions
from lastblock.serve.messages import NewBandit, NewDecision
from lastblock.serve.server import application, open_service
from lastblock.serve.settings import Settings

ARMS = ["red", "green", {"label": "blue", "payload": [1]}]


@pytest.fixture(scope="module")
def service(tmp_path_factory):
    """A server in a thread; yields its address and an admin key."""
    store = str(tmp_path_factory.mktemp("client") / "shop.db")
    with socket.create_server(("127.0.0.1", 0)) as opened:
        state = open_service(Settings(store=store))
        key, _ = state.keys.create(["admin"])

        async def serve():
            await state.host.open()
            _, app = application(state)
            config = uvicorn.Config(app, lifespan="off", ws="none", log_level="error")
            server = uvicorn.Server(config)
            server.capture_signals = contextlib.nullcontext
            servers.append(server)
            await server.serve([opened])
            await state.host.close()

        servers = []
        thread = threading.Thread(target=lambda: asyncio.run(serve()))
        thread.start()
        yield f"http://127.0.0.1:{opened.getsockname()[1]}", key
        servers[0].should_exit = True
        thread.join(30)


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
    url, key = service
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
        assert client.reward_many([(each, 0.0) for each in several])
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
    url, key = service
    name = f"safe {kind.__name__}"
    with kind(url, key, timeout=30) as client:
        guardrail = {"control": "red", "worse": "higher"}
        more = {"policy": "LBSDAGM", "seed": 1, "guardrail": guardrail}
        client.create(name, ARMS, **more, holdout={"share": 0.5, "control": "red"})
        sides = {unit: client.decide(name, unit=unit, segment="de") for unit in map(str, range(30))}
        assert {each.held_out for each in sides.values()} == {True, False}
        assert {each.arm for each in sides.values() if each.held_out} == {"red"}
        chosen = next(each for each in sides.values() if not each.held_out)
        assert chosen.segment == "de"
        assert client.reward(chosen, 1.0, guardrail=0.3)
        client.create(f"{name} 3", ARMS, policy="LBSDAGM")
        assert client.decide(f"{name} 3").held_out is None
        for _ in range(2):
            client.observe(f"{name} 3", [("red", 1.0), ("blue", 0.0)], key="import 1")
        client.observe(f"{name} 3", [("red", 1.0)])
        pulls = {arm["label"]: arm["pulls"] for arm in client.bandit(f"{name} 3")["arms"]}
        assert pulls == {"red": 2, "green": 0, "blue": 1}
        with pytest.raises(ServiceError, match="pink"):
            client.observe(f"{name} 3", [("pink", 1.0)])


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
        body = json.dumps({"arm": "red", "token": "t", "detail": "not now"}).encode()
        self.send_response(201 if mood == "good" else int(mood))
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
        server.woken = threading.Event()
        thread = threading.Thread(target=server.serve_forever, args=(0.01,))
        thread.start()
        yield handler, f"http://127.0.0.1:{server.server_port}"
        server.woken.set()
        server.shutdown()
        thread.join()


@pytest.mark.parametrize("moods", [["503"], ["break", "503"], ["429", "502"]])
def test_a_request_is_sent_again_with_the_same_key(moody, kind, moods):
    handler, url = moody
    handler.moods.extend(moods)
    with kind(url, timeout=20) as client:
        assert client.decide("button").arm == "red"
    assert len(handler.keys) == len(moods) + 1
    assert len(set(handler.keys)) == 1


def test_it_gives_up_after_its_retries(moody, kind):
    handler, url = moody
    handler.moods.extend(["503"] * 9)
    with kind(url, timeout=20, retries=3) as client, pytest.raises(ServiceError, match="not now"):
        client.decide("button")
    assert len(handler.keys) == 4


@pytest.mark.parametrize("status", [429, 500, 502, 503, 504])
def test_a_service_that_cannot_now_means_the_fallback(moody, kind, status):
    handler, url = moody
    handler.moods.extend([str(status)] * 4)
    with kind(url, timeout=20, retries=0) as client:
        fallback = client.decide("button", 2, fallback="red", without=["green"])
        assert [each.arm for each in fallback] == ["red", "red"]
        assert all(each.is_fallback for each in fallback)
        assert not client.reward_many([(each, 1.0) for each in fallback])
        with pytest.raises(ServiceError, match="not now") as caught:
            client.decide("button")
    assert caught.value.status == status


@pytest.mark.parametrize("status", [301, 400, 401, 403, 404, 409, 410, 413, 422])
def test_a_mistake_of_the_caller_is_an_error_despite_the_fallback(moody, kind, status):
    handler, url = moody
    handler.moods.append(str(status))
    with (
        kind(url, timeout=20) as client,
        pytest.raises(ServiceError, match="not now") as caught,
    ):
        client.decide("button", fallback="red")
    assert caught.value.status == status
    assert len(handler.keys) == 1


def test_whoever_pauses_a_bandit_breaks_no_page(service, kind):
    url, key = service
    name = f"paused {kind.__name__}"
    with kind(url, key, timeout=30) as client:
        client.create(name, ARMS, policy="LBSDAGM")
        pause(url, key, name)
        decision = client.decide(name, fallback="red")
        assert (decision.arm, decision.is_fallback) == ("red", True)
        with pytest.raises(ServiceError) as caught:
            client.decide(name)
        assert (caught.value.status, caught.value.kind) == (409, "paused")


def pause(url, key, name):
    headers = {"Authorization": f"Bearer {key}", "Content-Type": "application/json"}
    request = urllib.request.Request(
        f"{url}/v1/bandits/{quote(name)}", b'{"paused": true}', headers, method="PATCH"
    )
    with urllib.request.urlopen(request) as answer:
        assert answer.status == 200


def test_a_real_service_refuses_mistakes_despite_the_fallback(service, kind):
    url, key = service
    name = f"strict {kind.__name__}"
    with kind(url, key, timeout=30) as client:
        client.create(name, ARMS, policy="LBSDAGM")
        for bandit, options, status in (
            ("nothing", {}, 404),
            (name, {"without": ["rd"]}, 422),
            (name, {"segment": 3}, 422),
        ):
            with pytest.raises(ServiceError) as caught:
                client.decide(bandit, fallback="red", **options)
            assert caught.value.status == status
    with kind(url, "lb_wrong_key", timeout=30) as stranger:
        with pytest.raises(ServiceError) as caught:
            stranger.decide(name, fallback="red")
        assert caught.value.status == 401


NOBODY = "http://127.0.0.1:1"
"""An address at which nobody answers: mistakes must be found before anything is sent."""


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"without": ["red", "blue"]}, "fallback='red' is one of `without`; give an arm that"),
        ({"among": ["blue"]}, "fallback='red' is not one of `among`; give an arm that is"),
        ({"without": "red"}, "without='red': give a list of labels"),
        ({"among": 3}, "among=3: give a list of labels"),
        ({"key": "two\nlines"}, "Idempotency-Key must be one line"),
        ({"key": "a → b"}, "Idempotency-Key must be one line in Latin-1"),
    ],
)
def test_mistakes_in_a_request_for_decisions(kind, options, words):
    with kind(NOBODY, timeout=5) as client, pytest.raises(ValueError, match=re.escape(words)):
        client.decide("button", fallback="red", **options)


@pytest.mark.parametrize(
    ("method", "option", "words"),
    [
        ("decide", "withot", "decide has no parameter 'withot'; did you mean 'without'?"),
        ("decide", "fallbak", "decide has no parameter 'fallbak'; did you mean 'fallback'?"),
        ("decide", "context", "there is no context but a segment: give segment="),
        ("create", "polcy", "create has no parameter 'polcy'; did you mean 'policy'?"),
    ],
)
def test_a_misspelt_option_is_an_error(kind, method, option, words):
    first = ("button",) if method == "decide" else ("button", ["red", "green"])
    with kind(NOBODY, timeout=5) as client, pytest.raises(TypeError, match=re.escape(words)):
        getattr(client, method)(*first, **{option: "red"})


def test_the_options_are_those_of_the_service():
    asked = {*DecideOptions.__annotations__, "n", "why"}
    assert asked == set(NewDecision.__struct_fields__)
    created = {*CreateOptions.__annotations__, "name", "arms"}
    assert created == set(NewBandit.__struct_fields__)


@pytest.mark.parametrize("arms", ["red", b"red", {"red", "green"}, {"red": 1, "green": 2}, 3])
def test_arms_must_be_a_list(kind, arms):
    with kind(NOBODY, timeout=5) as client, pytest.raises(ValueError, match="arms=") as caught:
        client.create("button", arms)
    if arms != 3:  # a bandit of one's own may have a number of arms
        with pytest.raises(ValueError, match="arms=") as local:
            lb.Bandit(lb.LBSDA(), arms)
        assert str(caught.value) == str(local.value)


def test_numbers_of_a_new_bandit_must_be_finite(kind):
    with kind(NOBODY, timeout=5) as client:
        with pytest.raises(ValueError, match="default_reward=nan must be finite; leave it out"):
            client.create("button", ARMS, default_reward=math.nan)
        with pytest.raises(ValueError, match="cannot be written as JSON"):
            client.create("button", [{"label": "red", "payload": math.inf}, "green"])


@pytest.mark.parametrize(
    ("wrong", "words"),
    [
        (math.nan, "reward=nan must be finite"),
        (-math.inf, "reward=-inf must be finite"),
        ("1.0", "reward='1.0' is text; give a number"),
        (None, "reward=None is not a number that fits a float; give a finite number"),
    ],
)
def test_rewards_must_be_finite_numbers(kind, wrong, words):
    fallback = ServedDecision("red", None)
    with kind(NOBODY, timeout=5) as client:
        for decision in ("token", fallback):
            with pytest.raises(ValueError, match=f"^{words}"):
                client.reward(decision, wrong)
        with pytest.raises(ValueError, match=rf"^rewards\[1\]: {words}"):
            client.reward_many([("token", 1.0), (fallback, wrong)])
        with pytest.raises(ValueError, match=rf"^observations\[1\]: {words}"):
            client.observe("button", [("red", 1.0), ("green", wrong)])
        if wrong is not None:
            with pytest.raises(ValueError, match=words.replace("reward", "guardrail")):
                client.reward("token", 1.0, guardrail=wrong)


def test_a_slow_service_means_the_fallback(moody, kind, caplog):
    handler, url = moody
    handler.moods.extend(["sleep"] * 9)
    with kind(url, timeout=0.2) as client, caplog.at_level(logging.WARNING):
        decision = client.decide("button", fallback="green")
        assert (decision.arm, decision.is_fallback) == ("green", True)
        with pytest.raises(ServiceError, match="does not answer"):
            client.decide("button")
    assert "fallback arm" in caplog.text


def test_nobody_at_the_address_means_the_fallback(kind):
    with kind("http://127.0.0.1:1", timeout=5) as client:
        assert client.decide("button", fallback=3).arm == 3


@pytest.mark.parametrize("options", [{"timeout": 0}, {"retries": -1}, {"url": "localhost:80"}])
def test_wrong_options_are_refused(kind, options):
    with pytest.raises(ValueError, match="must"):
        kind(**{"url": "http://localhost", **options})
