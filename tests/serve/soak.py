"""Clients that retry, send twice, late and garbage, and leave, while everything is killed.

Several servers may share a PostgreSQL database, which is killed too. At the end every decision and
reward that was acknowledged must be in the log exactly once, and the log must verify.
"""

import collections
import contextlib
import random
import signal
import socket
import subprocess
import sys
import threading
import time
import uuid
from datetime import timedelta
from pathlib import Path

import lastblock as lb
from lastblock.client import Client, ServiceError
from store.postgres_server import free_port

NAMES = ["button", "price", "late"]
"""Rewards of the last come too late now and then."""

CLIENTS = 6
WINDOW = 3.0
"""Seconds in which rewards of "late" must come."""

SIGNS = ("Traceback", "defect")
"""What must not be in the log of a server."""


class Server:
    """A server that can be killed and started again at the same address."""

    def __init__(self, store, log):
        self.store, self.port, self.process = store, free_port(), None
        self.log = log
        self.url = f"http://127.0.0.1:{self.port}"

    def start(self):
        command = [sys.executable, "-m", "lastblock", "serve", str(self.store), "--insecure"]
        command += ["--port", str(self.port)]
        with open(self.log, "a") as log:
            self.process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=log, text=True)
        assert "serves" in self.process.stdout.readline(), Path(self.log).read_text()[-2000:]

    def end(self, number):
        """End it, and wait until it has ended."""
        self.process.send_signal(number)
        assert self.process.wait(90) == (0 if number == signal.SIGTERM else -number)
        self.process.stdout.close()


class Visitor(threading.Thread):
    """One client of one or several servers, with what was acknowledged to it."""

    def __init__(self, urls, seed, stop):
        super().__init__()
        self.random, self.stop, self.urls = random.Random(seed), stop, urls
        self.clients = [Client(url, timeout=20.0, retries=200) for url in self.urls]
        self.decided = {}  # token: name of the bandit
        self.told = {}  # token: reward
        self.failures = []

    def run(self):
        waiting = []
        while not self.stop.is_set():
            try:
                self.step(self.random.choice(self.clients), waiting)
            except ServiceError as error:
                if error.status is not None and error.status != 503:
                    self.failures.append(str(error))
            except Exception as error:  # a thread's error must reach the test
                self.failures.append(repr(error))
                return
        for client in self.clients:
            client.close()

    def step(self, client, waiting):
        chance, name = self.random.random(), self.random.choice(NAMES)
        if chance < 0.5:
            key = uuid.uuid4().hex
            made = client.decide(name, key=key)
            self.decided[made.token] = name
            waiting.append(made.token)
            if self.random.random() < 0.2:  # sent twice, elsewhere maybe: the same decision
                again = self.random.choice(self.clients).decide(name, key=key)
                assert again.token == made.token
        elif chance < 0.9 and waiting:
            token = waiting.pop(self.random.randrange(len(waiting)))  # in any order, late
            reward = float(self.random.random() < 0.3)
            self.tell(client, token, reward)
            if self.random.random() < 0.2:
                self.tell(self.random.choice(self.clients), token, reward)
        elif chance < 0.95:
            self.disturb()

    def tell(self, client, token, reward):
        try:
            client.reward(token, reward)
        except ServiceError as error:
            # An answer may be lost, and the reward of the second attempt be too late.
            if error.status not in (409, 410) or self.decided[token] != "late":
                raise
        else:
            self.told[token] = reward

    def disturb(self):
        """Send garbage, or half a request, and leave."""
        head = b"POST /v1/bandits/button/decisions HTTP/1.1\r\nHost: x"
        texts = [b"\x00\xff garbage\r\n\r\n", head, head + b"\r\nContent-Length: 50\r\n\r\n{"]
        port = int(self.random.choice(self.urls).rpartition(":")[2])
        with (
            contextlib.suppress(OSError),
            socket.create_connection(("127.0.0.1", port), timeout=1) as connection,
        ):
            connection.sendall(self.random.choice(texts))


