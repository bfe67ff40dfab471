"""Compares one process of the service with several: ``python -m benchmarks.serve --workers N``."""

import contextlib
import tempfile
import time
from pathlib import Path

from benchmarks.serve_servers import (
    ARMS,
    CONNECTIONS,
    CORES,
    GOALS,
    HEAD,
    HELLO,
    ROUNDS,
    Pace,
    best,
    call,
    cpu_seconds,
    free_port,
    make_store,
    measure,
    print_pace,
    request,
    running,
    serve_command,
    uvicorn_command,
)


def owner_of(pid: int) -> int:
    """The process that has the bandits: one that a server has started, or the server itself."""
    for each in Path(f"/proc/{pid}/task/{pid}/children").read_text().split():
        if "owner" in Path(f"/proc/{each}/cmdline").read_text().split("\0"):
            return int(each)
    return pid


def workers(number: int) -> None:
    """Print the speed of one process and of several, on two cores."""
    decide = "/v1/bandits/button/decisions"
    core = 2 if len(CORES) > 2 else None
    with tempfile.TemporaryDirectory() as folder, contextlib.ExitStack() as stack:
        store, key = make_store(folder)
        new = {"name": "button", "arms": ARMS, "policy": "LBSDAGM", "seed": 1}
        single = [request("POST", decide, {}, key)]
        hundred = [request("POST", decide, {"n": 100}, key)]
        port = free_port()
        with running(serve_command(store, port), port, "/readyz"):
            call(port, "POST", "/v1/bandits", new, key)
            time.sleep(2.0)  # what a bandit's first decisions compile in the background
        kinds = ("a decision", "a batch of 100 decisions")
        found: dict[tuple[int, str], list[Pace]] = {}
        owners: dict[tuple[int, str], list[float]] = {}  # its share of the processor time
        other = free_port()
        plain = stack.enter_context(running(uvicorn_command(HELLO, other), other, cores=(0, 1)))
        units = []
        for _ in range(ROUNDS):
            units.append(measure(other, plain.pid, [request("GET", "/")], core))
            for fronts in (0, number):
                command = serve_command(store, port, "--workers", str(fronts))
                with running(command, port, "/readyz", (0, 1)) as server:
                    for kind, wanted, many in zip(
                        kinds, (single, hundred), (CONNECTIONS, 16), strict=True
                    ):
                        owner = owner_of(server.pid)
                        before = cpu_seconds(server.pid), cpu_seconds(owner)
                        pace = measure(port, server.pid, wanted, core, connections=many)
                        all_of_it = cpu_seconds(server.pid) - before[0]
                        share = (cpu_seconds(owner) - before[1]) / all_of_it
                        found.setdefault((fronts, kind), []).append(pace)
                        owners.setdefault((fronts, kind), []).append(pace.cpu * share)
        print(HEAD)
        print_pace("hello", best(units), best(units))
        for (fronts, kind), paces in found.items():
            print_pace(f"{kind}, {fronts or 'no'} workers", best(paces), best(units))
            if fronts:
                print(f"{'… of which the owner':47} {min(owners[fronts, kind]):8.1f} µs")
        for fronts in (0, number):
            rate = best(found[fronts, kinds[1]]).rate
            words = f"decisions a second in batches, {fronts or 'no'} workers"
            print(f"{rate * 100:9,.0f} {words}")
        print(GOALS)
