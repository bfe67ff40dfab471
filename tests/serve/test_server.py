"""The program `lastblock serve` in a process of its own: starts, stops, kills, slow clients."""

import asyncio
import concurrent.futures
import contextlib
import http.client
import os
import re
import selectors
import shutil
import signal
import socket
import struct
import subprocess
import sys
import time
from pathlib import Path

import pytest

import lastblock as lb
from lastblock.client import AsyncClient, Client
from lastblock.serve.app import App
from lastblock.serve.server import Server, always, bound, on_signal, open_service
from lastblock.serve.settings import SettingError, Settings
from serve.program import NEW, Program


@pytest.fixture
def start(tmp_path, kept_kernels):
    with contextlib.ExitStack() as programs:

        def begin(*flags, **more):
            shop = programs.enter_context(Program(tmp_path / "shop.db", *flags, **more))
            if shop.key:  # which the first service on a store says
                assert shop.call("POST", "/v1/bandits", NEW)[0] == 201
            return shop

        yield begin


def test_what_was_answered_survives_kills_and_a_signal_ends_it_in_order(start, tmp_path):
    shop = start(jit=True)
    key = shop.key
    assert key.startswith("lb_")
    tokens = [shop.call("POST", "/v1/bandits/button/decisions", {})[1]["token"] for _ in range(5)]
    assert shop.call("PUT", f"/v1/decisions/{tokens[0]}/reward", {"reward": 1})[0] == 204
    assert shop.end(signal.SIGKILL) == -signal.SIGKILL
    shop = start(jit=True)
    assert shop.key == ""  # there is one already
    shop.key = key
    state = shop.call("GET", "/v1/bandits/button")[1]
    assert (state["decisions"], state["waiting"]) == (5, 4)
    assert shop.call("PUT", f"/v1/decisions/{tokens[1]}/reward", {"reward": 0})[0] == 204
    assert shop.end() == 0
    with lb.Store(tmp_path / "shop.db") as store:
        # The two rewards are remembered, too, and ids are skipped that the kill may have lost.
        assert store.verify("button") == 10
        assert sum(store.bandit("button").pulls.values()) == 2


def test_slow_endless_and_half_open_requests_do_not_stop_others(start):
    shop = start(patience=0.5)
    before = memory_of(shop)
    with contextlib.ExitStack() as stack:

        def send(text, received=None):
            made = stack.enter_context(socket.socket())
            if received is not None:
                made.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, received)
            made.connect(shop.at)
            made.settimeout(10)
            made.sendall(text.encode())
            return made

        head = "POST /v1/bandits/button/decisions HTTP/1.1\r\nHost: x\r\n"
        head += f"Authorization: Bearer {shop.key}\r\n"
        slow_heads = [send(head) for _ in range(20)]
        body = "Content-Type: application/json\r\nContent-Length: 9\r\n\r\n{"
        slow_bodies = [send(head + body) for _ in range(20)]
        for path in ("events?after=0", "export"):  # who asks for much, and reads nothing of it
            send(head.replace("POST", "GET").replace("decisions", path) + "\r\n", received=1)
        gone = send(f"{head}Content-Length: 2\r\n\r\n")
        gone.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        gone.close()  # a reset, in the middle of a request
        endless_head, reads_nothing = send(head + "X: "), send("", received=1)
        with pytest.raises(ConnectionError):
            endless_head.sendall(b"x" * (64 << 20))
        reads_nothing.settimeout(1)
        with pytest.raises(TimeoutError):
            reads_nothing.sendall(b"GET /openapi.json HTTP/1.1\r\nHost: x\r\n\r\n" * 1_000_000)
        for _ in range(5):
            assert shop.call("POST", "/v1/bandits/button/decisions", {}, timeout=10)[0] == 201
        for slow in slow_heads + slow_bodies:
            assert read_all(slow)[9:13] == (b"408 " if slow in slow_bodies else b"")
        reads_nothing.settimeout(30)
        with pytest.raises(ConnectionError):  # a client that never reads its answers is cut, too
            reads_nothing.sendall(b"x" * (64 << 20))
    assert memory_of(shop) < before + 64
    assert shop.call("GET", "/v1/bandits/button")[1]["decisions"] == 5
    assert shop.end(signal.SIGINT) == 0


def read_all(connection):
    """What comes over a connection until the server closes it; it must do so soon."""
    connection.settimeout(10)
    parts = [b""]
    with contextlib.suppress(ConnectionResetError):  # it has closed it with something unread
        while part := connection.recv(1 << 16):
            parts.append(part)
    return b"".join(parts)


