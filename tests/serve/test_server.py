"""The program `lastblock serve` in a process of its own: starts, stops, kills, slow clients."""

import asyncio
import contextlib
import shutil
import signal
import socket
import struct
import subprocess
import sys
import urllib.error
import urllib.request

import pytest

import lastblock as lb
from lastblock.client import AsyncClient, Client
from lastblock.serve.listening import bound
from lastblock.serve.server import always
from lastblock.serve.settings import SettingError, Settings
from serve.program import Program

NEW = {"name": "button", "policy": "LBSDAGM", "arms": ["red", "green", "blue"], "seed": 1}


@pytest.fixture
def start(tmp_path, kept_kernels):
    programs = []

    def begin(*flags, jit=False):
        programs.append(Program(tmp_path / "shop.db", *flags, jit=jit))
        return programs[-1]

    yield begin
    for program in programs:
        program.close()


def test_what_was_answered_survives_kills_and_a_signal_ends_it_in_order(start, tmp_path):
    shop = start(jit=True)
    key = shop.key
    assert key.startswith("lb_")
    assert shop.call("POST", "/v1/bandits", NEW)[0] == 201
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
        assert store.verify("button") == 9  # the two rewards are remembered, too
        assert sum(store.bandit("button").pulls.values()) == 2


def test_slow_and_half_open_connections_do_not_stop_others(start):
    shop = start("--request-timeout", "0.5")
    shop.call("POST", "/v1/bandits", NEW)
    with contextlib.ExitStack() as stack:
        slow = []
        head = "POST /v1/bandits/button/decisions HTTP/1.1\r\nHost: x\r\n"
        head += f"Authorization: Bearer {shop.key}\r\n"
        for rest in ("", "Content-Type: application/json\r\nContent-Length: 9\r\n\r\n{"):
            for _ in range(20):
                slow.append(stack.enter_context(socket.create_connection(("127.0.0.1", shop.port))))
                slow[-1].sendall((head + rest).encode())
        for path in ("events?after=0", "export"):  # who asks for much, and reads nothing of it
            slow.insert(0, stack.enter_context(socket.socket()))
            slow[0].setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 1)
            slow[0].connect(("127.0.0.1", shop.port))
            line = head.replace("POST", "GET").replace("decisions", path)
            slow[0].sendall(f"{line}\r\n".encode())
        gone = socket.create_connection(("127.0.0.1", shop.port))
        gone.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        gone.sendall(f"{head}Content-Length: 2\r\n\r\n".encode())
        gone.close()  # a reset, in the middle of a request
        for _ in range(5):
            assert shop.call("POST", "/v1/bandits/button/decisions", {}, timeout=10)[0] == 201
        for each in (slow[-1], slow[5]):  # of a body that does not come, and of a head
            each.settimeout(10)
            assert b" 408 " in each.recv(4096)
    assert shop.call("GET", "/v1/bandits/button")[1]["decisions"] == 5
    assert shop.end(signal.SIGINT) == 0


@pytest.fixture
def certificate(tmp_path):
    """A certificate for 127.0.0.1 that nobody has signed, and its key."""
    openssl = shutil.which("openssl")
    if openssl is None:
        pytest.skip("there is no openssl to make a certificate with")
    cert, key = tmp_path / "cert.pem", tmp_path / "key.pem"
    command = [openssl, "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256"]
    command += ["-nodes", "-days", "2", "-subj", "/CN=lastblock", "-keyout", str(key)]
    command += ["-addext", "subjectAltName=IP:127.0.0.1", "-out", str(cert)]
    subprocess.run(command, check=True, capture_output=True)
    return str(cert), str(key)


def test_https(start, certificate):
    cert, key = certificate
    shop = start("--tls-cert", cert, "--tls-key", key)
    assert shop.url.startswith("https://")
    assert shop.call("POST", "/v1/bandits", NEW)[0] == 201
    with Client(shop.url, shop.key, timeout=20, context=shop.trust) as client:
        assert client.reward(client.decide("button"), 1.0)
        assert client.summary("button")["asked"] == 1

    async def ask():
        client = AsyncClient(shop.url, shop.key, timeout=20, context=shop.trust)
        made = await client.decide("button")
        await client.close()
        return made

    assert asyncio.run(ask()).arm in NEW["arms"]
    with Client(shop.url, shop.key, retries=0) as strict:  # nobody has signed the certificate
        assert strict.decide("button", fallback="red").is_fallback
    body = f"key={shop.key}".encode()
    form = {"Content-Type": "application/x-www-form-urlencoded"}
    sign_in = urllib.request.Request(f"{shop.url}/dashboard/sign-in", body, form)
    opener = urllib.request.build_opener(
        urllib.request.HTTPSHandler(context=shop.trust), NoRedirects()
    )
    with pytest.raises(urllib.error.HTTPError) as moved, opener.open(sign_in):
        pass
    with moved.value as answer:
        assert answer.code == 303
        assert "Secure" in answer.headers["Set-Cookie"]
    with socket.create_connection(("127.0.0.1", shop.port)) as plain:
        plain.settimeout(10)
        plain.sendall(b"GET /livez HTTP/1.1\r\nHost: x\r\n\r\n")
        with contextlib.suppress(ConnectionResetError):
            assert not plain.recv(4096).startswith(b"HTTP/")
    assert shop.end() == 0


class NoRedirects(urllib.request.HTTPRedirectHandler):
    """So that the answer itself can be looked at."""

    def redirect_request(self, *_):
        return None


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ([], "which store"),
        (["shop.db", "--host", "0.0.0.0"], "has no keys yet"),
        (["shop.db", "--port", "99999"], "--port=99999 must lie between"),
        (["shop.db", "--durabilty", "never"], "--durability"),
        (["redis://x"], "no store on"),
        (["shop.db", "--tls-cert", "none.pem"], "tls_key"),
        (["shop.db", "--tls-cert", "none.pem", "--tls-key", "none.pem"], "none.pem"),
        (["shop.db", "--host", "192.0.2.1", "--insecure"], "cannot listen at 192.0.2.1"),
    ],
)
def test_mistakes_are_one_line(tmp_path, arguments, words):
    done = subprocess.run(
        [sys.executable, "-m", "lastblock", "serve", *arguments],
        capture_output=True,
        text=True,
        cwd=tmp_path,
        check=False,
    )
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
