"""Clients that retry, send twice, late and garbage, and leave, while the server is killed.

``python -m tests.serve.soak --minutes 30`` does it for long. At the end every decision and reward
that was acknowledged must be in the log exactly once, and the log must verify.
"""

import argparse
import contextlib
import random
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
import uuid
from pathlib import Path

import lastblock as lb
from lastblock.client import Client, ServiceError

NAMES = ["button", "price"]
CLIENTS = 6


def free_port():
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        return found.getsockname()[1]


class Server:
    """A server that can be killed and started again at the same address."""

    def __init__(self, store, port):
        self.store, self.port, self.process = store, port, None

    def start(self):
        command = [sys.executable, "-m", "lastblock", "serve", str(self.store), "--insecure"]
        self.process = subprocess.Popen(
            [*command, "--port", str(self.port), "--request-timeout", "1", "--log-level", "error"],
            stdout=subprocess.PIPE,
            text=True,
        )
        assert "serves" in self.process.stdout.readline()

    def end(self, number):
        self.process.send_signal(number)
        self.process.wait(60)
        self.process.stdout.close()


class Visitor(threading.Thread):
    """One client, with what was acknowledged to it."""

    def __init__(self, url, seed, stop):
        super().__init__()
        self.random, self.stop = random.Random(seed), stop
        self.client = Client(url, timeout=20.0, retries=200)
        self.port = int(url.rpartition(":")[2])
        self.decided = {}  # token: name of the bandit
        self.told = {}  # token: reward
        self.failures = []

    def run(self):
        waiting = []
        while not self.stop.is_set():
            try:
                self.step(waiting)
            except ServiceError as error:
                if error.status is not None and error.status != 503:
                    self.failures.append(str(error))
            except Exception as error:  # a thread's error must reach the test
                self.failures.append(repr(error))
                return
        self.client.close()

    def step(self, waiting):
        chance, name = self.random.random(), self.random.choice(NAMES)
        if chance < 0.5:
            key = uuid.uuid4().hex
            made = self.client.decide(name, key=key)
            self.decided[made.token] = name
            waiting.append(made.token)
            if self.random.random() < 0.2:  # sent twice: the same decision
                assert self.client.decide(name, key=key).token == made.token
        elif chance < 0.9 and waiting:
            token = waiting.pop(self.random.randrange(len(waiting)))  # in any order, late
            reward = float(self.random.random() < 0.3)
            self.client.reward(token, reward)
            self.told[token] = reward
            if self.random.random() < 0.2:
                self.client.reward(token, reward)
        elif chance < 0.95:
            self.disturb()

    def disturb(self):
        """Send garbage, or half a request, and leave."""
        texts = [
            b"\x00\xff garbage\r\n\r\n",
            b"POST /v1/bandits/button/decisions HTTP/1.1\r\nHost: x",
        ]
        texts.append(texts[1] + b"\r\nContent-Length: 50\r\n\r\n{")
        with (
            contextlib.suppress(OSError),
            socket.create_connection(("127.0.0.1", self.port), timeout=1) as connection,
        ):
            connection.sendall(self.random.choice(texts))


def soak(folder, seconds, seed=1):
    """Let clients and kills happen for some seconds; return what was found to be wrong."""
    store, port, dice = Path(folder) / "shop.db", free_port(), random.Random(seed)
    server, stop = Server(store, port), threading.Event()
    server.start()
    url = f"http://127.0.0.1:{port}"
    with Client(url, timeout=30.0) as admin:
        for name in NAMES:
            admin.create(name, ["red", "green", "blue"], policy="LBSDAGM", seed=seed)
    visitors = [Visitor(url, seed + place, stop) for place in range(CLIENTS)]
    for visitor in visitors:
        visitor.start()
    until, kills = time.monotonic() + seconds, 0
    while time.monotonic() < until:
        time.sleep(dice.uniform(0.3, 2.0))
        server.end(signal.SIGKILL if dice.random() < 0.8 else signal.SIGTERM)
        kills += 1
        server.start()
    stop.set()
    for visitor in visitors:
        visitor.join(60)
    server.end(signal.SIGTERM)
    wrong = [failure for visitor in visitors for failure in visitor.failures]
    decided = {token: name for each in visitors for token, name in each.decided.items()}
    told = {token: reward for each in visitors for token, reward in each.told.items()}
    return wrong + compare(store, decided, told), kills, len(decided), len(told)


def compare(place, decided, told):
    """Return how the log differs from what was acknowledged."""
    wrong = []
    with lb.Store(place, keep_events=True) as store:
        for name in NAMES:
            store.verify(name)
            asked, rewards = {}, {}
            for event in store.events(name, limit=10_000_000):
                if event.kind == "ask":
                    asked[event.id] = asked.get(event.id, 0) + 1
                elif event.kind == "tell":
                    rewards.setdefault(event.id, []).append(event.value)
            for token in (token for token, owner in decided.items() if owner == name):
                _, id = store.read_token(token)
                if asked.get(id) != 1:
                    wrong.append(f"{name}: decision {id} is {asked.get(id, 0)} times in the log")
                if token in told and rewards.get(id) != [told[token]]:
                    wrong.append(f"{name}: decision {id} has rewards {rewards.get(id)}")
            if any(len(values) > 1 for values in rewards.values()):
                wrong.append(f"{name}: a decision was told twice")
    return wrong


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--minutes", type=float, default=30.0)
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as made:
        faults, killed, decisions, answers = soak(made, 60.0 * given.minutes)
    print(f"{killed} kills, {decisions:,} decisions and {answers:,} rewards acknowledged")
    print("\n".join(faults) or "each is in the log exactly once, and the log verifies")
    raise SystemExit(bool(faults))
