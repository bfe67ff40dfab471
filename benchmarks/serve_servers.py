"""The servers that `benchmarks.serve` measures: starts them, calls them, and finds their pace."""

import asyncio
import contextlib
import json
import os
import re
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
import urllib.request
from collections.abc import Iterator, Sequence
from pathlib import Path
from types import SimpleNamespace
from typing import Any, NamedTuple

from lastblock.serve.server import Server, bound
from lastblock.serve.settings import Settings

ROUNDS, SECONDS, CONNECTIONS = 3, 3.0, 256
GOALS = "goals: 0.5 of hello, 100,000 decisions a second in batches, p99 5 ms at half the peak"
ARMS = ["red", "green", "blue"]
HEAD = f"{'':34} {'rate':>12} {'processor':>11}   {'of hello':>11}   {'p50':>6} {'p99':>9}"
ROOT = Path(__file__).parents[1]
CORES = sorted(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else []
TICK = os.sysconf("SC_CLK_TCK")
HELLO = "benchmarks.serve_servers:hello"


async def hello(scope, receive, send):
    """The unit: what the HTTP server alone costs."""
    await send(
        {
            "type": "http.response.start",
            "status": 200,
            "headers": [(b"content-type", b"text/plain"), (b"content-length", b"5")],
        }
    )
    await send({"type": "http.response.body", "body": b"hello"})


async def serve_hello(port: int) -> None:
    """Serve the unit as the service itself is served."""
    settings = Settings(port=port)
    hello.state = SimpleNamespace(settings=settings, is_stopping=False)
    server = Server(hello, bound(settings))
    asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, server.finish)
    await server.run()


class Pace(NamedTuple):
    """Requests a second, processor microseconds a request, and seconds that a request took."""

    rate: float
    cpu: float
    p50: float
    p99: float


def on_core(*places: int) -> list[str]:
    """The command that keeps a program on some cores."""
    if len(CORES) < 2 or shutil.which("taskset") is None:
        return []
    return ["taskset", "-c", ",".join(str(CORES[place % len(CORES)]) for place in places)]


def spread(pid: int, cores: Sequence[int]) -> None:
    """Let all threads of a process run on these cores."""
    if len(CORES) >= 2:
        for thread in os.listdir(f"/proc/{pid}/task"):
            os.sched_setaffinity(int(thread), cores)


def free_port() -> int:
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        return int(found.getsockname()[1])


@contextlib.contextmanager
def running(
    command: Sequence[str], port: int, path: str = "/", cores: Sequence[int] = (0,)
) -> Iterator[subprocess.Popen[str]]:
    """Run a server until it answers, and end it afterwards."""
    with tempfile.TemporaryFile("w+") as log:
        server = subprocess.Popen(
            [*on_core(*cores), *command], cwd=ROOT, stdout=log, stderr=log, text=True
        )
        try:
            wait_for(port, path, server)
            yield server
        finally:
            server.send_signal(signal.SIGTERM)
            server.wait(30)


def wait_for(port: int, path: str, server: subprocess.Popen[str]) -> None:
    until = time.monotonic() + 60
    while time.monotonic() < until and server.poll() is None:
        with contextlib.suppress(OSError):
            urllib.request.urlopen(f"http://127.0.0.1:{port}{path}", timeout=5).close()
            return
        time.sleep(0.02)
    raise SystemExit("the server does not answer")


def cpu_seconds(pid: int) -> float:
    """The processor time of a process and its children, all threads together."""
    total = 0.0
    children = Path(f"/proc/{pid}/task/{pid}/children").read_text().split()
    for each in (pid, *map(int, children)):
        fields = Path(f"/proc/{each}/stat").read_text().rpartition(")")[2].split()
        total += (int(fields[11]) + int(fields[12])) / TICK
    return total


def memory_of(pid: int) -> float:
    """The memory of a process, in MiB."""
    text = Path(f"/proc/{pid}/status").read_text()
    (size,) = re.findall(r"VmRSS:\s+(\d+) kB", text)
    return int(size) / 1024


def request(method: str, path: str, body: object = None, key: str = "") -> str:
    data = "" if body is None else json.dumps(body)
    lines = [f"{method} {path} HTTP/1.1", "Host: localhost", f"Content-Length: {len(data)}"]
    lines += ["Content-Type: application/json"] if data else []
    lines += [f"Authorization: Bearer {key}"] if key else []
    return "\r\n".join([*lines, "", data])


def measure(port: int, pid: int, requests: list[str], core: int | None = 1, **options: Any) -> Pace:
    job = {
        "port": port,
        "requests": requests,
        "connections": CONNECTIONS,
        "seconds": SECONDS,
        "warm_up": 0.5,
        **options,
    }
    before = cpu_seconds(pid)
    done = subprocess.run(
        [*([] if core is None else on_core(core)), sys.executable, "-m", "benchmarks.serve_load"],
        input=json.dumps(job),
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode:
        raise SystemExit(done.stderr)
    told = json.loads(done.stdout)
    # The client's start takes no time of the server's; its warm-up does, at the same pace.
    share = job["seconds"] / (job["seconds"] + job["warm_up"])
    cpu = (cpu_seconds(pid) - before) * share / max(1, told["count"])
    return Pace(told["rate"], cpu * 1e6, told["p50"], told["p99"])


def best(paces: Sequence[Pace]) -> Pace:
    """The best of several rounds in each column: a busy machine only makes things worse."""
    return Pace(
        max(pace.rate for pace in paces),
        min(pace.cpu for pace in paces),
        min(pace.p50 for pace in paces),
        min(pace.p99 for pace in paces),
    )


def uvicorn_command(port: int) -> list[str]:
    command = [sys.executable, "-m", "uvicorn", HELLO, "--port", str(port), "--no-access-log"]
    return [*command, "--log-level", "warning", "--loop", "uvloop", "--http", "httptools"]


def hello_command(port: int) -> list[str]:
    work = f"import asyncio, benchmarks.serve_servers as s; asyncio.run(s.serve_hello({port}))"
    return [sys.executable, "-c", work]


def serve_command(store: str, port: int, *more: str) -> list[str]:
    return [sys.executable, "-m", "lastblock", "serve", store, "--port", str(port), *more]


def call(port: int, method: str, path: str, body: object, key: str) -> Any:
    made = urllib.request.Request(
        f"http://127.0.0.1:{port}{path}",
        data=json.dumps(body).encode(),
        method=method,
        headers={"Content-Type": "application/json", "Authorization": f"Bearer {key}"},
    )
    with urllib.request.urlopen(made) as answer:
        text = answer.read()
        return json.loads(text) if text else None


def make_store(folder: str) -> tuple[str, str]:
    """Make a store with an admin key; return its path and the key."""
    store = f"{folder}/shop.db"
    made = subprocess.run(
        [sys.executable, "-m", "lastblock", "keys", "create", store, "--scope", "admin"],
        capture_output=True,
        text=True,
        check=True,
        cwd=ROOT,
    )
    (key,) = re.findall(r"^lb_\S+$", made.stdout, re.M)
    return store, key


def print_pace(name: str, pace: Pace, unit: Pace) -> None:
    print(
        f"{name:34} {pace.rate:9,.0f} /s {pace.cpu:8.1f} µs"
        f"   {pace.rate / unit.rate:5.2f} {unit.cpu / pace.cpu:5.2f}"
        f"   {pace.p50 * 1e3:6.2f} {pace.p99 * 1e3:6.2f} ms",
        flush=True,
    )