class Killer:
    """Kills servers and the database, one at a time, and counts."""

    def __init__(self, servers, database, seed):
        self.servers, self.database, self.dice = servers, database, random.Random(seed)
        self.kills = collections.Counter()

    def strike(self):
        """Kill something, and start it again if nobody else does."""
        server = self.dice.choice(self.servers)
        ways = ["kill", "stop"] if self.database is None else ["kill", "stop", "base", "freeze"]
        way = self.dice.choice(ways)
        self.kills[way] += 1
        getattr(self, way)(server)

    def kill(self, server):
        server.end(signal.SIGKILL)
        server.start()

    def stop(self, server):
        server.end(signal.SIGTERM)
        server.start()

    def freeze(self, server):
        """Stop who has the bandits, for longer than a lease maybe, and let it go on."""
        server.process.send_signal(signal.SIGSTOP)
        time.sleep(self.dice.uniform(1.0, 15.0))
        server.process.send_signal(signal.SIGCONT)

    def base(self, _):
        self.database.kill()
        time.sleep(self.dice.uniform(0.0, 2.0))
        self.database.start()


def soak(folder, seconds, seed=1, *, database=None, servers=1, pause=(0.3, 2.0)):
    """Let clients and kills happen for some seconds.

    Returns what was found to be wrong, how often what was killed, and how many decisions and
    rewards were acknowledged.
    """
    folder = Path(folder)
    store = folder / "shop.db" if database is None else database.url(schema="soak")
    running = [Server(store, folder / f"log{each}") for each in range(servers)]
    stop, killer = threading.Event(), Killer(running, database, seed)
    for server in running:
        server.start()
    with Client(running[0].url, timeout=30.0) as admin:
        for name in NAMES:
            more = {"reward_window": WINDOW, "default_reward": 0.0} if name == "late" else {}
            admin.create(name, ["red", "green", "blue"], policy="LBSDAGM", seed=seed, **more)
    urls = [server.url for server in running]
    visitors = [Visitor(urls, seed + place, stop) for place in range(CLIENTS)]
    for visitor in visitors:
        visitor.start()
    until = time.monotonic() + seconds
    try:
        while time.monotonic() < until:
            time.sleep(killer.dice.uniform(*pause))
            killer.strike()
        time.sleep(1.0)
    finally:
        stop.set()
        for visitor in visitors:
            visitor.join(60)
        for server in running:
            server.end(signal.SIGTERM)
    wrong = [failure for visitor in visitors for failure in visitor.failures]
    for server in running:
        lines = Path(server.log).read_text().splitlines()
        wrong += [line for line in lines if any(sign in line for sign in SIGNS)]
    decided = {token: name for each in visitors for token, name in each.decided.items()}
    told = {token: reward for each in visitors for token, reward in each.told.items()}
    return wrong + compare(store, decided, told), killer.kills, len(decided), len(told)


def compare(place, decided, told):
    """Return how the log differs from what was acknowledged."""
    wrong = []
    with lb.Store(place, keep_events=True) as store:
        for name in set(decided.values()):
            store.verify(name)
            store.bandit(name).expire(older_than=timedelta(0))  # rewards may wait for that
            asked, rewards = collections.Counter(), {}
            for event in store.events(name, limit=10_000_000):
                if event.kind == "ask":
                    asked[event.id] += 1
                elif event.kind == "tell":
                    rewards.setdefault(event.id, []).append(event.value)
            for token in (token for token, owner in decided.items() if owner == name):
                _, id = store.read_token(token)
                if asked[id] != 1:
                    wrong.append(f"{name}: decision {id} is {asked[id]} times in the log")
                if token in told and rewards.get(id) != [told[token]]:
                    wrong.append(f"{name}: decision {id} has rewards {rewards.get(id)}")
            if any(len(values) > 1 for values in rewards.values()):
                wrong.append(f"{name}: a decision was told twice")
    return wrong