GET, ASK = "GET /livez HTTP/1.1\r\n", "POST /v1/bandits/button/decisions HTTP/1.1\r\n"
HOST, TWO = "Host: x\r\n", "Content-Length: 2\r\n"
CHUNKED, CHUNKS = "Transfer-Encoding: chunked\r\n", "\r\n2\r\n{}\r\n0\r\n\r\n"
SLOW = "Host: x\r\nContent-Length: 10\r\n\r\n{"


def test_heads_that_are_unclear_or_too_long_and_bodies_that_nobody_reads_end_the_connection(start):
    shop = start(patience=0.5)
    key = f"Authorization: Bearer {shop.key}\r\n"
    for text, status in (
        (GET + HOST + "\r\n", 200),
        (GET.replace("1.1", "1.0") + "\r\n", 200),
        (GET + "\r\n", 400),
        (GET + HOST + HOST + "\r\n", 400),
        (GET + HOST + "X: 1\r\n" * 99 + "\r\n", 200),
        (GET + HOST + "X: 1\r\n" * 100 + "\r\n", 431),
        (GET + HOST + f"X: {'x' * 65_000}\r\n\r\n", 200),
        (GET + HOST + f"X: {'x' * 66_000}\r\n\r\n", 431),
        (GET + HOST + f"X: {'x' * 8_000}\r\n" * 9 + "\r\n", 431),
        (ASK + HOST + key + CHUNKED + CHUNKS, 201),
        (ASK + HOST + key + CHUNKED + CHUNKED + CHUNKS, 400),
        (ASK + HOST + key + CHUNKED.replace(": ", ": identity, ") + CHUNKS, 400),
        (ASK.replace("1.1", "1.0") + HOST + key + CHUNKED + CHUNKS, 400),
        (ASK + HOST + key + key + TWO + "\r\n{}", 400),
        (ASK + HOST + key + TWO + TWO.replace("2", "3") + "\r\n{}", 400),
        (ASK + HOST + key + "Content-Encoding: gzip\r\n" + TWO + "\r\n{}", 415),
        (ASK + SLOW, 401),
        (ASK + key + SLOW, 408),
        (GET + SLOW, 200),
        (GET.replace("GET", "PUT") + SLOW, 405),
        (GET.replace("livez", "nothing") + SLOW, 404),
        (GET.replace("livez", "dashboard") + SLOW, 303),
    ):
        with socket.create_connection(shop.at) as connection:
            connection.sendall(text.encode())
            answer = read_all(connection)
        assert answer[9:13] == b"%d " % status, text[:200]
        assert answer.count(b"HTTP/1") == 1
    assert shop.call("GET", "/v1/bandits/button")[1]["decisions"] == 1
    assert "Traceback" not in shop.logged()


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux has more addresses than one here")
def test_connections_from_one_address_are_bounded(start):
    shop = start("--connections-per-address", "20")
    with contextlib.ExitStack() as stack:
        crowd = [
            stack.enter_context(socket.create_connection(shop.at, source_address=("127.0.0.2", 0)))
            for _ in range(900)  # more than the server takes at once
        ]
        assert shop.call("GET", "/livez", timeout=9)[0] == 200
        select = selectors.DefaultSelector()
        for each in crowd:
            select.register(each, selectors.EVENT_READ)
        while (cut := len(select.select(0))) < 880:
            time.sleep(0.1)
        assert cut == 880
        select.close()
    assert "address 127.0.0.2 has more than 20 connections" in shop.logged()
    assert shop.key not in shop.logged()


def memory_of(program):
    """Return the memory of a program in MiB; 0 where the system does not say."""
    with contextlib.suppress(FileNotFoundError):
        text = Path(f"/proc/{program.process.pid}/status").read_text()
        return int(re.search(r"VmRSS:\s+(\d+) kB", text)[1]) / 1024
    return 0.0


def test_requests_under_way_are_finished_and_streams_end(start):
    shop = start("--drain", "0.3")
    line = f"HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer {shop.key}\r\n"
    with (
        socket.create_connection(shop.at, timeout=10) as asks,
        socket.create_connection(shop.at, timeout=10) as listens,
    ):
        listens.sendall(f"GET /v1/bandits/button/events {line}\r\n".encode())
        assert listens.recv(4096).startswith(b"HTTP/1.1 200 ")
        post = f"POST /v1/bandits/button/decisions {line}Content-Length: 2\r\n\r\n{{"
        asks.sendall(post.encode())
        shop.process.send_signal(signal.SIGTERM)
        while (found := shop.call("GET", "/readyz"))[0] == 200:
            pass
        assert (found[0], found[1]["detail"]) == (503, "stopping")
        time.sleep(0.5)
        with pytest.raises(ConnectionRefusedError):
            socket.create_connection(shop.at)
        asks.sendall(b"}")
        assert asks.recv(4096).startswith(b"HTTP/1.1 201 ")
        assert shop.process.wait(10) == 0


