"""Most decisions and rewards are answered straight from the connection, in every circumstance."""

import asyncio
import json
import logging

import pytest

from serve.client import written

DECIDE = "/v1/bandits/button/decisions"


@pytest.fixture
def way():
    return "connection"


@pytest.fixture
def wires(shop):
    """Runs a function with a new connection, as a client that does what the others cannot."""

    def run(work):
        async def with_wire():
            return await work(shop.connect())

        return shop.runner.run(with_wire())

    return run


def plain(shop, path=DECIDE, body=b"{}", method="POST", **headers):
    return written(method, path, {"authorization": f"Bearer {shop.key}", **headers}, body)


def requests_of(shop, path, status):
    line = next(
        line
        for line in shop.get("/metrics").body.decode().splitlines()
        if line.startswith("lastblock_requests_total{")
        and f'path="{path}"' in line
        and f'status="{status}"' in line
    )
    return int(line.split()[-1])


def test_the_application_sees_neither_decisions_nor_rewards(shop):
    async def never(scope, receive, send):
        raise AssertionError("the application was called")

    token = shop.post(DECIDE).json["token"]
    # The first reward makes the table of numbers.
    assert shop.put(f"/v1/decisions/{token}/reward", {"reward": 1}).status == 204
    before, shop.around = shop.around, never
    made = shop.post(DECIDE, {"n": 2}, headers={"Idempotency-Key": "mine"}).json["decisions"]
    again = shop.post(DECIDE, {"n": 2}, headers={"Idempotency-Key": "mine"}).json["decisions"]
    assert made == again
    for each in made:
        answer = shop.put(f"/v1/decisions/{each['token']}/reward", {"reward": 1})
        assert (answer.status, answer.body) == (204, b"")
        assert answer.headers["content-length"] == "0"
    shop.around = before
    assert requests_of(shop, "/v1/bandits/{name}/decisions", 201) == 3
    assert requests_of(shop, "/v1/decisions/{token}/reward", 204) == 3


@pytest.mark.parametrize("size", [1, 7, 60])
def test_requests_in_parts_are_answered_alike(shop, wires, size):
    async def work(wire):
        data = plain(shop, body=b'{"n": 3}')
        for place in range(0, len(data), size):
            wire.connection.data_received(data[place : place + size])
            await asyncio.sleep(0)
        return await wire.answer()

    answer = wires(work)
    assert (answer.status, len(answer.json["decisions"])) == (201, 3)
    assert shop.state.host.bandits["button"].bandit.asked == 3


def test_requests_that_do_not_wait_are_answered_in_order(shop, wires):
    async def work(wire):
        read = plain(shop, "/v1/bandits/button", b"", "GET")
        wire.connection.data_received(plain(shop) + plain(shop) + read + plain(shop))
        wire.connection.data_received(plain(shop, body=b"not JSON") + plain(shop))
        return [await wire.answer() for _ in range(6)]

    statuses = [answer.status for answer in wires(work)]
    assert statuses == [201, 201, 200, 201, 400, 201]
    assert shop.state.host.bandits["button"].bandit.asked == 4


def held(shop, monkeypatch):
    """Let answers wait until the function that this returns is called."""
    commits, waiting = shop.state.host.commits, []
    monkeypatch.setattr(commits, "when_written", waiting.append)

    def go_on(error=None):
        monkeypatch.undo()
        for told in waiting:
            told(error)

    return go_on


def test_a_client_that_leaves_before_its_answer_gets_none(shop, wires, monkeypatch):
    go_on = held(shop, monkeypatch)

    async def work(wire):
        wire.connection.data_received(plain(shop))
        wire.close()
        await asyncio.sleep(0)
        assert shop.state.metrics.in_flight == 1
        go_on()
        return wire.written

    assert wires(work) == b""
    assert shop.state.metrics.in_flight == 0
    assert requests_of(shop, "/v1/bandits/{name}/decisions", 499) == 1


def test_an_answer_that_is_due_is_sent_before_the_server_ends(shop, wires, monkeypatch):
    go_on = held(shop, monkeypatch)

    async def work(wire):
        wire.connection.data_received(plain(shop))
        wire.connection.shutdown()
        assert not wire.is_closed
        go_on()
        return await wire.answer(), wire.is_closed

    answer, is_closed = wires(work)
    assert (answer.status, answer.headers["connection"], is_closed) == (201, "close", True)


