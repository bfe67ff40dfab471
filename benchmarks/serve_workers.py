"""Compares one process of the service with several: ``python -m benchmarks.serve --workers N``."""

import contextlib
import tempfile
import time

from benchmarks.serve import (
    ARMS,
    CONNECTIONS,
    CORES,
    GOALS,
    HEAD,
    ROUNDS,
    Pace,
    best,
    call,
    free_port,
    make_store,
    measure,
    print_pace,
    request,
    running,
    serve_command,
    uvicorn_command,
)


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
        other = free_port()
        plain = stack.enter_context(
            running(uvicorn_command("benchmarks.serve:hello", other), other, cores=(0, 1))
        )
        units = []
        for _ in range(ROUNDS):
            units.append(measure(other, plain.pid, [request("GET", "/")], core))
            for fronts in (0, number):
                command = serve_command(store, port, "--workers", str(fronts))
                with running(command, port, "/readyz", (0, 1)) as server:
                    for kind, wanted, many in zip(
                        kinds, (single, hundred), (CONNECTIONS, 16), strict=True
                    ):
                        pace = measure(port, server.pid, wanted, core, connections=many)
                        found.setdefault((fronts, kind), []).append(pace)
        print(HEAD)
        print_pace("hello", best(units), best(units))
        for (fronts, kind), paces in found.items():
            print_pace(f"{kind}, {fronts or 'no'} workers", best(paces), best(units))
        for fronts in (0, number):
            rate = best(found[fronts, kinds[1]]).rate
            words = f"decisions a second in batches, {fronts or 'no'} workers"
            print(f"{rate * 100:9,.0f} {words}")
        print(GOALS)