@pytest.fixture
def certificate(tmp_path):
    """Makes a certificate for 127.0.0.1 that nobody has signed, and its key."""
    openssl = shutil.which("openssl")
    if openssl is None:
        pytest.skip("there is no openssl to make a certificate with")
    cert, key = tmp_path / "cert.pem", tmp_path / "key.pem"

    def make(name):
        command = [openssl, "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256"]
        command += ["-nodes", "-days", "2", "-subj", f"/CN={name}", "-keyout", str(key)]
        command += ["-addext", "subjectAltName=IP:127.0.0.1", "-out", str(cert)]
        subprocess.run(command, check=True, capture_output=True)
        return str(cert), str(key)

    return make


def test_a_signal_under_load_ends_it_without_tracebacks(start):
    shop = start()
    request = (
        f"{ASK}{HOST}Authorization: Bearer {shop.key}\r\n{TWO}\r\n{{}}"
        f"GET /v1/bandits/button/events HTTP/1.1\r\n{HOST}Authorization: Bearer {shop.key}\r\n\r\n"
    )

    def load(number):
        with contextlib.suppress(OSError):
            while True:
                with socket.create_connection(shop.at, timeout=10) as connection:
                    connection.sendall(request.encode())
                    while connection.recv(4096) and number % 3:  # a third leaves early
                        pass

    with concurrent.futures.ThreadPoolExecutor(20) as pool:
        loads = [pool.submit(load, number) for number in range(20)]
        time.sleep(1.0)
        assert shop.end() == 0
        assert [each.result(10) for each in loads]
    assert "Traceback" not in shop.logged()


def test_https(start, certificate):
    cert, key = certificate("lastblock")
    shop = start("--tls-cert", cert, "--tls-key", key)
    assert shop.url.startswith("https://")
    with Client(shop.url, shop.key, timeout=20, context=shop.trust) as client:
        assert client.reward(client.decide("button"), 1.0)
        assert client.summary("button")["asked"] == 1

    async def ask():
        async with AsyncClient(shop.url, shop.key, timeout=20, context=shop.trust) as client:
            return await client.decide("button")

    assert asyncio.run(ask()).arm in NEW["arms"]
    with Client(shop.url, shop.key, retries=0) as strict:  # nobody has signed the certificate
        assert strict.decide("button", fallback="red").is_fallback
    with contextlib.closing(http.client.HTTPSConnection(*shop.at, context=shop.trust)) as page:
        form = {"Content-Type": "application/x-www-form-urlencoded"}
        page.request("POST", "/dashboard/sign-in", f"key={shop.key}", form)
        answer = page.getresponse()
        assert answer.status == 303
        assert "Secure" in answer.headers["Set-Cookie"]
    with socket.create_connection(shop.at) as plain:
        plain.settimeout(10)
        plain.sendall(b"GET /livez HTTP/1.1\r\nHost: x\r\n\r\n")
        with contextlib.suppress(ConnectionResetError):
            assert not plain.recv(4096).startswith(b"HTTP/")
    assert shop.end() == 0


def test_a_renewed_certificate_is_read_when_asked(start, certificate):
    cert, key = certificate("first")
    shop = start("--tls-cert", cert, "--tls-key", key, patience=10, finish=0.5)
    line = f"{HOST}Authorization: Bearer {shop.key}\r\n"

    def connected():
        plain = socket.create_connection(shop.at, timeout=10)
        return shop.trust.wrap_socket(plain, server_hostname="127.0.0.1")

    def name():
        with connected() as connection:
            ((_, found),) = connection.getpeercert()["subject"][0]
            return found

    with connected() as asks, connected() as listens:
        asks.sendall(f"{ASK}{line}{TWO}\r\n{{".encode())
        listens.sendall(f"GET /v1/bandits/button/events HTTP/1.1\r\n{line}\r\n".encode())
        assert listens.recv(4096).startswith(b"HTTP/1.1 200 ")
        Path(cert).write_text("not a certificate")
        shop.process.send_signal(signal.SIGHUP)  # the old one stays
        until = time.monotonic() + 10
        while "the server keeps its certificate" not in shop.logged():
            assert time.monotonic() < until
        assert name() == "first"
        certificate("second")
        shop.trust.load_verify_locations(cert)
        for _ in range(3):
            shop.process.send_signal(signal.SIGHUP)
            time.sleep(0.6)  # longer than requests would have to finish at the end
        assert [name() for _ in range(5)] == ["second"] * 5
        asks.sendall(b"}")
        assert asks.recv(4096).startswith(b"HTTP/1.1 201 ")
        while b"event: ask" not in (part := listens.recv(4096)):
            assert part
        assert shop.end() == 0
        assert read_all(listens).endswith(b"0\r\n\r\n")


