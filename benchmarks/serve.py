"""Measures the service: ``python -m benchmarks.serve``.

The server has one core and its client another, if the machine has two; while batches are measured,
the server may use both, since a client of batches has little to do. The unit is a bare "hello"
on the same HTTP server: an ASGI application that reads nothing and answers five bytes. Each figure
is the best of a few rounds, in which hello and the decisions take turns; "at half the peak" both
get the same number of requests a second. Beside requests a second it prints the processor time of a
request in the server, all threads together: on a busy machine that is more reliable.

``--parts`` compares HTTP servers and frameworks instead: what docs/decisions/0032 rests on.
``--memory N`` watches the memory over N decisions and their rewards, in batches.
``--start N`` measures the start with N bandits, in an SQLite file or, with ``--store URL``, in an
empty schema of PostgreSQL.
``--workers N`` compares one process with N workers: the server has two cores, and its client
another, if the machine has three.
"""

import contextlib
import http.client
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
from typing import Any, NamedTuple

from starlette.applications import Starlette
from starlette.responses import Response
from starlette.routing import Route
from tqdm import tqdm

import lastblock as lb
from benchmarks.options import Parser, whole

ROUNDS, SECONDS, CONNECTIONS = 3, 3.0, 256
GOAL_START = 5.0
GOALS = "goals: 0.5 of hello, 100,000 decisions a second in batches, p99 5 ms at half the peak"
ROOT = Path(__file__).parents[1]
CORES = sorted(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else []
TICK = os.sysconf("SC_CLK_TCK")


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


def starlette_hello():
    """The same with Starlette."""

    async def answer(request):
        return Response(b"hello", media_type="text/plain")

    return Starlette(routes=[Route("/", answer)])


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


def request(method: str, path: str, body: object = None, key: str = "") -> str:
    data = "" if body is None else json.dumps(body)
    lines = [f"{method} {path} HTTP/1.1", "Host: bench", f"Content-Length: {len(data)}"]
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


def uvicorn_command(app: str, port: int, *more: str) -> list[str]:
    command = [sys.executable, "-m", "uvicorn", app, "--port", str(port), "--no-access-log"]
    return [*command, "--log-level", "warning", "--loop", "uvloop", "--http", "httptools", *more]


def serve_command(store: str, port: int, *more: str) -> list[str]:
    command = [sys.executable, "-m", "lastblock", "serve", store, "--port", str(port)]
    return [*command, "--log-level", "warning", *more]


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


HEAD = f"{'':34} {'rate':>12} {'processor':>11}   {'of hello':>11}   {'p50':>6} {'p99':>9}"
ARMS = ["red", "green", "blue"]


def disk(folder: str, times: int = 200) -> tuple[float, float]:
    """The seconds in which the disk keeps a page: in half of the cases, and in 99 of 100."""
    taken = []
    with open(f"{folder}/page", "wb", buffering=0) as file:
        for _ in range(times):
            began = time.perf_counter()
            os.pwrite(file.fileno(), bytes(4096), 0)
            getattr(os, "fdatasync", os.fsync)(file.fileno())
            taken.append(time.perf_counter() - began)
    taken.sort()
    return taken[times // 2], taken[int(0.99 * times)]


def main(durabilities: Sequence[str] = ("always", "interval")) -> None:
    """Print the speed of the service."""
    decide = "/v1/bandits/button/decisions"
    with tempfile.TemporaryDirectory() as folder:
        store, key = make_store(folder)
        new = {"name": "button", "arms": ARMS, "policy": "LBSDAGM", "seed": 1}
        port = free_port()
        with running(serve_command(store, port), port, "/readyz"):
            call(port, "POST", "/v1/bandits", new, key)
            time.sleep(2.0)  # what a bandit's first decisions compile in the background
        began = time.perf_counter()
        with running(serve_command(store, port), port, "/readyz"):
            start = time.perf_counter() - began
        print(f"start to ready, kernels compiled: {start:.2f} s (goal: {GOAL_START:g})")
        usual, seldom = disk(folder)
        print(f"the disk keeps a page in {usual * 1e3:.2f} ms, at p99 {seldom * 1e3:.2f} ms\n")
        print(HEAD)
        for durability in durabilities:
            port, other = free_port(), free_port()
            with (
                running(uvicorn_command("benchmarks.serve:hello", other), other) as plain,
                running(
                    serve_command(store, port, "--durability", durability), port, "/readyz"
                ) as server,
            ):
                single = [request("POST", decide, {}, key)]
                hundred = [request("POST", decide, {"n": 100}, key)]
                units, singles, hundreds = [], [], []
                for _ in range(ROUNDS):
                    units.append(measure(other, plain.pid, [request("GET", "/")]))
                    singles.append(measure(port, server.pid, single))
                    spread(server.pid, CORES[:2])
                    hundreds.append(measure(port, server.pid, hundred, connections=8))
                    spread(server.pid, CORES[:1])
                unit, one, many = best(units), best(singles), best(hundreds)
                halves, plain_halves = [], []
                for _ in range(ROUNDS):
                    bare = [request("GET", "/")]
                    plain_halves.append(measure(other, plain.pid, bare, rate=one.rate / 2))
                    halves.append(measure(port, server.pid, single, rate=one.rate / 2))
                print_pace("hello", unit, unit)
                print_pace(f"a decision, {durability}", one, unit)
                print_pace("hello at half the peak", best(plain_halves), unit)
                print_pace("a decision at half the peak", best(halves), unit)
                print_pace("a batch of 100 decisions", many, unit)
                print(f"{'':34} {many.rate * 100:9,.0f} decisions a second in batches\n{GOALS}\n")


def parts() -> None:
    """Print the speed of HTTP servers and frameworks with a bare hello."""
    granian = [
        str(Path(sys.executable).parent / "granian"),
        "--interface",
        "asgi",
        "--no-access-log",
    ]
    port = free_port()
    commands = {
        "uvicorn, bare ASGI": uvicorn_command("benchmarks.serve:hello", port),
        "uvicorn, Starlette": uvicorn_command(
            "benchmarks.serve:starlette_hello", port, "--factory"
        ),
    }
    if Path(granian[0]).exists():
        commands["granian, bare ASGI"] = [
            *granian,
            "--port",
            str(port),
            "--loop",
            "uvloop",
            "benchmarks.serve:hello",
        ]
    found: dict[str, list[Pace]] = {name: [] for name in commands}
    for _ in range(ROUNDS):
        for name, command in commands.items():
            with running(command, port) as server:
                found[name].append(measure(port, server.pid, [request("GET", "/")]))
    unit = best(found["uvicorn, bare ASGI"])
    print(HEAD)
    for name, paces in found.items():
        print_pace(name, best(paces), unit)


def memory_of(pid: int) -> float:
    """The memory of a process, in MiB."""
    text = Path(f"/proc/{pid}/status").read_text()
    (size,) = re.findall(r"VmRSS:\s+(\d+) kB", text)
    return int(size) / 1024


def memory(decisions: int) -> None:
    """Print the memory of the server over many decisions and rewards."""
    step, batch = max(1000, decisions // 10), 1000
    with tempfile.TemporaryDirectory() as folder:
        store, key = make_store(folder)
        port = free_port()
        command = serve_command(store, port, "--no-keep-events", "--durability", "interval")
        with running(command, port, "/readyz") as server:
            new = {"name": "button", "arms": ARMS, "policy": "LBSDAGM", "seed": 1}
            call(port, "POST", "/v1/bandits", new, key)
            client = http.client.HTTPConnection("127.0.0.1", port)
            headers = {"Content-Type": "application/json", "Authorization": f"Bearer {key}"}
            began = time.perf_counter()
            for done in range(batch, decisions + 1, batch):
                body = b'{"n": %d}' % batch
                client.request("POST", "/v1/bandits/button/decisions", body, headers)
                tokens = re.findall(rb'"token":"([^"]+)"', client.getresponse().read())
                rewards = b",".join(
                    b'{"token":"%s","reward":%d}' % (token, place % 7 == 0)
                    for place, token in enumerate(tokens)
                )
                client.request("POST", "/v1/rewards:batch", b'{"rewards":[%s]}' % rewards, headers)
                answer = client.getresponse()
                assert (answer.read(), answer.status, len(tokens)) == (b"", 204, batch)
                if done % step == 0:
                    rate = done / (time.perf_counter() - began)
                    print(
                        f"{done:12,} decisions: {memory_of(server.pid):7.1f} MiB,"
                        f" {rate:,.0f} decisions with rewards a second",
                        flush=True,
                    )


def start(bandits: int, place: str | None) -> None:
    """Print how long the service takes until it is ready, with many bandits."""
    with tempfile.TemporaryDirectory() as folder:
        store = place or f"{folder}/shop.db"
        with lb.Store(store, durability="interval") as shop:
            for number in tqdm(range(bandits), "making bandits"):
                bandit = shop.create(f"bandit {number}", lb.LBSDAGM(), ARMS, seed=number)
                for decision in bandit.ask(20):
                    bandit.tell(decision, 1.0)
        for again in range(ROUNDS + 1):
            port, began = free_port(), time.perf_counter()
            with running(serve_command(store, port, "--insecure"), port, "/readyz") as server:
                seconds, cpu = time.perf_counter() - began, cpu_seconds(server.pid)
            if again:  # the first may have had to compile
                print(
                    f"{bandits} bandits: {seconds:.2f} s to ready, {cpu:.2f} s of a processor"
                    f" (goal: {GOAL_START:g})",
                    flush=True,
                )


if __name__ == "__main__":
    parser = Parser(prog="python -m benchmarks.serve", description=__doc__)
    parser.add_argument("--parts", action="store_true")
    parser.add_argument("--memory", type=whole(1), metavar="N")
    parser.add_argument("--start", type=whole(1), metavar="N")
    parser.add_argument("--store", metavar="URL")
    parser.add_argument("--workers", type=whole(1), metavar="N")
    given = parser.parse_args()
    if given.parts:
        parts()
    elif given.workers:
        from benchmarks.serve_workers import workers  # it needs this module

        workers(given.workers)
    elif given.memory:
        memory(given.memory)
    elif given.start:
        start(given.start, given.store)
    else:
        main()
