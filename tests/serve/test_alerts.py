"""Alerts are kept, signed, sent until they arrive, and wait for nobody."""

import json
import random
import threading
import time
from http.server import BaseHTTPRequestHandler, HTTPServer

import pytest

from lastblock.client import is_signed
from lastblock.serve import alerts as module
from lastblock.serve.silence import Silence
from lastblock.support.signatures import sign

SECRET = "a secret of the webhook"
RED = "/v1/bandits/button/arms/red"


@pytest.fixture
def webhook():
    """A webhook that fails as often as the test says, and notes what it gets."""

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self):
            body = self.rfile.read(int(self.headers["content-length"]))
            server.got.append((self.headers["lastblock-signature"], body))
            status = server.answers.pop(0) if server.answers else 204
            self.send_response(status)
            if status == 302:
                self.send_header("location", f"http://127.0.0.1:{server.server_port}/other")
            self.send_header("content-length", "0")
            self.end_headers()

        def log_message(self, *_):
            pass

    server = HTTPServer(("127.0.0.1", 0), Handler)
    server.got, server.answers = [], []
    server.url = f"http://127.0.0.1:{server.server_port}/hook"
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    yield server
    server.shutdown()
    thread.join()
    server.server_close()


@pytest.fixture
def start(service, webhook):
    return lambda: service(alert_url=webhook.url, alert_secret=SECRET)


def look(shop):
    shop.look()
    return shop.runner.run(shop.state.alerts.step())


def alerts(shop):
    return shop.get("/v1/alerts").json["alerts"]


def test_a_paused_arm_raises_one_signed_alert(start, webhook):
    shop = start()
    shop.create()
    shop.decide(segment="fr")
    shop.patch(RED, {"paused": True})
    for _ in range(3):
        look(shop)
    ((signature, body),) = webhook.got
    assert is_signed(SECRET, signature, body)
    assert not is_signed(SECRET + "x", signature, body)
    assert not is_signed(SECRET, signature, body + b" ")
    sent = json.loads(body)
    assert (sent["kind"], sent["bandit"], sent["data"]["arm"]) == ("arm-paused", "button", "red")
    (kept,) = alerts(shop)
    assert (kept["state"], kept["attempts"], kept["id"]) == ("sent", 1, sent["id"])
    other, _ = shop.state.keys.create(["read"], bandits=["else"])
    assert shop.get("/v1/alerts", key=other).json["alerts"] == []
    shop.close()
    again = start()
    look(again)
    assert len(webhook.got) == 1
    assert [each["id"] for each in alerts(again)] == [sent["id"]]
    for paused in (False, True):
        again.patch(RED, {"paused": paused})
        look(again)
    assert len(webhook.got) == 2


def test_a_change_that_the_policy_notices_raises_an_alert(start, webhook):
    shop = start()
    shop.create(policy="AdaptiveLBSDA")
    shop.learn([1.0] * 80)
    look(shop)
    assert webhook.got == []
    shop.learn([0.0] * 80)
    shop.close()  # before it was looked at
    again = start()
    changes = again.get("/v1/bandits/button/changes").json["changes"]
    assert changes
    again.learn([0.0] * 3)
    look(again)
    assert webhook.got == []  # it was there when the service first saw the bandit
    again.learn([1.0] * 120)
    look(again)
    found = again.get("/v1/bandits/button/changes").json["changes"]
    sent = [json.loads(body) for _, body in webhook.got]
    assert 0 < len(sent) == len(found) - len(changes)
    assert {each["kind"] for each in sent} == {"change"}
    assert sent[-1]["data"]["noticed"] == found[0]["noticed"]
    assert "The world changed around decision" in sent[-1]["text"]


def test_rewards_that_stop_while_decisions_go_on_raise_one_alert(start, webhook):
    shop = start()
    assert shop.create(alert_after=0.2).json["alert_after"] == 0.2
    shop.learn([1.0])
    waiting = [shop.decide(segment="fr").json["token"]]
    time.sleep(0.3)
    look(shop)
    assert webhook.got == []  # the traffic has stopped
    for number in (1, 2):
        while len(webhook.got) < number and len(waiting) < 100:
            time.sleep(0.05)
            waiting.append(shop.decide().json["token"])
            look(shop)
        look(shop)
        while waiting:
            shop.reward(waiting.pop(), 1.0)
    found = [json.loads(body) for _, body in webhook.got]
    assert [each["kind"] for each in found] == ["rewards-stopped"] * 2
    assert found[0]["data"]["decisions"] == found[0]["data"]["waiting"] == 7
    assert "s of traffic, while 7 decisions were taken" in found[0]["text"]
    made, silence = shop.decide().json, shop.state.host.bandits["button"].silence
    assert silence.decisions == 1
    shop.post(f"/v1/decisions/{made['token']}/close", {})
    assert silence.decisions == 0  # what closes decisions works, too
    assert shop.patch("/v1/bandits/button", {"alert_after": None}).status == 200