def test_a_renewed_certificate_makes_no_worker_wait_in_accept(tmp_path):
    """Sockets of several workers share it whether they block: one that does would stop them all."""
    settings = Settings(str(tmp_path / "shop.db"), port=0, insecure=True)

    async def renew(listener):
        server = Server(App(open_service(settings)), listener)
        seen = []
        server.reload = lambda: seen.append(listener.getblocking() or os.get_blocking(handle))
        handle = listener.fileno()
        server.renew()
        await server.state.host.close()
        return seen

    with bound(settings) as listener:
        assert asyncio.run(renew(listener)) == [False]


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["shop.db", "--host", "0.0.0.0"], "has no keys yet"),
        (["shop.db", "--durabilty", "never"], "--durability"),
        (["redis://x"], "no store on"),
        (["shop.db", "--host", "192.0.2.1", "--insecure"], "cannot listen at 192.0.2.1"),
    ],
)
def test_mistakes_are_one_line(tmp_path, arguments, words):
    command = [sys.executable, "-m", "lastblock", "serve", *arguments]
    done = subprocess.run(command, capture_output=True, text=True, cwd=tmp_path, check=False)
    assert done.returncode == 2
    assert words in done.stderr
    assert len(done.stderr.splitlines()) == 1


def test_a_unix_socket_is_taken_from_nobody_who_listens_there(tmp_path):
    path = str(tmp_path / "shop.sock")
    with bound(Settings(store="a", uds=path)) as listener:
        with pytest.raises(SettingError, match="another server does"):
            bound(Settings(store="a", uds=path))
        assert listener.getsockname() == path
    with bound(Settings(store="a", uds=path)), pytest.raises(SettingError, match="No such file"):
        bound(Settings(store="a", uds=str(tmp_path / "no" / "shop.sock")))


def test_requests_of_a_proxy_at_a_unix_socket_count_for_their_senders(tmp_path):
    path, options = str(tmp_path / "shop.sock"), {"insecure": True, "rate_limit": 0.001}
    settings = Settings(str(tmp_path / "shop.db"), uds=path, forwarded_allow_ips="*", **options)

    async def status(sender):
        reader, writer = await asyncio.open_unix_connection(path)
        head = f"GET /v1/bandits HTTP/1.1\r\nHost: localhost\r\nX-Forwarded-For: {sender}\r\n\r\n"
        writer.write(head.encode())
        answer = await reader.readuntil(b"\r\n")
        writer.close()
        return int(answer.split()[1])

    async def ask():
        server = Server(App(open_service(settings)), bound(settings))
        await server.state.host.open()
        serving = asyncio.ensure_future(server.run())
        found = [await status(sender) for sender in ("10.0.0.1", "10.0.0.2", "10.0.0.1")]
        server.finish()
        await serving
        await server.state.host.close()
        return server.url, found

    assert asyncio.run(ask()) == (f"unix:{path}", [200, 200, 429])


def test_no_signal_is_lost_while_the_loop_has_much_to_do():
    async def wait():
        came = asyncio.Event()
        on_signal(signal.SIGTERM, came.set)
        for _ in range(10_000):  # each wakes the loop: granian does this for each request
            asyncio.get_running_loop().call_soon_threadsafe(int)
        os.kill(os.getpid(), signal.SIGTERM)
        await asyncio.wait_for(came.wait(), 10)

    before = signal.getsignal(signal.SIGTERM)
    try:
        asyncio.run(wait())
    finally:
        signal.signal(signal.SIGTERM, before)


def test_a_system_without_unix_sockets_says_so(tmp_path, monkeypatch):
    monkeypatch.delattr(socket, "AF_UNIX")
    with pytest.raises(SettingError, match="needs Unix sockets, which this system does not have"):
        bound(Settings(store="a", uds=str(tmp_path / "shop.sock")))


def test_work_in_the_background_goes_on_after_a_defect(monkeypatch, caplog):
    began = []

    async def work():
        began.append(1)
        if len(began) < 3:
            raise RuntimeError("a defect")
        await asyncio.Event().wait()

    async def some_time():
        task = asyncio.ensure_future(always(work))
        while len(began) < 3:
            await asyncio.sleep(0)
        task.cancel()

    monkeypatch.setattr("lastblock.serve.server.AGAIN", 0.0)
    asyncio.run(some_time())
    assert caplog.text.count("it begins again") == 2