def test_a_connection_is_closed_when_nothing_comes_for_long(shop, wires, monkeypatch):
    async def work(wire):
        now = [100.0]
        loop = asyncio.get_running_loop()
        monkeypatch.setattr(loop, "time", lambda: now[0])
        timers = []
        monkeypatch.setattr(loop, "call_later", lambda *timer: timers.append(timer) or Timer())
        connection = wire.connection
        connection.timeout_keep_alive = 5.0
        for _ in range(3):
            connection.data_received(plain(shop))
            connection.loop.time()
            while b"201" not in wire.written:
                await asyncio.sleep(0)
            wire.written = b""
            now[0] += 2.0
        (seconds, look), *others = timers
        assert (seconds, others) == (5.0, [])  # one for all three
        look()
        assert timers[-1][0] == 3.0  # two of five have passed since the last answer
        assert not wire.is_closed
        now[0] += 3.0
        timers[-1][1]()
        return wire.is_closed

    class Timer:
        def cancel(self):
            pass

    assert wires(work)


def test_a_connection_with_half_a_request_is_not_idle(shop, wires):
    async def work(wire):
        wire.connection.data_received(plain(shop))
        await wire.answer()
        wire.connection.data_received(plain(shop)[:20])
        wire.connection._idle_since = -1e9
        wire.connection._look_if_idle()
        return wire.is_closed

    assert not wires(work)


def test_a_malformed_request_ends_the_connection(shop, wires, caplog):
    caplog.set_level(logging.CRITICAL, "uvicorn.error")

    async def work(wire):
        head = plain(shop, **{"transfer-encoding": "chunked"}).replace(
            b"content-length: 2\r\n", b""
        )
        wire.connection.data_received(head.removesuffix(b"{}") + b"no size\r\n")
        answer = await wire.answer()
        return answer.status, wire.is_closed

    assert wires(work) == (400, True)
    assert shop.state.host.bandits["button"].bandit.asked == 0


def test_a_request_counts_once_for_its_limit(service):
    shop = service(rate_limit=0.001)  # two at once, then one in 1000 s
    shop.state.limits.burst = 5.0
    new = {"name": "button", "policy": "LBSDAGM", "arms": ["a", "b", "c"]}
    assert shop.post("/v1/bandits", new).status == 201
    assert shop.post(DECIDE).status == 201
    assert shop.post(DECIDE, {"among": ["nobody"]}).status == 422  # both ways have looked at it
    assert [shop.post(DECIDE).status for _ in range(3)] == [201, 201, 429]


def test_pages_of_other_origins_get_what_their_browser_wants(service):
    shop = service(cors=["https://shop.example"])
    shop.post("/v1/bandits", {"name": "button", "policy": "LBSDAGM", "arms": ["a", "b", "c"]})
    answer = shop.post(DECIDE, headers={"origin": "https://shop.example"})
    assert answer.headers["access-control-allow-origin"] == "https://shop.example"
    assert "access-control-allow-origin" not in shop.post(DECIDE).headers


def test_segments_and_pauses_are_the_applications(shop):
    made = shop.post(DECIDE, {"segment": "de"}).json
    assert made["segment"] == "de"
    assert "segment" not in shop.post(f"{DECIDE}?n=3").json
    shop.patch("/v1/bandits/button", {"paused": True})
    assert shop.post(DECIDE).kind == "paused"
    assert shop.post("/v1/bandits/nobody/decisions").kind == "not-found"


def test_a_large_body_is_the_applications(shop):
    labels = json.dumps({"without": ["x" * 100] * 700}).encode()
    assert len(labels) > 65_536
    assert shop.post(DECIDE, raw=labels).status == 422
    assert shop.post(DECIDE, raw=b" " * (1 << 20) + b"{}").kind == "too-large"


def test_who_reads_too_slowly_waits(shop, wires):
    async def work(wire):
        wire.connection.pause_writing()
        wire.connection.data_received(plain(shop))
        for _ in range(20):
            await asyncio.sleep(0.001)
        assert wire.written == b""
        wire.connection.resume_writing()
        return await wire.answer()

    assert wires(work).status == 201