SECONDS_OF_TRAFFIC = {
    # Seconds between decisions, the share of them with a reward, the delay of rewards, the pause
    # between two days of 4000 s, the time when rewards stop; and whether that is noticed.
    "rewards stop": ({"stops": 2000}, True),
    "all is well": ({}, False),
    "rare decisions": ({"every": 100, "stops": 2000}, True),
    "rewards that are normally late": ({"delay": 1000}, False),
    "late ones that stop": ({"delay": 200, "stops": 2000}, True),
    "clicks of one per cent": ({"share": 0.01}, False),
    "such clicks that stop": ({"share": 0.01, "stops": 2000, "every": 1}, True),
    "a night": ({"pause": 40_000}, False),
    "a night of a bandit whose rewards are late": ({"pause": 40_000, "delay": 1000}, False),
}


@pytest.mark.parametrize("name", SECONDS_OF_TRAFFIC)
def test_silence_is_measured_by_what_is_usual_for_a_bandit(name):
    about, is_found = SECONDS_OF_TRAFFIC[name]
    every, share, delay, pause, stops = (
        about.get(word, usual)
        for word, usual in {"every": 10, "share": 0.5, "delay": 1, "pause": 0, "stops": 1e9}.items()
    )
    rng, silence, found, queue = random.Random(1), Silence(delay), [], []
    for step in range(8000 // every):
        now = step * every + pause * (step * every >= 4000)
        while queue and queue[0] + delay <= now:
            begun = queue.pop(0)
            silence.reward(delay, begun + delay)
        silence.decide(1, now, limit=300.0)
        if rng.random() < share and now < stops:
            queue.append(now)
        if silence.is_longer_than(300.0):
            found.append(now)
    assert bool(found) == is_found
    assert not found or stops < found[0] < stops + 2000


def test_alerts_are_sent_again_until_they_arrive_also_after_a_restart(start, webhook):
    webhook.answers = [500, 302]
    shop = start()
    shop.create()
    shop.patch(RED, {"paused": True})
    assert 0.0 < look(shop) <= 1.0
    assert look(shop) > 0.0
    assert len(webhook.got) == 1  # the next attempt is not due yet
    (waiting,) = alerts(shop)
    assert (waiting["state"], waiting["problem"]) == ("waiting", "the webhook answered 500")
    assert "lastblock_waiting_alerts 1" in shop.get("/metrics").body.decode()
    shop.close()
    shop = start()
    assert 1.0 < look(shop) <= 2.0  # after a redirect, which it does not follow
    shop.close()
    shop = start()
    look(shop)
    assert len({json.loads(body)["id"] for _, body in webhook.got}) == 1
    (sent,) = alerts(shop)
    assert (sent["state"], sent["attempts"], sent["problem"]) == ("sent", 3, None)


def test_alerts_are_bounded_and_give_up_at_last(service, monkeypatch):
    monkeypatch.setattr(module, "MOST", 3)
    monkeypatch.setattr(module, "ATTEMPTS", 1)
    shop = service(alert_url="http://127.0.0.1:9/", alert_secret=SECRET)
    for n in range(5):
        shop.state.alerts.note("change", "button", f"change {n}", {})
        shop.runner.run(shop.state.alerts.step())
    found = alerts(shop)
    assert [each["text"] for each in found] == ["change 4", "change 3", "change 2"]
    assert {each["state"] for each in found} == {"failed"}
    assert len(shop.state.host.store.documents.all("alerts")) == 3


def test_without_a_webhook_alerts_are_kept(service):
    shop = service()
    shop.state.alerts.note("change", "button", "a change", {})
    for _ in range(2):
        assert [each["state"] for each in alerts(shop)] == ["kept"]
        shop.runner.run(shop.state.alerts.step())


def test_strange_and_old_signatures_are_none():
    for header in ("", "t=1", "t=x,v1=0", "t=9,v1=é", "v1=0,t=-1", "t=" + "9" * 30):
        assert not is_signed(SECRET, header, b"{}")
    now = int(time.time())
    assert is_signed(SECRET, sign(SECRET, b"{}", now - 200), b"{}")
    assert not is_signed(SECRET, sign(SECRET, b"{}", now - 400), b"{}")


@pytest.mark.parametrize("since_start", [10.0, 1e6])
def test_without_alerts_it_sleeps_however_long_the_machine_has_run(start, monkeypatch, since_start):
    shop = start()
    monkeypatch.setattr(module.time, "monotonic", lambda: since_start)
    assert shop.runner.run(shop.state.alerts.step()) == module.IDLE
