"""Measures the service: ``python -m benchmarks.serve``.

The server has one core and its client another, if the machine has two; while batches are measured,
the server may use both, since a client of batches has little to do. The unit is a bare "hello"
on the same HTTP server: an ASGI application that reads nothing and answers five bytes. Each figure
is the best of a few rounds, in which hello and the decisions take turns; "at half the peak" both
get the same number of requests a second. Beside requests a second it prints the processor time of a
request in the server, all threads together: on a busy machine that is more reliable. In the end it
prints decisions, batches, p99 and start as ratios to hello's in the same run.

``--parts`` compares the server with uvicorn instead, which must be installed with httptools.
``--memory N`` watches the memory over N decisions and their rewards, in batches.
``--start N`` measures the start with N bandits, in an SQLite file or, with ``--store URL``, in an
empty schema of PostgreSQL.
"""

import http.client
import os
import re
import tempfile
import time
from collections.abc import Sequence

from tqdm import tqdm

import lastblock as lb
from benchmarks.options import Parser
from benchmarks.serve_servers import (
    ARMS,
    CORES,
    GOALS,
    HEAD,
    ROUNDS,
    Pace,
    best,
    call,
    cpu_seconds,
    free_port,
    hello_command,
    make_store,
    measure,
    memory_of,
    print_pace,
    request,
    running,
    serve_command,
    spread,
    uvicorn_command,
)
from lastblock.cli.arguments import whole

GOAL_START = 5.0


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
        starts = [seconds_to_start(store) for _ in range(ROUNDS)]
        start, plain_start = (min(each) for each in zip(*starts, strict=True))
        print(f"start to ready, kernels compiled: {start:.2f} s (goal: {GOAL_START:g})")
        usual, seldom = disk(folder)
        print(f"the disk keeps a page in {usual * 1e3:.2f} ms, at p99 {seldom * 1e3:.2f} ms\n")
        print(HEAD)
        for durability in durabilities:
            port, other = free_port(), free_port()
            with (
                running(hello_command(other), other) as plain,
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
                half, plain_half = [], []
                for _ in range(ROUNDS):
                    bare = [request("GET", "/")]
                    plain_half.append(measure(other, plain.pid, bare, rate=one.rate / 2))
                    half.append(measure(port, server.pid, single, rate=one.rate / 2))
                slow, plain_slow = best(half), best(plain_half)
                print_pace("hello", unit, unit)
                print_pace(f"a decision, {durability}", one, unit)
                print_pace("hello at half the peak", plain_slow, unit)
                print_pace("a decision at half the peak", slow, unit)
                print_pace("a batch of 100 decisions", many, unit)
                print(
                    f"{'':34} {many.rate * 100:9,.0f} decisions a second in batches\n{GOALS}\n"
                    f"beside hello: {one.rate / unit.rate:.2f} of its rate in single decisions, "
                    f"{100 * many.rate / unit.rate:.2f} in batches; "
                    f"{slow.p99 / plain_slow.p99:.2f} of its p99 at half the peak, "
                    f"{start / plain_start:.2f} of its start\n"
                )


def seconds_to_start(store: str) -> tuple[float, float]:
    """The seconds until the service is ready, and until hello answers."""
    taken = []
    for path in ("/readyz", "/"):
        port, began = free_port(), time.perf_counter()
        command = serve_command(store, port) if path == "/readyz" else hello_command(port)
        with running(command, port, path):
            taken.append(time.perf_counter() - began)
    return taken[0], taken[1]


def parts() -> None:
    """Print the speed of HTTP servers with a bare hello."""
    commands = {"granian in this process": hello_command, "uvicorn, httptools": uvicorn_command}
    found: dict[str, list[Pace]] = {name: [] for name in commands}
    for _ in range(ROUNDS):
        for name, command in commands.items():
            port = free_port()
            with running(command(port), port) as server:
                found[name].append(measure(port, server.pid, [request("GET", "/")]))
    unit = best(found["uvicorn, httptools"])
    print(HEAD)
    for name, paces in found.items():
        print_pace(name, best(paces), unit)


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
                assert (answer.status, len(tokens)) == (200, batch)
                assert b'"refused":0' in answer.read()
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
            port, began = free_port(), time.perf_counter()
            with running(hello_command(port), port) as hello:
                plain, plain_cpu = time.perf_counter() - began, cpu_seconds(hello.pid)
            if again:  # the first may have had to compile
                print(
                    f"{bandits} bandits: {seconds:.2f} s to ready, {cpu:.2f} s of a processor"
                    f" (goal: {GOAL_START:g}); {seconds / plain:.2f} and {cpu / plain_cpu:.2f}"
                    " times those of hello",
                    flush=True,
                )


if __name__ == "__main__":
    parser = Parser("serve", __doc__, "about three minutes")
    instead = parser.add_mutually_exclusive_group()
    instead.add_argument("--parts", action="store_true", help="compare HTTP servers instead")
    instead.add_argument(
        "--memory", type=whole(1), metavar="N", help="watch the memory over N decisions instead"
    )
    instead.add_argument(
        "--start", type=whole(1), metavar="N", help="measure the start with N bandits instead"
    )
    parser.add_argument(
        "--store", metavar="URL", help="where the bandits of --start are (default: a new file)"
    )
    given = parser.parse_args()
    if given.store is not None and given.start is None:
        parser.error("--store needs --start N, the number of bandits to make there")
    if given.parts:
        parts()
    elif given.memory:
        memory(given.memory)
    elif given.start:
        start(given.start, given.store)
    else:
        main()
