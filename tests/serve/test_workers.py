"""Workers: processes that speak HTTP for one that has the bandits."""

import contextlib
import http.client
import os
import re
import signal
import socket
import threading
import time

import pytest

from lastblock.serve.settings import SettingError, Settings
from lastblock.serve.workers.supervisor import Supervisor
from serve.program import Program
from serve.soak import Visitor, compare

NEW = {"name": "button", "policy": "LBSDAGM", "arms": ["red", "green", "blue"], "seed": 1}
DECIDE = "/v1/bandits/button/decisions"
NAMES = ["button", "price"]


@pytest.fixture(scope="module")
def shop(tmp_path_factory):
    folder = tmp_path_factory.mktemp("workers")
    flags = ("--workers", "2", "--request-timeout", "0.5", "--max-body", "4096")
    program = Program(folder / "shop.db", *flags)
    assert program.call("POST", "/v1/bandits", NEW)[0] == 201
    yield program
    program.close()


@contextlib.contextmanager
def connections(shop, number):
    """Several connections; the fronts share them."""
    with contextlib.ExitStack() as stack:
        made = [
            http.client.HTTPConnection("127.0.0.1", shop.port, timeout=30) for _ in range(number)
        ]
        yield [stack.enter_context(contextlib.closing(each)) for each in made]


def ask(connection, shop, method, path, body=None):
    headers = {"Authorization": f"Bearer {shop.key}", "Content-Type": "application/json"}
    connection.request(method, path, body, headers)
    answer = connection.getresponse()
    return answer.status, answer.read()


def metric(shop, name):
    with connections(shop, 1) as (one,):
        _, text = ask(one, shop, "GET", "/metrics")
    return sum(float(x) for x in re.findall(rf"^{name}(?:{{.*}})? (\S+)$", text.decode(), re.M))


def test_the_owner_and_the_fronts_are_processes(shop):
    assert len(shop.processes("owner")) == 1
    assert len(shop.processes("front")) == 2
    assert metric(shop, "lastblock_workers") == 2


def test_metrics_are_those_of_all_workers_together(shop):
    before = metric(shop, "lastblock_decisions_total")
    with connections(shop, 8) as many:
        for one in many:
            assert ask(one, shop, "POST", DECIDE)[0] == 201
        assert metric(shop, "lastblock_decisions_total") == before + 8


def test_every_kind_of_answer_comes_through(shop):
    with connections(shop, 1) as (one,):
        assert ask(one, shop, "GET", "/openapi.json")[1].startswith(b'{\n "openapi"')
        assert ask(one, shop, "GET", "/dashboard")[0] == 303
        assert ask(one, shop, "HEAD", "/v1/bandits/button") == (200, b"")
        assert ask(one, shop, "GET", "/v1/bandits/button/export")[1][:4] == b"PAR1"
        assert ask(one, shop, "POST", DECIDE, b"[")[0] == 422
        assert ask(one, shop, "GET", "/nowhere")[0] == 404
        assert ask(one, shop, "GET", "/livez") == (200, b'{"status":"alive"}')
        assert ask(one, shop, "POST", DECIDE, b" " * 5000)[0] == 413


def test_events_stream_through_a_worker_until_the_client_leaves(shop):
    with connections(shop, 1) as (one,):
        path = "/v1/bandits/button/events?after=0"
        one.request("GET", path, headers={"Authorization": f"Bearer {shop.key}"})
        answer = one.getresponse()
        assert answer.status == 200
        shop.call("POST", DECIDE, {})
        while not answer.readline().startswith(b"event: ask"):
            pass
        assert metric(shop, "lastblock_event_streams") == 1
        answer.close()
    until = time.monotonic() + 20
    while metric(shop, "lastblock_event_streams") and time.monotonic() < until:
        time.sleep(0.05)
    assert metric(shop, "lastblock_event_streams") == 0


def test_slow_and_half_open_connections_do_not_stop_others(shop):
    head = f"POST {DECIDE} HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer {shop.key}\r\n"
    body = "Content-Type: application/json\r\nContent-Length: 9\r\n\r\n{"
    with contextlib.ExitStack() as stack:
        slow = []
        for rest in ("", body):
            for _ in range(20):
                slow.append(stack.enter_context(socket.create_connection(("127.0.0.1", shop.port))))
                slow[-1].sendall((head + rest).encode())
        for _ in range(4):
            assert shop.call("POST", DECIDE, {}, timeout=10)[0] == 201
        for each in (slow[-1], slow[0]):  # of a body that does not come, and of a head
            each.settimeout(10)
            assert b" 408 " in each.recv(4096)


def test_what_was_acknowledged_survives_the_death_of_workers_and_owner(tmp_path):
    place = tmp_path / "shop.db"
    shop = Program(place, "--workers", "2", "--insecure")
    stop = threading.Event()
    visitors = [Visitor(shop.url, seed, stop, NAMES) for seed in range(3)]
    try:
        for name in NAMES:
            shop.call("POST", "/v1/bandits", {**NEW, "name": name})
        for visitor in visitors:
            visitor.start()
        for role in ("front", "owner"):
            before = sum(len(each.decided) for each in visitors)
            killed = shop.processes(role)[0]
            os.kill(killed, signal.SIGKILL)
            until = time.monotonic() + 30
            while (
                killed in shop.processes(role)
                or sum(len(each.decided) for each in visitors) < before + 10
            ):
                assert time.monotonic() < until
                time.sleep(0.05)
        assert metric(shop, "lastblock_process_restarts_total") == 2
        stop.set()
        for visitor in visitors:
            visitor.join(30)
        assert shop.end() == 0
        assert [failure for each in visitors for failure in each.failures] == []
        decided = {token: name for each in visitors for token, name in each.decided.items()}
        told = {token: reward for each in visitors for token, reward in each.told.items()}
        assert len(decided) > 20
        assert compare(place, decided, told) == []
    finally:
        stop.set()
        shop.close()


def test_a_path_that_is_too_long_for_a_socket_is_named(tmp_path):
    with (
        socket.create_server(("127.0.0.1", 0)) as listener,
        pytest.raises(SettingError, match="set TMPDIR to a shorter one"),
    ):
        Supervisor(Settings(store="x", workers=1), listener, str(tmp_path / ("long" * 30)))
